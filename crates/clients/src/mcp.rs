//! What the tool server (`substrate mcp`) must know of clients: how they name a call, and how they register a server.

use serde_json::{Value, json};

use crate::claude_code;

/// How a client that we know talks to a tool server.
#[derive(Clone, Copy, Debug)]
pub struct Mcp {
    /// The client's name.
    pub client: &'static str,
    /// The key in `_meta` of a call under which the client names it, as its hooks do.
    pub call_id: &'static str,
    /// The key in `_meta` of a tool for words that help a model to find it.
    pub search_hint: Option<&'static str>,
    /// The arguments with which the client itself registers the server, in a scope (`user`, `project`, `local`), given our
    /// program. The client rewrites that file while it runs, so only it edits it.
    pub add: fn(&str, &str) -> Vec<String>,
    /// The same for taking it out.
    pub remove: fn(&str) -> Vec<String>,
}

/// The clients that name their calls.
pub const ALL: &[Mcp] = &[claude_code::MCP];

/// How a program registers a tool server.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// As it is typed: `substrate mcp --print-config NAME`.
    pub name: &'static str,
    /// Where the text goes.
    pub place: &'static str,
    /// The text, given our program.
    pub text: fn(&str) -> String,
}

/// Programs that start tool servers, as their documentation describes it.
pub const REGISTRATIONS: &[Registration] = &[
    Registration {
        name: "claude-code",
        place: ".mcp.json in the project, or `claude mcp add --scope user substrate -- substrate mcp`",
        text: |program| pretty(&json!({"mcpServers": {"substrate": stdio(program)}})),
    },
    Registration {
        name: "codex",
        place: "~/.codex/config.toml",
        text: |program| {
            format!("[mcp_servers.substrate]\ncommand = {}\nargs = [\"mcp\"]\n", quoted(program))
        },
    },
    Registration {
        name: "cursor",
        place: "~/.cursor/mcp.json, or .cursor/mcp.json in the project",
        text: |program| pretty(&json!({"mcpServers": {"substrate": stdio(program)}})),
    },
    Registration {
        name: "vscode",
        place: ".vscode/mcp.json in the project",
        text: |program| pretty(&json!({"servers": {"substrate": typed(program, "stdio")}})),
    },
    Registration {
        name: "gemini",
        place: "~/.gemini/settings.json",
        text: |program| pretty(&json!({"mcpServers": {"substrate": stdio(program)}})),
    },
    Registration {
        name: "opencode",
        place: "opencode.json in the project, or ~/.config/opencode/opencode.json",
        text: |program| {
            let server = json!({"type": "local", "command": [program, "mcp"], "enabled": true});
            pretty(&json!({"mcp": {"substrate": server}}))
        },
    },
    Registration {
        name: "zed",
        place: "~/.config/zed/settings.json",
        text: |program| pretty(&json!({"context_servers": {"substrate": stdio(program)}})),
    },
];

fn stdio(program: &str) -> Value {
    json!({"command": program, "args": ["mcp"]})
}

fn typed(program: &str, kind: &str) -> Value {
    json!({"type": kind, "command": program, "args": ["mcp"]})
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A string as JSON and TOML both write it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registration_names_the_program_and_starts_the_server() {
        for registration in REGISTRATIONS {
            let text = (registration.text)("/opt/a \"b\"/substrate");
            assert!(text.contains(r#""/opt/a \"b\"/substrate""#), "{text}");
            assert!(text.contains("mcp") && text.contains("substrate"), "{text}");
            if registration.name != "codex" {
                let _valid: Value = serde_json::from_str(&text).unwrap();
            }
        }
    }
}
