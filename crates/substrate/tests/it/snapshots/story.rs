//! Sessions of named agents with the real hook, and everything that they are told.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, bin};

use crate::house::{SOON, configure};

/// What differs from run to run.
const FILTERS: &[(&str, &str)] = &[
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"\d\d:\d\d(:\d\d)?( UTC)?", "CLOCK"),
    (r"\b\d+(\.\d+)? ?(ms|s|m|h)( \d+ ?s)? ago", "… ago"),
    (r"just now", "… ago"),
    (r"pid \d+", "pid PID"),
];

/// A session for which no name was chosen. Its random name must not be told.
pub(super) const STRANGER: &str = "stranger";

pub(super) struct Story {
    env: TestEnv,
    /// Processes that stand for clients. A session counts as alive while its client lives.
    clients: BTreeMap<&'static str, Running>,
    /// The state home, if it is not the test's own.
    home: Option<&'static str>,
    text: String,
}

impl Story {
    /// In a repository with one commit.
    pub(super) fn new(settings: &str) -> Self {
        let env = TestEnv::new();
        configure(&env, settings);
        let mut this = Self { env, clients: BTreeMap::new(), home: None, text: String::new() };
        this.put("src/lib.rs", "one\n");
        this.shell(
            None,
            "git init -qb main && git add . && GIT_AUTHOR_DATE='2026-01-01 00:00Z' GIT_COMMITTER_DATE='2026-01-01 00:00Z' git -c user.name=You -c user.email=you@example.com commit -qm 'Write a parser'",
        );
        this
    }

    /// From now on, hooks have this state home.
    pub(super) fn lives_in(&mut self, home: &'static str) {
        self.home = Some(home);
    }

    pub(super) fn env(&self) -> &TestEnv {
        &self.env
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        substrate_testkit::write_file(&self.env.project().join(path), text);
    }

    /// A line of a shell, of a person or of an agent's session, as the user's terminal shows it.
    fn shell(&mut self, by: Option<&str>, line: &str) -> String {
        let mut shell = self.env.command("/bin/bash");
        shell.args(["-c", &format!("exec 2>&1\n{line}")]);
        if let Some(agent) = by {
            shell.envs([("CLAUDECODE", "1"), ("CLAUDE_SESSION_ID", &agent.to_lowercase())]);
        }
        let run = Running::start(shell, Vec::new()).finish(SOON);
        let code = run.status.filter(|code| *code != 0);
        run.stdout + &code.map(|code| format!("exit code {code}\n")).unwrap_or_default()
    }

    /// What a person's line prints.
    pub(super) fn types(&mut self, line: &str) {
        let printed = self.shell(None, line);
        self.add(&format!("$ {line}"), &printed);
    }

    /// What a line prints that an agent runs.
    pub(super) fn runs(&mut self, agent: &str, line: &str) {
        let printed = self.shell(Some(agent), line);
        self.add(&format!("{agent} $ {line}"), &printed);
    }

    /// What happens here is not part of the text.
    pub(super) fn quietly(&mut self, happens: impl FnOnce(&mut Self)) {
        let n_before = self.text.len();
        happens(self);
        self.text.truncate(n_before);
    }

    /// A heading within the text.
    pub(super) fn part(&mut self, title: &str) {
        let _ = writeln!(self.text, "# {title}\n");
    }

    /// A session begins.
    pub(super) fn begins(&mut self, agent: &'static str) {
        let mut client = self.env.command("/bin/sleep");
        client.arg("1000");
        self.clients.insert(agent, Running::start(client, Vec::new()));
        self.event(agent, "SessionStart", &json!({"source": "startup"}));
    }

    /// The agent's client is gone.
    pub(super) fn vanishes(&mut self, agent: &str) {
        drop(self.clients.remove(agent));
    }

    pub(super) fn asked(&mut self, agent: &str, prompt: &str) {
        self.event(agent, "UserPromptSubmit", &json!({"prompt": prompt}));
    }

    pub(super) fn stops(&mut self, agent: &str) {
        self.event(agent, "Stop", &stop(false));
    }

    /// It was held, and wants to stop again.
    pub(super) fn stops_again(&mut self, agent: &str) {
        self.event(agent, "Stop", &stop(true));
    }

