//! `substrate identity …` and `substrate heartbeat`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, SafeId, Standing, VerbError};

use super::{identities, me, me_json, me_text, session_json};
use crate::identity::holder::{self, no_such_agent, unknown_session};
use crate::identity::{actors, book, identify, ops, presence, record};

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Current {}

impl VerbArgs for Current {
    const PATH: &'static [&'static str] = &["identity", "current"];
    const ABOUT: &'static str = "Show who you are: agent, session and project";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = me(cx, caller)?;
        Ok(Output::new(me_text(&me), me_json(&me)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Ensure {}

impl VerbArgs for Ensure {
    const PATH: &'static [&'static str] = &["identity", "ensure"];
    const ABOUT: &'static str = "Give the session an agent if it has none";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        let (name, is_new) = ensured(cx, caller, &session)?;
        let text = if is_new {
            format!("Session {session} is now {name}.\n")
        } else {
            format!("Session {session} is {name}.\n")
        };
        Ok(Output::new(text, json!({"agent": name, "session": session.as_str(), "made": is_new})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Save {}

impl VerbArgs for Save {
    const PATH: &'static [&'static str] = &["identity", "save"];
    const ABOUT: &'static str = "Rewrite the session's identity file";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        let known = ops::session(cx.db, &session)?.ok_or_else(|| unknown_session(&session))?;
        record::keep_file(cx, &session)?;
        let path = record::file_path(session.as_str());
        let text = format!("Saved: session {session} is {}.\n", known.name);
        let json = json!({"agent": known.name, "session": session.as_str(), "file": path});
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Restore {}

impl VerbArgs for Restore {
    const PATH: &'static [&'static str] = &["identity", "restore"];
    const ABOUT: &'static str =
        "Show the session's agent; `--agent NAME` sets it if the session has none";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        if let Some(known) = ops::session(cx.db, &session)? {
            return Ok(restored(&session, &known.name, false));
        }
        let wanted = caller.agent.as_deref().filter(|name| !name.is_empty());
        let wanted = wanted.ok_or_else(|| unknown_session(&session))?;
        let Some((agent, name)) = identify::agent_named(cx, wanted)? else {
            return Err(no_such_agent(cx, wanted)?);
        };
        if ops::is_live_elsewhere(
            cx.db,
            cx.world,
            cx.now,
            agent,
            Some(&session),
            presence::Process::UNKNOWN,
        )? {
            return Err(VerbError::user(
                format!("{name} is running in another session"),
                "`substrate agent ensure` gives this session its own agent",
            ));
        }
        let new = identify::described(&session, caller);
        identify::make_session(cx, &new, Some((agent, name.clone())))?;
        Ok(restored(&session, &name, true))
    }
}

fn restored(session: &SafeId, name: &str, is_new: bool) -> Output {
    let now = if is_new { "is again" } else { "is" };
    let json = json!({"agent": name, "session": session.as_str(), "made": is_new});
    Output::new(format!("Session {session} {now} {name}.\n"), json)
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct List {}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["identity", "list"];
    const ABOUT: &'static str = "List the newest sessions and their agents";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let sessions = presence::all(cx.db, cx.world, cx.now)?;
        let json: Vec<_> = sessions.iter().map(session_json).collect();
        Ok(Output::new(identities(&sessions, cx.now), json!(json)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Rename {
    /// The new name
    #[arg(value_name = "NEW")]
    name: String,
}

impl VerbArgs for Rename {
    const PATH: &'static [&'static str] = &["identity", "rename"];
    const ABOUT: &'static str = "Rename your agent; it keeps its mail";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        if [book::USER, book::SUBSTRATE].contains(&who.agent) {
            return Err(VerbError::user(
                format!("{} can't be renamed", who.name),
                "`substrate agent rename NEW --agent NAME` renames an agent",
            ));
        }
        if !who.sub.is_empty() {
            return Err(VerbError::user(
                format!("{} is a subagent; only {} itself can be renamed", who.address(), who.name),
                format!("ask {}: `substrate send --to {} …`", who.name, who.name),
            ));
        }
        if !book::is_valid_name(&self.name) {
            let name = substrate_core::text::one_line(&self.name, 60);
            return Err(VerbError::user(format!("`{name}` is not a valid name"), book::NAME_RULE));
        }
        if !actors::rename(cx.db, who.agent, &self.name)? {
            return Err(VerbError::user(
                format!("the name {} is taken", self.name),
                "`substrate agent list --all` shows all names",
            ));
        }
        record::keep_files(cx, who.agent)?;
        let text = format!("{} is now {}.\n", who.name, self.name);
        Ok(Output::new(text, json!({"agent": self.name, "was": who.name})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Heartbeat {
    /// The session is starting: give it an agent if it has none
    #[arg(long)]
    #[serde(default)]
    session_start: bool,
}

impl VerbArgs for Heartbeat {
    const PATH: &'static [&'static str] = &["heartbeat"];
    const ABOUT: &'static str = "Report that you are there";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        let name = if self.session_start {
            ensured(cx, caller, &session)?.0
        } else {
            ops::session(cx.db, &session)?.ok_or_else(|| unknown_session(&session))?.name
        };
        ops::renew(cx.db, &session, cx.now)?;
        ops::set_ended(cx.db, &session, None)?;
        let json = json!({"agent": name, "session": session.as_str(), "status": "active"});
        Ok(Output::new(format!("{name} is active.\n"), json))
    }
}

/// The session that the command is about. Below a client it is always one of the client's own.
fn session_of(cx: &Cx<'_>, caller: &Caller) -> Result<SafeId, VerbError> {
    if matches!(cx.standing, Standing::Below(_)) {
        let own = cx.who.as_ref().and_then(|who| who.session.clone());
        return own.ok_or_else(|| {
            VerbError::user(
                "this session has no agent yet",
                "it gets one with its next event; only the user can name another session, in a terminal outside the client",
            )
        });
    }
    caller.session_id().ok_or_else(|| {
        VerbError::user(
            "can't tell which session this is",
            "add `--session-id ID`, the client's session",
        )
    })
}

/// The name of the session's agent, and whether it is new.
fn ensured(
    cx: &mut Cx<'_>,
    caller: &Caller,
    session: &SafeId,
) -> Result<(String, bool), VerbError> {
    if let Some(known) = ops::session(cx.db, session)? {
        return Ok((known.name, false));
    }
    let new = identify::described(session, caller);
    let (_, name) = identify::agent_of_command(cx, caller.agent.as_deref(), &new)?;
    Ok((name, true))
}
