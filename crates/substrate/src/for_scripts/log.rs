//! Lines and folders of the session logs for scripts: the same as the daemon writes.

use substrate_core::{Detail, EventKind};
use substrate_features::journal::project_logs::entry::{self, Entry, Scene};
use substrate_features::journal::project_logs::max_age_ms;

use super::{ScriptInput, read_input};
use crate::config::{Env, Home, SettingsFiles};
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
    let Some(told) = read_input(named) else {
        ui::talk("substrate: nothing was logged: the hook's input is not a JSON object\n");
        return true;
    };
    if let Err(error) = done(&told, kind, words) {
        ui::talk(&format!(
            "substrate: `{}/{}` could not be written: {error}\n",
            told.root.trim_end_matches('/'),
            logs::LOGS
        ));
    }
    true
}

fn record(told: &ScriptInput, kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    append(told, entry::record(&told.event, kind, &scene(told, kind)))
}

fn timeline(told: &ScriptInput, _kind: EventKind, words: &[String]) -> std::io::Result<()> {
    let scene = scene(told, told.event.kind);
    append(told, entry::timeline(&told.event, &scene, &words.join(" ")))
}

fn ensure(told: &ScriptInput, kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    match entry::folder(&told.event, kind) {
        Some(folder) => logs::ensure(&told.root, &folder),
        None => Ok(()),
    }
}

fn set_up(told: &ScriptInput, _kind: EventKind, _words: &[String]) -> std::io::Result<()> {
    let Detail::Because { word } = &told.event.detail else { return Ok(()) };
    match word.as_str() {
        "init" => logs::make_folders(&told.root),
        "maintenance" => {
            let before = told.event.at.plus_ms(-max_age(told));
            logs::rotate(&told.root, before).map(drop)
        }
        _ => Ok(()),
    }
}

/// From the settings, or the default if there is no home to have settings in.
fn max_age(told: &ScriptInput) -> i64 {
    let user = Home::find(&Env::of_this_process()).map(|home| home.config()).unwrap_or_default();
    max_age_ms(&SettingsFiles::new(user).at(told.root.as_ref()))
}

fn append(told: &ScriptInput, entry: Option<Entry>) -> std::io::Result<()> {
    match entry {
        Some(Entry { path, line }) => logs::append(&told.root, &path, &line),
        None => Ok(()),
    }
}

fn scene(told: &ScriptInput, kind: EventKind) -> Scene<'_> {
    let session = told.event.session.as_ref().filter(|_| kind == EventKind::SessionEnd);
    let n_agents = session.map_or(0, |session| logs::n_agents(&told.root, session.as_str()));
    Scene { root: &told.root, n_agents, step: None }
}
