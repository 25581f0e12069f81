//! The payload as assignments that a POSIX shell can `eval`.
//!
//! Ids are safe in paths, words are one line without tags, and paths are unchanged. Everything is quoted.

use std::fmt::Write as _;

use serde::Deserialize;
use substrate_core::{Actor, Detail, Event, EventKind, StartSource};
use substrate_features::journal::project_logs::entry;

use super::{ScriptInput, read_input, type_of};
use crate::effects::logs::LOGS;
use crate::ui;

const COMMON: &[&str] = &[
    "HOOK_EVENT",
    "SESSION_ID",
    "TRANSCRIPT_PATH",
    "CWD",
    "PERMISSION_MODE",
    "PROJECT_NAME",
    "SESSION_LOG_DIR",
];
const SETUP: &[&str] = &["TRIGGER"];
const SESSION_START: &[&str] = &["SOURCE", "MODEL", "AGENT_TYPE"];
const SUBAGENT_START: &[&str] = &["AGENT_ID", "AGENT_TYPE", "AGENT_LOG_DIR"];
const SUBAGENT_STOP: &[&str] =
    &["AGENT_ID", "AGENT_TYPE", "AGENT_LOG_DIR", "AGENT_TRANSCRIPT_PATH", "STOP_HOOK_ACTIVE"];
const STOP: &[&str] = &["STOP_HOOK_ACTIVE"];
const SESSION_END: &[&str] = &["REASON"];
const STARTED: &[&str] = &["AGENT_TYPE", "AGENT_START_TIME"];

/// Prints one group of variables, or all. `false`: the group does not exist.
pub(super) fn print(group: &str) -> bool {
    let (names, event): (&[&str], &str) = match group {
        "all" | "" => (&[], ""),
        "common" => (COMMON, ""),
        "setup" => (SETUP, "Setup"),
        "session-start" => (SESSION_START, "SessionStart"),
        "subagent-start" => (SUBAGENT_START, "SubagentStart"),
        "subagent-stop" => (SUBAGENT_STOP, "SubagentStop"),
        "stop" => (STOP, "Stop"),
        "session-end" => (SESSION_END, "SessionEnd"),
        "agent-started" => (STARTED, "SubagentStop"),
        _ => return false,
    };
    let all =
        [COMMON, SETUP, SESSION_START, SUBAGENT_START, SUBAGENT_STOP, STOP, SESSION_END, STARTED];
    let mut names: Vec<&str> = if names.is_empty() { all.concat() } else { names.to_vec() };
    names.sort_unstable();
    names.dedup();
    let input = read_input(event);
    let mut out = String::new();
    for name in names {
        let value = input.as_ref().map(|input| value(input, name)).unwrap_or_default();
        let _infallible = writeln!(out, "{name}={}", quoted(&value));
    }
    ui::data(&out);
    true
}

fn value(input: &ScriptInput, name: &str) -> String {
    let ScriptInput { event, root, .. } = input;
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let word = |text: Option<&str>| entry::plain(text.unwrap_or_default());
    let folder = |kind| {
        entry::folder(event, kind).map_or_else(String::new, |folder| {
            format!("{}/{LOGS}/{folder}", root.trim_end_matches('/'))
        })
    };
    match name {
        "HOOK_EVENT" => entry::plain(&event.name),
        "SESSION_ID" => event.session.as_ref().map(ToString::to_string).unwrap_or_default(),
        "TRANSCRIPT_PATH" => text(event.transcript.as_deref()),
        "CWD" => event.cwd.clone(),
        "PERMISSION_MODE" => word(event.permission_mode.as_deref()),
        "PROJECT_NAME" => entry::project(root),
        "SESSION_LOG_DIR" => folder(EventKind::SessionStart),
        "AGENT_LOG_DIR" => folder(EventKind::SubagentStart),
        "AGENT_ID" => match &event.actor {
            Actor::Subagent { id, .. } => id.to_string(),
            Actor::Main { .. } => String::new(),
        },
        "AGENT_TYPE" => type_of(event),
        "AGENT_START_TIME" => {
            word(input.started.as_ref().and_then(|started| started["timestamp"].as_str()))
        }
        _ => particular(input, name),
    }
}

/// Fields that only some events have.
fn particular(input: &ScriptInput, name: &str) -> String {
    let Event { kind, detail, .. } = &input.event;
    match (name, detail) {
        ("SOURCE", Detail::SessionStart { source: StartSource::Other, .. }) => {
            entry::plain(&new_source(&input.raw))
        }
        ("SOURCE", Detail::SessionStart { source, .. }) => source.name().to_owned(),
        ("MODEL", Detail::SessionStart { model, .. }) => {
            entry::plain(model.as_deref().unwrap_or_default())
        }
        ("STOP_HOOK_ACTIVE", Detail::Stop { again, .. }) => again.to_string(),
        ("AGENT_TRANSCRIPT_PATH", Detail::Stop { transcript, .. }) => {
            transcript.clone().unwrap_or_default()
        }
        ("TRIGGER", Detail::Because { word }) if *kind == EventKind::Setup => entry::plain(word),
        ("REASON", Detail::Because { word }) if *kind == EventKind::SessionEnd => {
            entry::plain(word)
        }
        _ => String::new(),
    }
}

/// A source that is new to us, in the client's own word.
fn new_source(raw: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Payload {
        source: Option<String>,
    }
    let payload: Option<Payload> = serde_json::from_slice(raw).ok();
    payload.and_then(|payload| payload.source).unwrap_or_default()
}

/// Quotes one shell word, whatever it contains. A variable can't hold a NUL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;
    use crate::proc;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for text in [
            "",
            "plain",
            "it's",
            "$(touch x) `y` \"z\"",
            "two\nlines",
            "'; rm -rf / #",
            "\\",
            "a\0b",
            "🦀",
        ] {
            for shell in ["sh", "bash", "dash"] {
                let Ok(out) = proc::command(shell, &Env::of_this_process())
                    .args(["-c", &format!("A={}; printf '%s|' \"$A\"", quoted(text))])
                    .output()
                else {
                    continue;
                };
                let expected = format!("{}|", text.replace('\0', ""));
                assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{shell}");
            }
        }
    }
}
