//! The testkit against the real client, with plain shell hooks. One test binary, one `mod` per topic.
//!
//! Everything that runs the client is in a module named `real_client…`, so that nextest can group it.
mod contract;
mod model_server;
mod real_client_print;
mod real_client_tui;

use std::path::PathBuf;

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, write_file};

/// A `/bin/sh` hook that records every payload, and then runs `then`.
struct Notes {
    file: PathBuf,
    command: String,
}

impl Notes {
    fn new(env: &TestEnv, then: &str) -> Self {
        let file = env.root().join("notes.jsonl");
        let script = env.root().join("note.sh");
        // One `printf` per payload: hooks of one event run in parallel.
        let text = format!("printf '%s\\n' \"$(cat)\" >> '{}'\n{then}\n", file.display());
        write_file(&script, text);
        Self { file, command: format!("/bin/sh '{}'", script.display()) }
    }

    /// The `hooks` of `settings.json` for these events.
    fn hooks(&self, events: &[&str]) -> Value {
        let entry = json!([{"hooks": [{"type": "command", "command": self.command}]}]);
        events.iter().map(|event| ((*event).to_owned(), entry.clone())).collect()
    }

    /// The payloads so far, as `Event` or `Event(subagent)`.
    fn events(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let event = |line: &str| {
            let payload: Value = serde_json::from_str(line).expect("the client writes JSON");
            let name = payload["hook_event_name"]
                .as_str()
                .expect("every payload names its event")
                .to_owned();
            if payload["agent_id"].is_string() { format!("{name}(subagent)") } else { name }
        };
        text.lines().map(event).collect()
    }
}

/// A Bash call of the model.
fn bash(command: &str) -> substrate_testkit::Turn {
    substrate_testkit::Turn::tool("Bash", json!({"command": command, "description": "scripted"}))
}
