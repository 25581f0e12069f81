//! The story: two sessions in one project, one of them with two subagents.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::cast::{Actor, HERON, OTTER};
use crate::proc;
use crate::sandbox::Sandbox;
use crate::say::say;

pub(super) fn play(sandbox: &Sandbox) -> Result<()> {
    let teller = Teller { sandbox, cwd: sandbox.path("project").display().to_string() };
    let (otter, heron) = (Actor::main(&OTTER), Actor::main(&HERON));
    let reviewer = Actor::subagent(&OTTER, "a1b2c3", "reviewer");
    let tester = Actor::subagent(&OTTER, "d4e5f6", "tester");

    teller.tell(
        &otter,
        "SessionStart",
        "starts; the first hook finds no daemon, does its own work and starts one",
        json!({"source": "startup"}),
    )?;
    teller.tell(
        &heron,
        "SessionStart",
        "starts in the same project",
        json!({"source": "startup"}),
    )?;
    teller.tell(
        &otter,
        "UserPromptSubmit",
        "is asked to fix the parser",
        json!({"prompt": "fix the parser, and have it reviewed"}),
    )?;
    teller.tool(&otter, "Read", &json!({"file_path": "src/parser.rs"}), "reads the parser")?;
    teller.tool(
        &heron,
        "Bash",
        &json!({"command": "cargo doc", "description": "docs"}),
        "builds the docs meanwhile",
    )?;
    teller.tool(
        &otter,
        "Edit",
        &json!({"file_path": "src/parser.rs", "old_string": "a", "new_string": "b"}),
        "mends it",
    )?;
    teller.tell(&reviewer, "SubagentStart", "is started to review", json!({}))?;
    teller.tell(&tester, "SubagentStart", "is started to test", json!({}))?;
    teller.tool(&reviewer, "Read", &json!({"file_path": "src/parser.rs"}), "reads the change")?;
    teller.tool(
        &tester,
        "Bash",
        &json!({"command": "API_TOKEN=abc123secret cargo test", "description": "tests"}),
        "runs the tests (the journal will not know the token)",
    )?;
    teller.tool(
        &heron,
        "WebFetch",
        &json!({"url": "https://example.com"}),
        "wants to look something up",
    )?;
    teller.stop(&reviewer, "SubagentStop", false, "is done: looks good")?;
    teller.stop(&tester, "SubagentStop", false, "is done: 12 tests pass")?;
    teller.stop(&otter, "Stop", false, "wants to stop")?;
    teller.stop(&otter, "Stop", true, "has said what it changed, and stops")?;
    teller.tell(&otter, "SessionEnd", "leaves", json!({"reason": "prompt_input_exit"}))?;
    teller.tell(&heron, "SessionEnd", "leaves", json!({"reason": "other"}))?;
    Ok(())
}

struct Teller<'a> {
    sandbox: &'a Sandbox,
    cwd: String,
}

impl Teller<'_> {
    /// A tool call, before and (unless it was refused) after.
    fn tool(&self, actor: &Actor, tool: &str, input: &Value, what: &str) -> Result<()> {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_demo"});
        let refused = self.tell(actor, "PreToolUse", what, call.clone())?;
        if !refused {
            let mut done = call;
            done["tool_response"] = json!({"ok": true});
            self.hook(actor, "PostToolUse", done)?;
        }
        Ok(())
    }

    fn stop(&self, actor: &Actor, event: &str, again: bool, what: &str) -> Result<()> {
        let more = json!({"stop_hook_active": again, "last_assistant_message": what, "background_tasks": []});
        self.tell(actor, event, what, more)?;
        Ok(())
    }

    /// One event and what came of it. Whether it was refused.
    fn tell(&self, actor: &Actor, event: &str, what: &str, more: Value) -> Result<bool> {
        let (answer, us) = self.hook(actor, event, more)?;
        say!("{:<15} {what}  [{event}, {}.{} ms]", actor.called(), us / 1_000, us % 1_000 / 100);
        for words in said(&answer) {
            say!("{:<15}   → {words}", "");
        }
        Ok(answer.pointer("/hookSpecificOutput/permissionDecision").is_some())
    }

    /// Runs the real hook as the client does; its answer, and how long it took.
    fn hook(&self, actor: &Actor, event: &str, more: Value) -> Result<(Value, u128)> {
        let mut command = self.sandbox.as_hook(self.sandbox.program("substrate-hook"));
        command.args(["claude-code", event]);
        let ran = proc::feed(&mut command, &actor.payload(event, &self.cwd, more))?;
        if !ran.ok() {
            bail!("the hook for {event} ended with {}", ran.status);
        }
        let answer =
            if ran.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&ran.stdout)? };
        Ok((answer, ran.took.as_micros()))
    }
}

/// What the client is told, in one line each.
fn said(answer: &Value) -> Vec<String> {
    let places = [
        ("refused", "/hookSpecificOutput/permissionDecisionReason"),
        ("the model is told", "/hookSpecificOutput/additionalContext"),
        ("not yet", "/reason"),
    ];
    let find =
        |(word, path): &(&str, &str)| Some(format!("{word}: {}", answer.pointer(path)?.as_str()?));
    places.iter().filter_map(find).collect()
}
