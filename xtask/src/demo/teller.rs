//! Lets something happen as the client would, and tells what came of it.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use substrate_core::time::Took;

use super::cast::{Actor, Session};
use crate::proc;
use crate::sandbox::Sandbox;
use crate::say::say;

/// How long something may take that takes a moment.
const SOON: Duration = Duration::from_secs(5);

pub(super) struct Teller<'a> {
    sandbox: &'a Sandbox,
    cwd: String,
}

/// A waiter beside an idle session.
pub(super) struct Waiter {
    of: &'static Session,
    process: Child,
}

impl<'a> Teller<'a> {
    pub(super) fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, cwd: sandbox.path("project").display().to_string() }
    }

    /// A tool call, before and (unless it was refused) after.
    pub(super) fn tool(&self, actor: &Actor, tool: &str, input: &Value, what: &str) -> Result<()> {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_demo"});
        let refused = self.tell(actor, "PreToolUse", what, call.clone())?;
        if !refused {
            self.after(actor, call)?;
        }
        Ok(())
    }

    /// A command in an agent's own shell, with the hooks around it. What it printed.
    pub(super) fn shell(&self, actor: &Actor, args: &[&str], what: &str) -> Result<String> {
        let typed = typed(args);
        let input = json!({"command": typed, "description": what});
        let call = json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_demo"});
        self.hook(actor, "PreToolUse", call.clone())?;
        let mut command = self.substrate(args);
        command.env("CLAUDECODE", "1").env("CLAUDE_SESSION_ID", actor.session.id);
        let printed = proc::output(&mut command)?;
        say!("{:<15} {what}: `{typed}`", actor.called());
        for line in printed.lines().filter(|line| !line.is_empty()) {
            say!("{:<15}   {line}", "");
        }
        self.after(actor, call)?;
        Ok(printed)
    }

    /// What the agents of the story are called.
    pub(super) fn name(&self, session: &Session) -> Result<String> {
        let mut command =
            self.substrate(&["agent", "whoami", "--session-id", session.id, "--format", "json"]);
        let json: Value = serde_json::from_str(&proc::output(&mut command)?)?;
        let name = json["agent"].as_str().context("the agent has no name")?;
        Ok(name.to_owned())
    }

    pub(super) fn stop(&self, actor: &Actor, event: &str, again: bool, what: &str) -> Result<()> {
        self.tell(actor, event, what, stopping(again, what))?;
        Ok(())
    }

    /// One event and what came of it. Whether it was refused.
    pub(super) fn tell(&self, actor: &Actor, event: &str, what: &str, more: Value) -> Result<bool> {
        let (answer, took) = self.hook(actor, event, more)?;
        say!("{:<15} {what}  [{event}, {}]", actor.called(), Took::of(took));
        hear(&answer);
        Ok(answer.pointer("/hookSpecificOutput/permissionDecision").is_some())
    }

    /// Starts the waiter that the client runs beside a session whose turn has ended.
    pub(super) fn wait(&self, actor: &Actor, what: &str) -> Result<Waiter> {
        let mut command = self.program(&["claude-code", "Stop", "--wake"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().context("the waiter")?;
        let payload = actor.payload("Stop", &self.cwd, stopping(true, what));
        process.stdin.take().context("the waiter's stdin")?.write_all(&payload)?;
        if !proc::wait_until(SOON, || self.n_waiting().is_ok_and(|n| n > 0)) {
            bail!("the waiter does not wait");
        }
        say!("{:<15} {what}  [Stop --wake]", actor.called());
        Ok(Waiter { of: actor.session, process })
    }

    fn n_waiting(&self) -> Result<u64> {
        let mut command = self.substrate(&["daemon", "status", "--format", "json"]);
        let json: Value = serde_json::from_str(&proc::output(&mut command)?)?;
        json["n_waiting"].as_u64().context("the daemon does not say who waits")
    }

    fn after(&self, actor: &Actor, call: Value) -> Result<()> {
        let mut done = call;
        done["tool_response"] = json!({"ok": true});
        let (answer, _) = self.hook(actor, "PostToolUse", done)?;
        hear(&answer);
        Ok(())
    }

    /// Runs the real hook as the client does; its answer, and how long it took.
    fn hook(&self, actor: &Actor, event: &str, more: Value) -> Result<(Value, Duration)> {
        let mut command = self.program(&["claude-code", event]);
        let ran = proc::feed(&mut command, &actor.payload(event, &self.cwd, more))?;
        if !ran.ok() {
            bail!("the hook for {event} ended with {}", ran.status);
        }
        let answer =
            if ran.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&ran.stdout)? };
        Ok((answer, ran.took))
    }

    /// The hook client, started by a client that a person watches.
    fn program(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.as_hook(self.sandbox.program("substrate-hook"));
        command.args(args).env("CLAUDE_CODE_SESSION_ATTENDED", "1");
        command
    }

    fn substrate(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(self.sandbox.program("substrate"));
        command.args(args);
        command
    }
}

impl Waiter {
    /// Hears the waiter out, which whoever began to send at `since` has woken.
    pub(super) fn woken_after(mut self, since: Instant) -> Result<()> {
        let ended = proc::wait_until(SOON, || matches!(self.process.try_wait(), Ok(Some(_))));
        let took = since.elapsed();
        if !ended {
            self.process.kill()?;
            bail!("nobody woke the waiter");
        }
        let status = self.process.wait()?;
        let mut words = String::new();
        if let Some(mut pipe) = self.process.stderr.take() {
            pipe.read_to_string(&mut words)?;
        }
        if status.code() != Some(2) {
            bail!("the waiter ended with {status}: {words}");
        }
        say!(
            "{:<15} is woken within {} of the sender's start: the client begins a turn",
            self.of.name,
            Took::of(took)
        );
        say!("{:<15}   → the model is told: {}", "", indented(&words));
        Ok(())
    }
}

/// How a person would type it.
fn typed(args: &[&str]) -> String {
    let quoted = |arg: &&str| {
        if arg.contains([' ', '(']) { format!("\"{arg}\"") } else { (*arg).to_owned() }
    };
    let words: Vec<String> = args.iter().map(quoted).collect();
    format!("substrate {}", words.join(" "))
}

fn stopping(again: bool, what: &str) -> Value {
    json!({"stop_hook_active": again, "last_assistant_message": what, "background_tasks": []})
}

/// What the client is told.
fn hear(answer: &Value) {
    let places = [
        ("refused", "/hookSpecificOutput/permissionDecisionReason"),
        ("the model is told", "/hookSpecificOutput/additionalContext"),
        ("not yet", "/reason"),
    ];
    for (word, path) in places {
        if let Some(text) = answer.pointer(path).and_then(Value::as_str) {
            say!("{:<15}   → {word}: {}", "", indented(text));
        }
    }
}

/// Further lines stand below the first.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', &format!("\n{:<21}", ""))
}
