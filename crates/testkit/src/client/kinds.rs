//! What differs between the other clients, for those who drive several of them.
use std::path::Path;

use serde_json::json;

use super::OtherClient;
use crate::env::TestEnv;
use crate::model::{ModelServer, Turn};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct OtherKind {
    /// As `substrate_clients` calls it.
    pub name: &'static str,
    pub client: for<'a> fn(&'a TestEnv, &ModelServer) -> OtherClient<'a>,
    /// A command in the shell.
    pub shell: fn(&str) -> Turn,
    /// A new file, with the line `two`.
    pub write: fn(&Path) -> Turn,
    /// What hooks are told that these two tools are called.
    pub tools: [&'static str; 2],
    /// The flags with which it runs hooks that its user does not trust.
    pub trusting: &'static [&'static str],
}

/// All of them.
pub const OTHERS: &[OtherKind] = &[CODEX, COPILOT, GEMINI, OPENCODE, QWEN];

const CODEX: OtherKind = OtherKind {
    name: "codex",
    client: |env, model| OtherClient::codex(env, model),
    shell: |command| Turn::tool("exec_command", json!({"cmd": command})),
    write: |file| {
        let file = file.display();
        let patch = format!("*** Begin Patch\n*** Add File: {file}\n+two\n*** End Patch\n");
        Turn::tool("apply_patch", json!(patch))
    },
    tools: ["Bash", "apply_patch"],
    trusting: &["--dangerously-bypass-hook-trust"],
};

const COPILOT: OtherKind = OtherKind {
    name: "copilot",
    client: |env, model| OtherClient::copilot(env, model),
    shell: |command| Turn::tool("bash", json!({"command": command, "description": "a step"})),
    write: |file| Turn::tool("create", json!({"path": file, "file_text": "two\n"})),
    tools: ["Bash", "Write"],
    trusting: &[],
};

const GEMINI: OtherKind = OtherKind {
    name: "gemini",
    client: |env, model| OtherClient::gemini(env, model),
    shell: |command| Turn::tool("run_shell_command", json!({"command": command})),
    write: |file| Turn::tool("write_file", json!({"file_path": file, "content": "two\n"})),
    tools: ["run_shell_command", "write_file"],
    trusting: &[],
};

const OPENCODE: OtherKind = OtherKind {
    name: "opencode",
    client: |env, model| OtherClient::opencode(env, model),
    shell: COPILOT.shell,
    write: |file| Turn::tool("write", json!({"filePath": file, "content": "two\n"})),
    tools: ["bash", "write"],
    trusting: &[],
};

const QWEN: OtherKind = OtherKind {
    name: "qwen",
    client: |env, model| OtherClient::qwen(env, model),
    shell: |command| {
        let input = json!({"command": command, "is_background": false, "description": "a step"});
        Turn::tool("run_shell_command", input)
    },
    ..GEMINI
};