    pub(super) fn edits(&mut self, agent: &str, file: &str) {
        let file = self.env.project().join(file);
        self.calls(agent, "Edit", &json!({"file_path": file}));
    }

    pub(super) fn bash(&mut self, agent: &str, command: &str) {
        self.calls(agent, "Bash", &json!({"command": command}));
    }

    /// A tool call, and what follows it unless it is refused.
    pub(super) fn calls(&mut self, agent: &str, tool: &str, input: &Value) {
        let mut call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1"});
        let mut answer = self.answer(agent, "PreToolUse", &call);
        // On a machine whose disk is busy, an agent may be told so, and does it.
        for _ in 0..20 {
            if answer.to_string().contains("Try the same edit again.") {
                answer = self.answer(agent, "PreToolUse", &call);
            }
        }
        let about =
            input.as_object().and_then(|input| input.values().next()).and_then(Value::as_str);
        let title = format!("{agent}: PreToolUse {tool} {}", about.unwrap_or_default());
        self.add(&title, &shown(&answer));
        if answer["hookSpecificOutput"]["permissionDecision"].is_null() {
            call["tool_response"] = json!({});
            self.event(agent, "PostToolUse", &call);
        }
    }

    /// What an event is answered.
    pub(super) fn event(&mut self, agent: &str, event: &str, more: &Value) {
        let answer = self.answer(agent, event, more);
        let title = ["source", "prompt", "tool_name", "agent_type", "reason", "trigger"];
        let title = title.iter().find_map(|name| more[name].as_str()).unwrap_or_default();
        if event == "PostToolUse" && answer.is_null() {
            return;
        }
        self.add(&format!("{agent}: {event} {title}"), &shown(&answer));
    }

    fn answer(&self, agent: &str, event: &str, more: &Value) -> Value {
        let mut payload = json!({
            "session_id": agent.to_lowercase(), "cwd": self.env.project(), "hook_event_name": event,
            "transcript_path": self.env.root().join("transcript.jsonl"),
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let pid = self.clients[agent].pid().to_string();
        let mut vars =
            vec![("CLAUDECODE", "1"), ("CLAUDE_PID", &pid), ("CLAUDE_CODE_SESSION_ATTENDED", "1")];
        if agent != STRANGER {
            vars.push(("AGENT_ID", agent));
        }
        vars.extend(self.home.map(|home| ("SUBSTRATE_HOME", home)));
        let out = self.env.hook_with(event, payload, &vars).success();
        let plain = || if out.is_empty() { Value::Null } else { json!({"stdout": out}) };
        serde_json::from_str(&out).unwrap_or_else(|_| plain())
    }

    fn add(&mut self, title: &str, text: &str) {
        let _ = writeln!(self.text, "{}\n{text}", title.trim_end());
    }

    /// Compares all of it with its file.
    pub(super) fn ends(self, name: &str) {
        let programs = bin("substrate");
        let programs = programs.parent().unwrap().display().to_string();
        let text = self.text.replace(&programs, "PROGRAMS");
        let text = text.replace(&self.env.root().display().to_string(), "ROOT");
        let mut settings = insta::Settings::clone_current();
        for (pattern, word) in FILTERS {
            settings.add_filter(pattern, *word);
        }
        settings.bind(|| super::compare(name, &text));
    }
}

/// What every kind of stop says.
pub(super) fn stop(again: bool) -> Value {
    json!({"stop_hook_active": again, "last_assistant_message": "Done.", "background_tasks": [], "session_crons": []})
}

/// The fields of an answer, each text as it is read.
fn shown(answer: &Value) -> String {
    match answer {
        Value::Null => "    (nothing)\n".to_owned(),
        Value::Object(fields) => {
            let mut out = String::new();
            for (name, value) in fields.iter().filter(|(name, _)| *name != "hookEventName") {
                match value {
                    Value::Object(_) => out += &shown(value),
                    Value::String(text) if text.contains(' ') => {
                        let _ = writeln!(out, "  {name}:");
                        for line in text.lines() {
                            let _ = writeln!(out, "    {line}");
                        }
                    }
                    value => {
                        let _ = writeln!(out, "  {name}: {value}");
                    }
                }
            }
            out
        }
        other => format!("    {other}\n"),
    }
}
