//! Lines and folders of the session logs for scripts: the same as the daemon writes.

use substrate_core::{Detail, EventKind};
use substrate_features::journal::project_logs::entry::{self, Entry, Scene};
use substrate_features::journal::project_logs::max_age_ms;

use super::{ScriptInput, read_input};
use crate::config::{Env, Home, settings_at};
use crate::effects::logs;
use crate::ui;

type Deed = fn(&ScriptInput, EventKind, &[String]) -> std::io::Result<()>;

/// Does it, and reports failures on stderr. `false`: the subcommand does not exist.
pub(super) fn write(what: &str, words: &[String]) -> bool {
    let (kind, done): (EventKind, Deed) = match what {
        "session-start" => (EventKind::SessionStart, record),
        "session-end" => (EventKind::SessionEnd, record),
        "agent-start" => (EventKind::SubagentStart, record),
        "agent-stop" => (EventKind::SubagentStop, record),
        "ensure-session" => (EventKind::SessionStart, ensure),
        "ensure-agent" => (EventKind::SubagentStart, ensure),
        "setup" => (EventKind::Setup, set_up),
        "event" => (EventKind::Unknown, timeline),
        _ => return false,
    };
    let named = if kind == EventKind::Unknown { "" } else { kind.name() };
    let Some(input) = read_input(named) else {
        ui::talk("substrate: nothing was logged: the hook's input is not a JSON object\n");
        return true;
    };
    if let Err(error) = done(&input, kind, words) {
        ui::talk(&format!(
            "substrate: `{}/{}` could not be written: {error}\n",
            input.root.trim_end_matches('/'),
            logs::LOGS
        ));
    }
    true
}

fn record(input: &ScriptInput, kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    append(input, entry::record(&input.event, kind, &scene(input, kind)))
}

fn timeline(input: &ScriptInput, _kind: EventKind, words: &[String]) -> std::io::Result<()> {
    let scene = scene(input, input.event.kind);
    append(input, entry::timeline(&input.event, &scene, &words.join(" ")))
}

fn ensure(input: &ScriptInput, kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    match entry::folder(&input.event, kind) {
        Some(folder) => logs::ensure(&input.root, &folder),
        None => Ok(()),
    }
}

fn set_up(input: &ScriptInput, _kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    let Detail::Because { word } = &input.event.detail else { return Ok(()) };
    match word.as_str() {
        "init" => logs::make_folders(&input.root),
        "maintenance" => {
            let before = input.event.at.plus_ms(-max_age(input));
            logs::rotate(&input.root, before).map(drop)
        }
        _ => Ok(()),
    }
}

/// From the settings, or the default if there is no home to have settings in.
fn max_age(input: &ScriptInput) -> i64 {
    let user = Home::find(&Env::of_this_process()).map(|home| home.config()).unwrap_or_default();
    max_age_ms(&settings_at(&user, input.root.as_ref()))
}

fn append(input: &ScriptInput, entry: Option<Entry>) -> std::io::Result<()> {
    match entry {
        Some(Entry { path, line }) => logs::append(&input.root, &path, &line),
        None => Ok(()),
    }
}

fn scene(input: &ScriptInput, kind: EventKind) -> Scene<'_> {
    let session = input.event.session.as_ref().filter(|_| kind == EventKind::SessionEnd);
    let n_agents = session.map_or(0, |session| logs::n_agents(&input.root, session.as_str()));
    Scene { root: &input.root, n_agents, step: None }
}
