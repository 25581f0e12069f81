//! `substrate supervise …`: the plumbing of `substrate run`, hidden from help, and a list for people.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Output, SafeId, VerbError, WaitFor};

use super::ops::{self, Process, Supervisor};
use crate::listing::MAX_ROWS;

/// How long one wait lasts. The supervisor asks again.
const WAIT_MS: i64 = 60_000;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct List {}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["supervise", "list"];
    const ABOUT: &'static str = "List the clients that run under `substrate run`";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let mut found = ops::all(cx.db, MAX_ROWS)?;
        found.retain(|one| one.own.is_there(cx.world) && one.child.is_there(cx.world));
        let mut text = String::new();
        for one in &found {
            let agent = one.agent.as_deref().unwrap_or("(no session yet)");
            let _infallible = writeln!(
                text,
                "{agent}: client {} under supervisor {} for {}, restarts: {}",
                client(one),
                one.own.pid,
                Ago(cx.now.since(one.since)),
                one.n_restarts
            );
        }
        if found.is_empty() {
            "No client runs under `substrate run`.\n".clone_into(&mut text);
        }
        let json = found.iter().map(|one| {
            json!({
                "agent": one.agent, "session": one.session, "supervisor": one.own.pid,
                "client": client(one), "since_ms": one.since.0, "n_restarts": one.n_restarts,
                "wanted": one.wanted.as_ref().map(|wanted| &wanted.why),
            })
        });
        Ok(Output::new(text, json.collect()))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Note {
    /// The supervisor's own id
    token: String,
    /// The supervisor's process
    #[arg(long)]
    pid: u32,
    /// The process it has just started; 0: it is about to start one
    #[arg(long)]
    child: u32,
    /// How often the client was restarted
    #[arg(long, default_value_t = 0)]
    #[serde(default)]
    restarts: u32,
    /// The effort that a fresh client continues
    #[arg(long)]
    #[serde(default)]
    effort: Option<i64>,
}

impl VerbArgs for Note {
    const PATH: &'static [&'static str] = &["supervise", "note"];
    const ABOUT: &'static str = "Report that a client starts (for `substrate run`)";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let token = known(&self.token)?;
        let (own, child) = (Process::now(cx.world, self.pid), Process::now(cx.world, self.child));
        if self.child == 0 || !ops::started(cx.db, &token, child)? {
            let n_restarts = i64::from(self.restarts);
            ops::announce(cx.db, &token, own, n_restarts, self.effort, cx.now)?;
            ops::started(cx.db, &token, child)?;
        }
        Ok(Output::new("Noted.\n".to_owned(), json!({"noted": own.began.is_some()})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Wait {
    /// The supervisor's own id
    token: String,
    /// The process it started
    #[arg(long)]
    child: u32,
    /// When the waiting ends
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
}

impl VerbArgs for Wait {
    const PATH: &'static [&'static str] = &["supervise", "wait"];
    const ABOUT: &'static str = "Wait until a client is to be restarted (for `substrate run`)";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let token = known(&self.token)?;
        let found = ops::one(cx.db, &token)?.filter(|one| one.child.pid == self.child);
        let Some(found) = found else {
            return Ok(Output::new("It has ended.\n".to_owned(), json!({"over": true})));
        };
        let mut out = decided(&found);
        let until = self.until_ms.unwrap_or(cx.now.plus_ms(WAIT_MS).0);
        if found.wanted.is_none() && until > cx.now.0 {
            let body = json!(Self { until_ms: Some(until), ..self });
            out.wait =
                Some(WaitFor { key: found.wake_key(), by: String::new(), until_ms: until, body });
        }
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Done {
    /// The supervisor's own id
    token: String,
    /// The process that has ended
    #[arg(long)]
    child: u32,
}

impl VerbArgs for Done {
    const PATH: &'static [&'static str] = &["supervise", "done"];
    const ABOUT: &'static str =
        "Report that a client ended, and ask whether to restart it (for `substrate run`)";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let token = known(&self.token)?;
        // The client may have ended before it was noted.
        let is_it = |one: &Supervisor| [0, self.child].contains(&one.child.pid);
        let found = ops::one(cx.db, &token)?.filter(is_it);
        let Some(found) = found else {
            return Ok(Output::new(
                "That client was not known.\n".to_owned(),
                json!({"wanted": null}),
            ));
        };
        ops::forget(cx.db, token.as_str())?;
        cx.effects.push(Effect::Wake { key: found.wake_key() });
        Ok(decided(&found))
    }
}

/// What the supervisor should do.
fn decided(found: &Supervisor) -> Output {
    let why = found.wanted.as_ref().map(|wanted| wanted.why.as_str());
    let text = why.map_or_else(String::new, |why| format!("Start a fresh one: {why}.\n"));
    let effort = found.wanted.as_ref().and_then(|wanted| wanted.effort);
    let client = found.client.map(|client| json!({"pid": client.pid, "began": client.began}));
    let json: Value = json!({
        "wanted": why, "agent": found.agent, "session": found.session, "effort": effort,
        "client": client,
    });
    Output::new(text, json)
}

/// The client's process, or that of its wrapper until a client was heard of.
fn client(one: &Supervisor) -> u32 {
    one.client.map_or(one.child.pid, |client| client.pid)
}

fn known(token: &str) -> Result<SafeId, VerbError> {
    SafeId::new(token)
        .ok_or_else(|| VerbError::user("the token is empty", "`substrate run` passes its own"))
}
