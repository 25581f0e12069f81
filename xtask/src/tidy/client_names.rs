//! Part of `cargo xtask tidy`: no client is named outside of `crates/clients`, and neither are its tools or the fields of
//! its JSON. Tests, comments, documents and the exceptions below may name them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{files as files_below, name_of, text as read};

/// Where clients are described: a folder each.
const CLIENTS: &str = "crates/clients/src";

/// Clients whose names are words that anyone uses.
const WORDS: &[&str] = &["cursor"];

/// Crates that only serve tests.
const FOR_TESTS: &[&str] = &["crates/clients", "crates/testkit", "crates/fuzz"];

/// Files that may name a client, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/core/src/seed.rs", "the paths that the seeds prescribe"),
    ("crates/features/src/context/ops.rs", "a table of ours has the name of a field"),
    ("crates/features/src/guards/prove.rs", "people write examples of rules as hooks get them"),
    ("crates/features/src/lib.rs", "help that names a path of the seeds"),
    ("crates/features/src/locks/history.rs", "files in the form that the seeds prescribe"),
    ("crates/features/src/locks/mod.rs", "help that names a path of the seeds"),
    ("crates/features/src/reminders/mod.rs", "help that names a path of the seeds"),
    ("crates/features/src/scratchpad/mod.rs", "help that names a path of the seeds"),
    ("crates/hook/src/passed.rs", "the hook depends on no crate; `it::clients` compares it"),
    ("crates/hook/src/unjudged.rs", "the hook depends on no crate; `it::clients` compares it"),
    ("crates/substrate/src/cli/demo/client.rs", "it plays a client"),
    ("crates/substrate/src/cli/demo/sandbox.rs", "it plays a client"),
    ("crates/substrate/src/cli/demo/teller.rs", "it plays a client"),
    ("crates/substrate/src/cli/examples.rs", "examples in help"),
];

/// Fields of clients' payloads that are our own words as well.
const OUR_FIELDS: &[&str] = &["agentId", "agent_id", "agent_type", "sessionId", "session_id"];

/// Every place that names a client or one of its tools, and every unneeded exception.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let words = Words::of(root)?;
    let files = files_below(&root.join("crates"), &["rs"])?;
    let mut out = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    let tests = test_modules(&files)?;
    for file in &files {
        let name = name_of(root, file);
        let is_exempt = FOR_TESTS.iter().any(|folder| name.starts_with(&format!("{folder}/")))
            || name.contains("/tests/")
            || name.ends_with("/tests.rs")
            || tests.iter().any(|test| file.starts_with(test));
        let found: Vec<String> = if is_exempt { Vec::new() } else { words.named_in(&read(file)?) };
        match ALLOWED.iter().find(|(allowed, _)| *allowed == name) {
            Some((allowed, _)) if !found.is_empty() => used.push(allowed),
            Some(_) => {}
            None => out.extend(found.iter().map(|what| format!("{name}: {what}"))),
        }
    }
    let unused = ALLOWED.iter().filter(|(name, _)| !used.contains(name));
    out.extend(
        unused.map(|(name, _)| format!("{name}: is allowed to name a client, but names none")),
    );
    Ok(out)
}

/// The words to look for.
struct Words {
    clients: Vec<String>,
    tools: Vec<String>,
    /// Names of fields in its payloads. Those of one plain word are anyone's.
    fields: BTreeSet<String>,
}

impl Words {
    /// From the clients' folders: their names, their tables of tools, and their samples.
    fn of(root: &Path) -> Result<Self> {
        let mut clients: Vec<String> = Vec::new();
        let mut files = Vec::new();
        let mut fields = BTreeSet::new();
        for entry in std::fs::read_dir(root.join(CLIENTS)).context(CLIENTS)? {
            let path = entry?.path();
            // Only a client has payloads. The other folders are shared by clients.
            if path.join("samples").is_dir() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !WORDS.contains(&name.as_str()) {
                    clients.push(name.split('_').next().unwrap_or_default().to_owned());
                }
                files.extend(files_below(&path, &["rs"])?);
                for sample in files_below(&path, &["json"])? {
                    let sample = serde_json::from_str(&read(&sample)?).unwrap_or_default();
                    collect_fields(&sample, &mut fields);
                }
            }
        }
        let mut tools = Vec::new();
        for file in files {
            tools.extend(tools_in(&read(&file)?));
        }
        tools.sort();
        tools.dedup();
        Ok(Self { clients, tools, fields })
    }

    /// What a file names, with the line.
    fn named_in(&self, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        for (at, line) in (1..).zip(code(text).lines()) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let lower = line.to_lowercase();
            let client = self.clients.iter().find(|name| lower.contains(name.as_str()));
            out.extend(client.map(|name| format!("line {at} names the client `{name}`")));
            let tool = self.tools.iter().find(|tool| line.contains(&format!("\"{tool}\"")));
            out.extend(tool.map(|tool| format!("line {at} names the tool `{tool}` of a client")));
            let quoted = line.split('"').skip(1).step_by(2);
            let field = quoted.into_iter().find(|text| self.fields.contains(*text));
            out.extend(field.map(|name| format!("line {at} names the field `{name}` of a client")));
        }
        out
    }
}

