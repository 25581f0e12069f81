//! `substrate hook-fields` and `substrate session-log`, for the shell library `hook-utils.sh`.
//!
//! They read the payload of a hook on stdin. Invariant: they need no daemon, no database and no state home, start
//! nothing, and exit with 0 whatever the payload is. A user's own hook must not fail because of us.

mod fields;
mod log;

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use substrate_clients::{DEFAULT, Input};
use substrate_core::{Actor, Event, EventKind};
use substrate_features::journal::project_logs::{ANY, entry};

use crate::config::Env;
use crate::effects::logs;
use crate::{clock, gather, ui};

/// The longest payload.
const MAX_INPUT: u64 = 64 << 20;

/// The decoder's placeholder for an unknown subagent type.
const NO_TYPE: &str = "unknown";

pub(crate) const COMMANDS: [&str; 2] = ["hook-fields", "session-log"];

pub(crate) fn main(command: &str, args: &[String]) -> ExitCode {
    let word = args.first().map_or("", String::as_str);
    let done = match command {
        "hook-fields" => fields::print(word),
        _ => log::write(word, args.get(1..).unwrap_or_default()),
    };
    if done {
        return ExitCode::SUCCESS;
    }
    ui::talk(&format!(
        "error: `substrate {command}` does not know `{word}`\nhint: it is made for `hooks/scripts/lib/hook-utils.sh`; `substrate hooks install --scripts` writes a version that fits\n"
    ));
    ExitCode::from(2)
}

/// A payload, and its project.
struct ScriptInput {
    event: Event,
    root: String,
    raw: Vec<u8>,
    /// The subagent's recorded start, for what the payload does not say.
    started: Option<serde_json::Value>,
}

/// Reads stdin. `named` is the event if the payload names none. `None`: stdin is not a payload.
fn read_input(named: &str) -> Option<ScriptInput> {
    let mut raw = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_end(&mut raw).ok()?;
    let cwd = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
    let env = Env::of_this_process();
    let vars: Vec<_> = [DEFAULT.variables.project, DEFAULT.variables.session]
        .into_iter()
        .flatten()
        .filter_map(|name| Some((*name, env.text(name)?)))
        .collect();
    let input =
        Input { event: named, stdin: &raw, cwd: &cwd, env: &vars, at: clock::now(), waits: false };
    let mut event = (DEFAULT.decode)(&input).ok()?;
    let root = root(&event);
    let started = started(&event, &root);
    if let (Actor::Subagent { kind, .. }, Some(started)) = (&mut event.actor, &started)
        && kind == NO_TYPE
        && let Some(known) = started["agent_type"].as_str()
    {
        known.clone_into(kind);
    }
    Some(ScriptInput { event, root, raw, started })
}

/// The same project as in the journal: the client's own, the working tree, or the folder itself.
fn root(event: &Event) -> String {
    let place = || Some(gather::place(ANY, &event.cwd).root).filter(|root| !root.is_empty());
    event.project_dir.clone().or_else(place).unwrap_or_else(|| event.cwd.clone())
}

/// The latest start of the event's subagent.
fn started(event: &Event, root: &str) -> Option<serde_json::Value> {
    if event.kind == EventKind::SubagentStart || !Path::new(root).is_absolute() {
        return None;
    }
    let line = logs::last_line(root, &entry::agent_start(event)?)?;
    serde_json::from_str(&line).ok()
}

/// A subagent's type, or empty if unknown.
fn type_of(event: &Event) -> String {
    entry::plain(event.actor.kind().filter(|kind| *kind != NO_TYPE).unwrap_or_default())
}
