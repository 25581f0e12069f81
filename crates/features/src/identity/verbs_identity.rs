//! `substrate identity …` and `substrate heartbeat`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, SafeId, Standing, VerbError, Who};

use super::render::{self, Me};
use super::{book, choose, files, names, ops, presence};

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Current {}

impl VerbArgs for Current {
    const PATH: &'static [&'static str] = &["identity", "current"];
    const ABOUT: &'static str = "Who you are: agent, session and project";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = me(cx, caller)?;
        Ok(Output::new(render::me(&me), render::me_json(&me)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Ensure {}

impl VerbArgs for Ensure {
    const PATH: &'static [&'static str] = &["identity", "ensure"];
    const ABOUT: &'static str = "Give the session an agent, if it has none yet";
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
pub(super) struct Save {}

impl VerbArgs for Save {
    const PATH: &'static [&'static str] = &["identity", "save"];
    const ABOUT: &'static str = "Write the session's identity file again";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        let known = ops::session(cx.db, &session)?.ok_or_else(|| unknown_session(&session))?;
        files::keep(cx, &session)?;
        let path = files::path(session.as_str());
        let text = format!("Saved: session {session} is {}.\n", known.name);
        let json = json!({"agent": known.name, "session": session.as_str(), "file": path});
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Restore {}

impl VerbArgs for Restore {
    const PATH: &'static [&'static str] = &["identity", "restore"];
    const ABOUT: &'static str =
        "Which agent the session is; `--agent NAME` gives a session that has none that agent";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let session = session_of(cx, caller)?;
        if let Some(known) = ops::session(cx.db, &session)? {
            return Ok(restored(&session, &known.name, false));
        }
        let wanted = caller.agent.as_deref().filter(|name| !name.is_empty());
        let wanted = wanted.ok_or_else(|| unknown_session(&session))?;
        let Some((agent, name)) = choose::agent_named(cx, wanted)? else {
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
                format!("{name} is at work in another session"),
                "`substrate identity ensure` gives this session an agent of its own",
            ));
        }
        let new = choose::described(&session, caller);
        choose::make(cx, &new, Some((agent, name.clone())))?;
        Ok(restored(&session, &name, true))
    }
}

fn restored(session: &SafeId, name: &str, is_new: bool) -> Output {
    let now = if is_new { "is again" } else { "is" };
    let json = json!({"agent": name, "session": session.as_str(), "made": is_new});
    Output::new(format!("Session {session} {now} {name}.\n"), json)
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct List {}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["identity", "list"];
    const ABOUT: &'static str = "The newest sessions and the agents that they are";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let sessions = presence::all(cx.db, cx.world, cx.now)?;
        let json: Vec<_> = sessions.iter().map(render::session_json).collect();
        Ok(Output::new(render::identities(&sessions, cx.now), json!(json)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Rename {
    /// The new name
    #[arg(value_name = "NEW")]
    name: String,
}

impl VerbArgs for Rename {
    const PATH: &'static [&'static str] = &["identity", "rename"];
    const ABOUT: &'static str = "Give your agent another name; its mail stays with it";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = who(cx, caller)?;
        if [book::USER, book::SUBSTRATE].contains(&who.agent) {
            return Err(VerbError::user(
                format!("{} always has this name", who.name),
                "`substrate identity rename NEW --agent NAME` renames an agent",
            ));
        }
        if !who.sub.is_empty() {
            return Err(VerbError::user(
                format!("{} is a subagent: only {} itself is renamed", who.address(), who.name),
                format!("ask it: `substrate send --to {} …`", who.name),
            ));
        }
        if !names::is_valid(&self.name) {
            let name = substrate_core::text::one_line(&self.name, 60);
            return Err(VerbError::user(format!("`{name}` can be nobody's name"), names::RULE));
        }
        if !ops::rename(cx.db, who.agent, &self.name)? {
            return Err(VerbError::user(
                format!("somebody is called {} already", self.name),
                "`substrate agent list --all` shows the names that are taken",
            ));
        }
        files::keep_all(cx, who.agent)?;
        let text = format!("{} is now {}.\n", who.name, self.name);
        Ok(Output::new(text, json!({"agent": self.name, "was": who.name})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Heartbeat {
    /// The session begins: give it an agent if it has none
    #[arg(long)]
    #[serde(default)]
    session_start: bool,
}

impl VerbArgs for Heartbeat {
    const PATH: &'static [&'static str] = &["heartbeat"];
    const ABOUT: &'static str = "Say that you are there";
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

/// The caller, or what it can do to be somebody.
pub(super) fn who(cx: &Cx<'_>, caller: &Caller) -> Result<Who, VerbError> {
    cx.who.clone().ok_or_else(|| match (caller.session_id(), caller.agent.as_deref()) {
        (Some(session), _) => unknown_session(&session),
        (None, Some(agent)) if !agent.is_empty() => VerbError::user(
            format!("nobody is called {}", substrate_core::text::one_line(agent, 60)),
            "`substrate agent list --all` shows all names",
        ),
        (None, _) => VerbError::user(
            "no agent specified: neither session nor agent is known",
            "add `--session-id ID` (the client's session), or `--agent NAME`",
        ),
    })
}

/// The caller with its session's project.
pub(super) fn me(cx: &mut Cx<'_>, caller: &Caller) -> Result<Me, VerbError> {
    let who = who(cx, caller)?;
    let kept = match &who.session {
        Some(session) => ops::kept(cx.db, session)?,
        None => None,
    };
    let project = kept.map_or_else(|| caller.project.clone(), |kept| kept.project);
    Ok(Me { who, project })
}

/// An error that names those who may have been meant.
pub(super) fn no_such_agent(cx: &mut Cx<'_>, name: &str) -> Result<VerbError, VerbError> {
    let nearest = match book::find(cx.db, name)? {
        book::Lookup::Unknown { nearest } => nearest,
        book::Lookup::Found(_) | book::Lookup::Ended(_) => Vec::new(),
    };
    let hint = if nearest.is_empty() {
        "`substrate agent list --all` shows all names".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(", "))
    };
    let name = substrate_core::text::one_line(name, 60);
    Ok(VerbError::user(format!("there is no agent {name}"), hint))
}

/// The session that the command is about. Below a client that is one of the client's own.
fn session_of(cx: &Cx<'_>, caller: &Caller) -> Result<SafeId, VerbError> {
    if matches!(cx.standing, Standing::Below(_)) {
        let own = cx.who.as_ref().and_then(|who| who.session.clone());
        return own.ok_or_else(|| {
            VerbError::user(
                "no agent belongs to this session yet",
                "it gets one with its next event; only the user names another session, in a terminal of their own",
            )
        });
    }
    caller.session_id().ok_or_else(|| {
        VerbError::user("no session is known", "add `--session-id ID`, the client's session")
    })
}

fn unknown_session(session: &SafeId) -> VerbError {
    VerbError::user(
        format!("session {session} has no agent yet"),
        format!("`substrate identity ensure --session-id {session}` gives it one"),
    )
}

/// The name of the session's agent, and whether it was made now.
fn ensured(
    cx: &mut Cx<'_>,
    caller: &Caller,
    session: &SafeId,
) -> Result<(String, bool), VerbError> {
    if let Some(known) = ops::session(cx.db, session)? {
        return Ok((known.name, false));
    }
    let new = choose::described(session, caller);
    let (_, name) = choose::of_command(cx, caller.agent.as_deref(), &new)?;
    Ok((name, true))
}
