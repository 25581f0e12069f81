//! `substrate supervise …`: what `substrate run` says and asks, and a list for people.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Output, SafeId, VerbError, WaitFor};

use super::ops::{self, Process, Supervisor};

/// One wait; the supervisor asks again.
const WAIT_MS: i64 = 60_000;

/// Shown at the most.
const MAX: i64 = 200;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct List {}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["supervise", "list"];
    const ABOUT: &'static str = "The clients that run under `substrate run`";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let mut found = ops::all(cx.db, MAX)?;
        found.retain(|one| one.is_there(cx.world));
        let mut text = String::new();
        for one in &found {
            let agent = one.agent.as_deref().unwrap_or("(no session yet)");
            let _infallible = writeln!(
                text,
                "{agent}: client {} under supervisor {} for {}, restarts: {}",
                one.child.pid,
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
                "client": one.child.pid, "since_ms": one.since.0, "n_restarts": one.n_restarts,
                "wanted": one.wanted.as_ref().map(|(_, why)| why),
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
    /// The process that it has just started
    #[arg(long)]
    child: u32,
    /// How often it was started anew
    #[arg(long, default_value_t = 0)]
    #[serde(default)]
    restarts: u32,
}

impl VerbArgs for Note {
    const PATH: &'static [&'static str] = &["supervise", "note"];
    const ABOUT: &'static str = "Says that a client was started; `substrate run` calls it";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let token = known(&self.token)?;
        let processes = (Process::now(cx.world, self.pid), Process::now(cx.world, self.child));
        ops::note(cx.db, &token, processes, i64::from(self.restarts), cx.now)?;
        Ok(Output::new("Noted.\n".to_owned(), json!({"noted": processes.1.began.is_some()})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Wait {
    /// The supervisor's own id
    token: String,
    /// The process that it has started
    #[arg(long)]
    child: u32,
    /// When the waiting ends
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
}

impl VerbArgs for Wait {
    const PATH: &'static [&'static str] = &["supervise", "wait"];
    const ABOUT: &'static str =
        "Waits until a client shall be started anew; `substrate run` calls it";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;

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
    const ABOUT: &'static str = "Says that a client has ended, and asks whether it shall start anew; `substrate run` calls it";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let token = known(&self.token)?;
        let found = ops::one(cx.db, &token)?.filter(|one| one.child.pid == self.child);
        let Some(found) = found else {
            return Ok(Output::new("Nobody knew of it.\n".to_owned(), json!({"wanted": null})));
        };
        ops::forget(cx.db, token.as_str())?;
        cx.effects.push(Effect::Wake { key: found.wake_key() });
        Ok(decided(&found))
    }
}

/// What the supervisor shall do.
fn decided(found: &Supervisor) -> Output {
    let why = found.wanted.as_ref().map(|(_, why)| why.as_str());
    let text = why.map_or_else(String::new, |why| format!("Start it anew: {why}.\n"));
    let json: Value = json!({"wanted": why, "agent": found.agent, "session": found.session});
    Output::new(text, json)
}

fn known(token: &str) -> Result<SafeId, VerbError> {
    SafeId::new(token)
        .ok_or_else(|| VerbError::user("the token is empty", "`substrate run` gives its own"))
}
