//! What a client gives a hook: its environment, and its payload on stdin.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// The environments that the real client gives its hooks, as recorded.
const SPAWN: &str =
    include_str!("../../crates/clients/src/claude_code/samples/_spawn_environment.json");

/// What else is in an environment. The first variable must never leave the hook's process.
const USUAL: [(&str, &str); 22] = [
    ("ANTHROPIC_API_KEY", "sk-ant-api03-not-a-real-key-not-a-real-key-not-a-real-key"),
    ("USER", "dev"),
    ("LOGNAME", "dev"),
    ("SHELL", "/bin/bash"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "xterm-256color"),
    ("COLORTERM", "truecolor"),
    ("TERM_PROGRAM", "tmux"),
    ("EDITOR", "vi"),
    ("PAGER", "less"),
    ("PWD", "/home/dev/app"),
    ("OLDPWD", "/home/dev"),
    ("SHLVL", "2"),
    ("HOSTNAME", "workstation"),
    ("DISPLAY", ":0"),
    ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ("XDG_SESSION_ID", "3"),
    ("SSH_AUTH_SOCK", "/run/user/1000/ssh.sock"),
    ("TMUX", "/tmp/tmux-1000/default,1234,0"),
    ("TMUX_PANE", "%3"),
    ("NODE_OPTIONS", "--max-old-space-size=4096"),
];

/// The environment of a PreToolUse hook, in that project.
pub(crate) fn environment(project: &Path) -> Result<Vec<(String, String)>> {
    let all: Value = serde_json::from_str(SPAWN)?;
    let seen = all["PreToolUse"]["env"].as_object().context("no PreToolUse environment")?;
    let mut out: Vec<(String, String)> = seen
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    for (name, value) in &mut out {
        match name.as_str() {
            "CLAUDE_PROJECT_DIR" => *value = project.display().to_string(),
            "CLAUDE_CONFIG_DIR" => *value = project.join(".claude").display().to_string(),
            "CLAUDE_PID" => *value = stand_in()?.to_string(),
            _ => {}
        }
    }
    out.extend(USUAL.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Ok(out)
}

/// A process that stands for the client. Not our own: our commands would run below it and count as its agent's.
fn stand_in() -> Result<u32> {
    static CLIENT: Mutex<Option<Child>> = Mutex::new(None);
    let mut client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
    if client.is_none() {
        // It ends with us, when the pipe closes.
        let mut command = crate::proc::command("/bin/cat");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        *client = Some(started.context("could not start `cat`")?);
    }
    client.as_ref().map(Child::id).context("no client")
}

/// The payload of a Stop of that session, as the client writes it.
pub(crate) fn stop(session: &str) -> Vec<u8> {
    let payload = json!({
        "session_id": session,
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-app/{session}.jsonl"),
        "cwd": "/home/dev/app",
        "prompt_id": "76ab5465-43b1-4feb-ba94-de1605c618df",
        "permission_mode": "bypassPermissions",
        "effort": {"level": "high"},
        "hook_event_name": "Stop",
        "stop_hook_active": false,
        "last_assistant_message": "All done: the tests pass, and the change is committed.",
        "background_tasks": [],
        "session_crons": [],
    });
    format!("{payload}\n").into_bytes()
}

/// A payload about the use of `tool`, padded to `size` bytes. The marker identifies its row in the journal.
pub(crate) fn pre_tool_use(marker: &str, tool: &str, size: usize) -> Vec<u8> {
    let with = |content: &str| {
        let input = match tool {
            "Bash" => json!({"command": "cargo test --workspace", "description": content}),
            _ => json!({"file_path": "/home/dev/app/src/lib.rs", "content": content}),
        };
        let payload = json!({
            "session_id": "7ac89518-7bff-44f2-b7cc-ae24d9a0dca2",
            "transcript_path": "/home/dev/.claude/projects/-home-dev-app/7ac89518-7bff-44f2-b7cc-ae24d9a0dca2.jsonl",
            "cwd": "/home/dev/app",
            "prompt_id": "76ab5465-43b1-4feb-ba94-de1605c618df",
            "permission_mode": "bypassPermissions",
            "effort": {"level": "high"},
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": marker,
        });
        let mut bytes = payload.to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    };
    let line = "    let total = items.iter().map(|item| item.price).sum::<u64>();\n";
    let missing = size.saturating_sub(with("").len());
    // A line break is two bytes in JSON.
    let mut content = line.repeat(missing / (line.len() + 1));
    content.push_str(&"x".repeat(missing % (line.len() + 1)));
    with(&content)
}
