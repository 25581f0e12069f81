//! Names that change while Substrate runs: agents, efforts, messages, work, topics.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_core::Caller;

use super::Candidate;
use crate::cli::call::Line;
use crate::cli::dispatch::request;
use crate::cli::{Context, audience, table};
use crate::config::{Env, Home};

/// A person who pressed Tab waits for this long at the most.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where names come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Agents,
    Efforts,
    Messages,
    Work,
    Topics,
    Requests,
    Settings,
}

/// The arguments that take such names: the command's own path, and the argument's id.
pub(super) const SOURCES: &[(&[&str], &str, Source)] = &[
    (&["send"], "name", Source::Agents),
    (&["send"], "to", Source::Agents),
    (&["send"], "thread", Source::Messages),
    (&["agent", "show"], "name", Source::Agents),
    (&["agent", "delete"], "name", Source::Agents),
    (&["fleet", "check"], "names", Source::Agents),
    (&["fleet", "lanes"], "name", Source::Agents),
    (&["fleet", "story"], "name", Source::Agents),
    (&["read"], "id", Source::Messages),
    (&["reply"], "id", Source::Messages),
    (&["thread"], "id", Source::Messages),
    (&["status"], "id", Source::Messages),
    (&["star"], "id", Source::Messages),
    (&["snooze"], "id", Source::Messages),
    (&["ack"], "ids", Source::Messages),
    (&["archive"], "ids", Source::Messages),
    (&["trash"], "ids", Source::Messages),
    (&["publish"], "topic", Source::Topics),
    (&["subscribe"], "topic", Source::Topics),
    (&["unsubscribe"], "topic", Source::Topics),
    (&["effort", "show"], "id", Source::Efforts),
    (&["effort", "resume"], "id", Source::Efforts),
    (&["effort", "finish"], "id", Source::Efforts),
    (&["effort", "log"], "effort", Source::Efforts),
    (&["effort", "phase"], "effort", Source::Efforts),
    (&["effort", "inject"], "effort", Source::Efforts),
    (&["effort", "preload"], "effort", Source::Efforts),
    (&["effort", "dehydrate"], "effort", Source::Efforts),
    (&["work", "show"], "id", Source::Work),
    (&["work", "claim"], "id", Source::Work),
    (&["work", "done"], "id", Source::Work),
    (&["work", "release"], "id", Source::Work),
    (&["answer"], "id", Source::Requests),
    (&["config", "get"], "key", Source::Settings),
    (&["config", "set"], "key", Source::Settings),
];

pub(super) fn source(path: &[&str], arg: &str) -> Option<Source> {
    if arg == "agent" {
        return Some(Source::Agents);
    }
    let found = SOURCES.iter().find(|(of, name, _)| *of == path && *name == arg);
    found.map(|(.., source)| *source)
}

/// The names for an argument of a command, as of now.
pub(super) fn names(path: &[&str], arg: &str) -> Vec<Candidate> {
    let Some(source) = source(path, arg) else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    // Which verb knows them, under which name its rows are, and which fields are shown.
    let (verb, rows, name, about): (&[&str], &str, &str, &[&str]) = match source {
        Source::Agents => (&["agent", "list"], "", "name", &["status", "project"]),
        Source::Efforts => (&["effort", "list"], "efforts", "id", &["skill", "phase", "agent"]),
        Source::Messages => (&["mail", "list"], "messages", "id", &["from", "subject"]),
        Source::Work => (&["work", "list"], "work", "id", &["state", "title"]),
        Source::Topics => (&["topic", "list"], "", "name", &["about"]),
        Source::Requests => (&["answer"], "requests", "id", &["agent", "tool"]),
        Source::Settings => return settings(),
    };
    let Some(found) = asked(verb) else { return Vec::new() };
    let list = if rows.is_empty() { &found } else { &found[rows] };
    let of_row = |row: &Value| {
        let words: Vec<String> = about.iter().map(|field| text(&row[*field])).collect();
        Candidate::new(&text(&row[name]), words.join("  ").trim())
    };
    let mut out: Vec<Candidate> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(of_row)
        .filter(|one| !one.text.is_empty())
        .collect();
    if source == Source::Agents {
        out.push(Candidate::new("User", "the person"));
    }
    out
}

fn settings() -> Vec<Candidate> {
    let mut keys = substrate_features::keys();
    keys.sort_by_key(|key| key.name);
    keys.iter().map(|key| Candidate::new(key.name, key.about)).collect()
}

/// Asks a daemon that runs.
fn asked(path: &[&str]) -> Option<Value> {
    let verb = table::verbs().find(|verb| verb.path == path)?;
    let env = Env::of_this_process();
    let home = Home::find(&env).ok()?;
    let cwd = std::env::current_dir().ok()?.display().to_string();
    let inside_client = audience::says_inside(&env);
    let caller = Caller { cwd, inside_client, request: request(), ..Caller::default() };
    let format = substrate_core::Format::Json;
    let context = Context { env, home, caller, format, verbose: false };
    let answered = Line::of_running(&context, verb).within(PATIENCE).call(json!({}), &request());
    Some(answered.ok()?.json)
}
