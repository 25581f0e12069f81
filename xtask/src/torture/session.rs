//! One session, as its client would drive it: every event a real hook process.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::history::{self, Act, Moment, Record, Verdict};
use crate::proc;
use crate::sandbox::Sandbox;

/// A session, and everything that its hooks saw.
pub(super) struct Session {
    pub(super) id: String,
    /// A person watches it, so it can be woken.
    pub(super) is_attended: bool,
    /// The process that stands for its client, if not this one.
    pub(super) client: Option<u32>,
    pub(super) records: Vec<Record>,
}

/// What a hook answered.
pub(super) struct HookAnswer {
    pub(super) ok: bool,
    pub(super) text: String,
    pub(super) began: Moment,
    pub(super) ended: Moment,
}

impl HookAnswer {
    /// The verdict on a call, or that the hook failed.
    pub(super) fn verdict(&self) -> Verdict {
        let decision = |word| self.text.contains(&format!("\"permissionDecision\":\"{word}\""));
        match (self.ok, decision("deny"), decision("ask")) {
            (true, false, false) => Verdict::Allowed,
            (true, true, _) => Verdict::Refused,
            // A call that is left to the user was not judged.
            _ => Verdict::Failed,
        }
    }
}

impl Session {
    pub(super) fn new(id: String) -> Self {
        Self { id, is_attended: false, client: None, records: Vec::new() }
    }

    /// The hook process for an event.
    pub(super) fn command(&self, sandbox: &Sandbox, event: &str) -> Command {
        let mut hook = sandbox.as_hook(sandbox.program("substrate-hook"));
        let attended = if self.is_attended { "1" } else { "0" };
        hook.env("CLAUDE_CODE_SESSION_ATTENDED", attended).env_remove("AGENT_ID");
        if let Some(pid) = self.client {
            hook.env("CLAUDE_PID", pid.to_string());
        }
        hook.args(["claude-code", event]);
        hook
    }

    pub(super) fn payload(&self, sandbox: &Sandbox, event: &str, with: Value) -> String {
        let cwd = sandbox.path("project");
        let mut payload = json!({"session_id": self.id, "cwd": cwd, "hook_event_name": event});
        if let (Value::Object(all), Value::Object(more)) = (&mut payload, with) {
            all.extend(more);
        }
        payload.to_string()
    }

    /// Runs the hook for an event, and waits for it.
    pub(super) fn hear(&self, sandbox: &Sandbox, event: &str, with: Value) -> Result<HookAnswer> {
        let payload = self.payload(sandbox, event, with);
        let mut command = self.command(sandbox, event);
        let began = history::now();
        let ran = proc::feed(&mut command, payload.as_bytes())?;
        let ended = history::now();
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        Ok(HookAnswer { ok: ran.ok(), text, began, ended })
    }

    /// Records an answer.
    pub(super) fn note(
        &mut self,
        act: Act,
        about: Vec<String>,
        verdict: Verdict,
        heard: &HookAnswer,
    ) {
        let (actor, began, ended) = (self.id.clone(), heard.began, heard.ended);
        self.records.push(Record { actor, act, about, verdict, began, ended });
    }

    /// How long the processes of these acts took.
    pub(super) fn times(records: &[Record], acts: &[Act]) -> Vec<Duration> {
        let wanted = records.iter().filter(|record| acts.contains(&record.act));
        wanted.map(|record| record.ended - record.began).collect()
    }
}