/// The names of several words in a payload: `tool_input`, `activeForm`.
fn collect_fields(json: &Value, out: &mut BTreeSet<String>) {
    let is_compound = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
            && name.contains(|c: char| c == '_' || c.is_ascii_uppercase())
            && !OUR_FIELDS.contains(&name)
    };
    match json {
        Value::Object(fields) => {
            out.extend(fields.keys().filter(|name| is_compound(name)).cloned());
            fields.values().for_each(|value| collect_fields(value, out));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_fields(value, out)),
        _ => {}
    }
}

/// `("Bash", ToolClass::Shell)`, and `const QUESTION: &str = "…"` in a file of tools.
fn tools_in(text: &str) -> Vec<String> {
    let has_table = text.contains("&[(&str, ToolClass)]");
    let named = |line: &str| {
        let line = line.trim_start();
        let is_entry = line.starts_with("(\"") && line.contains("\", ToolClass::");
        let is_name =
            line.contains("const ") && line.contains(": &str = \"") && !line.contains('\\');
        if !is_entry && !is_name {
            return None;
        }
        // A plain word in lower case is anyone's.
        let is_its = |name: &&str| name.contains(|c: char| c == '_' || c.is_ascii_uppercase());
        line.split('"').nth(1).filter(is_its).map(str::to_owned)
    };
    let lines = text.lines().filter(|_| has_table);
    lines.filter_map(named).collect()
}

/// The text without the tests at its end.
fn code(text: &str) -> &str {
    text.split("\nmod tests {").next().unwrap_or(text)
}

/// The files and folders of modules that only serve tests.
fn test_modules(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for file in files {
        let text = read(file)?;
        let folder = match file.file_name().and_then(|name| name.to_str()) {
            Some("mod.rs" | "lib.rs" | "main.rs") | None => {
                file.parent().unwrap_or(file).to_owned()
            }
            Some(_) => file.with_extension(""),
        };
        for after in text.split("#[cfg(test)]").skip(1) {
            let line = after.trim_start().lines().next().unwrap_or_default();
            if let Some(name) = line.rsplit("mod ").next().and_then(|it| it.strip_suffix(';')) {
                out.push(folder.join(format!("{name}.rs")));
                out.push(folder.join(name));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::workspace;

    #[test]
    fn the_clients_and_their_tools_are_read_off_their_folders() {
        let words = Words::of(workspace()).unwrap();
        for client in ["claude", "codex", "gemini"] {
            assert!(words.clients.iter().any(|name| name == client), "{client}");
        }
        for tool in ["Bash", "Edit", "Read", "AskUserQuestion", "TodoWrite"] {
            assert!(words.tools.iter().any(|name| name == tool), "{tool}: {:?}", words.tools);
        }
        for field in ["context_window_size", "tool_input", "activeForm"] {
            assert!(words.fields.contains(field), "{field}: {:?}", words.fields);
        }
        assert!(!words.fields.contains("session_id") && !words.fields.contains("model"));
    }

    #[test]
    fn a_client_or_tool_in_the_code_is_found_and_in_comments_and_tests_is_not() {
        let words = Words {
            clients: vec!["acorn".to_owned()],
            tools: vec!["Run".to_owned()],
            fields: BTreeSet::from(["tool_args".to_owned()]),
        };
        let found = words.named_in(
            "//! Acorn\n// \"Run\"\nlet x = \"ACORN_PID\";\nlet y = \"Run\";\nlet z = Runs;\nlet tool_args = v[\"tool_args\"];\n#[cfg(test)]\nmod tests {\n    \"acorn\"\n}\n",
        );
        assert_eq!(
            found,
            [
                "line 3 names the client `acorn`",
                "line 4 names the tool `Run` of a client",
                "line 6 names the field `tool_args` of a client"
            ]
        );
    }
}
