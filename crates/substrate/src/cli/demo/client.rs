//! The clients of the story: what their hooks get from them. The only file of the demo that knows a client's words.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};

use crate::config::Env;
use crate::error::{AppError, Kind, Result};
use crate::proc;

/// The client whose hooks the demo plays.
pub(super) const NAME: &str = "claude-code";

/// A session of a client. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: &'static str,
    /// A process that stands for the client. Hooks report it, and it must live for the session to count as alive.
    process: Child,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) fields: Value,
}

/// The words after which a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    SessionStart,
    Prompt,
    BeforeTool,
    AfterTool,
    SubagentStart,
    SubagentStop,
    Stop,
    SessionEnd,
}

impl Event {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::Prompt => "UserPromptSubmit",
            Self::BeforeTool => "PreToolUse",
            Self::AfterTool => "PostToolUse",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
        }
    }
}

impl Call {
    fn new(tool: &str, input: &Value) -> Self {
        Self {
            fields: json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_demo"}),
        }
    }

    pub(super) fn edit(file: &Path) -> Self {
        Self::new("Edit", &json!({"file_path": file, "old_string": "a", "new_string": "b"}))
    }

    pub(super) fn read(file: &Path) -> Self {
        Self::new("Read", &json!({"file_path": file}))
    }

    pub(super) fn shell(command: &str) -> Self {
        Self::new("Bash", &json!({"command": command, "description": "demo"}))
    }
}

impl Session {
    pub(super) fn start(id: &'static str) -> Result<Self> {
        // `cat` ends when our end of its pipe does.
        let mut command = proc::command("/bin/cat", &Env::default());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| AppError::from_error(Kind::State, &error))?;
        Ok(Self { id, process })
    }

    /// The variables that the client gives its hooks.
    pub(super) fn around_hook(&self, command: &mut Command, project: &Path) {
        command
            .env("CLAUDECODE", "1")
            .env("CLAUDE_PID", self.process.id().to_string())
            .env("CLAUDE_PROJECT_DIR", project)
            .env("CLAUDE_CODE_SESSION_ATTENDED", "1");
    }

    /// The variables of a command that the agent runs in its shell.
    pub(super) fn around_shell(&self, command: &mut Command) {
        command.env("CLAUDECODE", "1").env("CLAUDE_SESSION_ID", self.id);
    }

    /// The payload of an event, as the client writes it. `subagent` is the id and the type of the subagent that it is about.
    pub(super) fn payload(
        &self,
        subagent: Option<(&str, &str)>,
        event: Event,
        project: &Path,
        more: Value,
    ) -> Vec<u8> {
        let mut fields: Map<String, Value> = Map::new();
        fields.insert("session_id".to_owned(), json!(self.id));
        fields.insert("cwd".to_owned(), json!(project));
        fields.insert("hook_event_name".to_owned(), json!(event.name()));
        if let Some((id, kind)) = subagent {
            fields.insert("agent_id".to_owned(), json!(id));
            fields.insert("agent_type".to_owned(), json!(kind));
        }
        if let Value::Object(more) = more {
            fields.extend(more);
        }
        Value::Object(fields).to_string().into_bytes()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ended_already = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// The end of a turn. `again`: a hook has held it before.
pub(super) fn stopping(again: bool, message: &str) -> Value {
    json!({"stop_hook_active": again, "last_assistant_message": message, "background_tasks": []})
}

/// What an answer tells the client: how, and the words.
pub(super) fn told(answer: &Value) -> Vec<(&'static str, &str)> {
    let places = [
        ("refused", "/hookSpecificOutput/permissionDecisionReason"),
        ("the model is told", "/hookSpecificOutput/additionalContext"),
        ("not yet", "/reason"),
    ];
    let found = places.iter().filter_map(|(word, path)| {
        answer.pointer(path).and_then(Value::as_str).map(|text| (*word, text))
    });
    found.collect()
}

/// Whether the answer refuses a tool call.
pub(super) fn is_refusal(answer: &Value) -> bool {
    answer.pointer("/hookSpecificOutput/permissionDecision").is_some()
}
