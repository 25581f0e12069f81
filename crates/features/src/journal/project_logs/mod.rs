//! A project's own session logs: files below `logs/sessions/`, for people and their tools.
//!
//! This module decides what is written and said. The host writes it after the commit (`Effect::SessionLog`). People's own
//! scripts get the same lines from `entry`, so there is one format.

pub mod entry;

#[cfg(test)]
mod tests;

use entry::{Entry, Step};
use substrate_core::facts::Room;
use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{
    Cx, Db, DbError, Detail, Effect, Event, EventKind, FeatureError, Need, Outcome, Part, Settings,
    Timestamp, Wish,
};

use crate::reminders;

pub(super) const ON: Key = Key {
    name: "journal.project_logs",
    kind: Kind::Bool,
    default: "false",
    about: "Write logs of every session and its subagents to `logs/sessions/` in the project, and tell the agents where. Only in a working tree, or in a folder with a `.substrate.toml` or `.substrate.local.toml`.",
    project: ProjectMay::TurnOn,
    profiles: &[("reminders", "true")],
};

pub const MAX_AGE: Key = Key {
    name: "journal.project_logs_max_age",
    kind: Kind::Span,
    default: "\"30d\"",
    about: "The client's maintenance (`--maintenance`) removes session logs that have not grown for this long; at least a day.",
    project: ProjectMay::Nothing,
    profiles: &[],
};

/// A file name that need not exist. Its working tree is that of the folder.
pub const ANY: &str = "-";

/// The part of an answer that reports the Setup.
const SETUP: &str = "setup";

const DAY_MS: i64 = 86_400_000;

/// How long logs are kept: at least a day, so that an open session never loses its own.
pub fn max_age_ms(settings: &Settings) -> i64 {
    settings.int(MAX_AGE.name).max(DAY_MS)
}

/// Looks up the working tree, if the client does not name its project, and whether logs can be written there.
pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if !is_logged(event, settings) {
        return Vec::new();
    }
    let place = Need::Place { path: ANY.to_owned(), cwd: event.cwd.clone() };
    let place = event.project_dir.is_none().then_some(place);
    let folders: &[&str] = match event.kind {
        EventKind::SessionStart => &FOLDERS,
        EventKind::SubagentStart => &FOLDERS[..1],
        _ => &[],
    };
    place.into_iter().chain(folders.iter().map(|folder| room(event, folder))).collect()
}

/// The log folder, and the memory folder that Setup makes.
const FOLDERS: [&str; 2] = ["logs/sessions", ".serena/memories"];

fn room(event: &Event, folder: &str) -> Need {
    let of_tree = event.project_dir.is_none();
    let dir = event.project_dir.as_ref().unwrap_or(&event.cwd).clone();
    Need::Room { dir, of_tree, below: folder.to_owned(), ours: true }
}

/// Tells where the logs are, if they can be written, and what could not be told at Setup, once it is true.
pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let is_start = matches!(event.kind, EventKind::SessionStart | EventKind::SubagentStart);
    if !is_start || !is_logged(event, cx.settings) {
        return Ok(Vec::new());
    }
    let [logs, memories] = FOLDERS.map(|folder| cx.facts.room(&room(event, folder)));
    if !matches!(logs, Some(Room::There | Room::CanBeMade)) {
        return Ok(Vec::new());
    }
    let mut text = entry::whereabouts(event).unwrap_or_default();
    let mut parts = Vec::new();
    if event.kind == EventKind::SessionStart && logs == Some(Room::There) {
        let root = root(cx, event);
        let is_true = |said: &String| memories == Some(Room::There) || !said.contains(FOLDERS[1]);
        if let Some(said) = setup_said(cx.db, &root)?.filter(is_true) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text = format!("{text}{gap}{said}");
            parts.push(Part { what: SETUP.into(), id: 0, end: text.len() });
        }
    }
    let wish = Wish::Context { text, more: None, parts };
    Ok(if wish.words().is_empty() { Vec::new() } else { vec![wish] })
}

/// Writes the lines once the verdict is known.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    // An event that had to wait was written when it arrived.
    if !is_logged(event, cx.settings) || event.waiting_since.is_some() {
        return Ok(());
    }
    let root = root(cx, event);
    if root.is_empty() {
        return Ok(());
    }
    match event.kind {
        EventKind::SessionStart => forget_setup(cx, &root, outcome)?,
        EventKind::Setup => set_up(cx, event, &root)?,
        EventKind::SubagentStart | EventKind::SubagentStop => {
            if let Some(session) = &event.session {
                note_agent(cx.db, session.as_str(), event.actor.key(), event.at)?;
            }
        }
        _ => {}
    }
    let n_agents = match (&event.session, event.kind) {
        (Some(session), EventKind::SessionEnd) => n_agents(cx.db, session.as_str())?,
        _ => 0,
    };
    let step = (event.kind == EventKind::SubagentStop).then(|| step(outcome));
    let scene = entry::Scene { root: &root, n_agents, step };
    let lines = [entry::record(event, event.kind, &scene), entry::timeline(event, &scene, "")];
    for Entry { path, line } in lines.into_iter().flatten() {
        cx.effects.push(Effect::SessionLog { root: root.clone(), path, line });
    }
    Ok(())
}

/// The step that a subagent has taken towards its end.
fn step(outcome: &Outcome) -> Step {
    if reminders::face::validates(outcome) {
        Step::Validation
    } else if reminders::face::reflects(outcome) {
        Step::Reflexion
    } else if outcome.verdict.block.is_some() {
        Step::Held
    } else {
        Step::End
    }
}

/// Forgets sessions that the journal no longer has.
pub(super) fn forget(db: &mut dyn Db, before: Timestamp) -> Result<(), DbError> {
    db.execute("delete from journal_agent where at_ms < $1", &[before.0.into()])?;
    db.execute("delete from journal_setup where at_ms < $1", &[before.0.into()])?;
    Ok(())
}

fn is_logged(event: &Event, settings: &Settings) -> bool {
    use EventKind as K;
    matches!(
        event.kind,
        K::SessionStart | K::SessionEnd | K::SubagentStart | K::SubagentStop | K::Stop | K::Setup
    ) && settings.on(ON.name)
        // A compaction fork has no start and no work of its own.
        && !event.actor.is_compaction_fork()
}

/// The folder that contains the logs: the client's project, or the working tree, or the current folder.
fn root(cx: &Cx<'_>, event: &Event) -> String {
    if let Some(dir) = &event.project_dir {
        return dir.clone();
    }
    let place = cx.facts.place(ANY, &event.cwd).filter(|place| !place.root.is_empty());
    place.map_or_else(|| event.cwd.clone(), |place| place.root.clone())
}

fn set_up(cx: &mut Cx<'_>, event: &Event, root: &str) -> Result<(), FeatureError> {
    let Detail::Because { word } = &event.detail else { return Ok(()) };
    let max_age_ms = max_age_ms(cx.settings);
    let Some(said) = entry::set_up(word, root, max_age_ms) else { return Ok(()) };
    cx.effects.push(match word.as_str() {
        "maintenance" => {
            Effect::RotateLogs { root: root.to_owned(), before: event.at.plus_ms(-max_age_ms) }
        }
        _ => Effect::ProjectFolders { root: root.to_owned() },
    });
    // The client delivers nothing at Setup, so the project's next session is told.
    keep_setup(cx.db, root, &said, event.at)?;
    Ok(())
}

/// Forgets what was kept from Setup, once an answer contains it.
fn forget_setup(cx: &mut Cx<'_>, root: &str, outcome: &Outcome) -> Result<(), FeatureError> {
    if outcome.told(super::FEATURE.name).any(|part| part.what == SETUP) {
        cx.db.execute("delete from journal_setup where root = $1", &[root.into()])?;
    }
    Ok(())
}

// The SQL of the session logs. No other code touches `journal_agent` and `journal_setup`.

/// Notes a subagent of the session.
fn note_agent(db: &mut dyn Db, session: &str, agent: &str, at: Timestamp) -> Result<(), DbError> {
    db.execute(
        "insert into journal_agent (session, agent, at_ms) values ($1, $2, $3)
         on conflict (session, agent) do nothing",
        &[session.into(), agent.into(), at.0.into()],
    )?;
    Ok(())
}

/// How many different subagents the session had.
fn n_agents(db: &mut dyn Db, session: &str) -> Result<i64, DbError> {
    let n = db.first(
        "select count(*) from journal_agent where session = $1",
        &[session.into()],
        |row| row.int(0),
    )?;
    Ok(n.unwrap_or(0))
}

/// Keeps a text for the project's next session.
fn keep_setup(db: &mut dyn Db, root: &str, said: &str, at: Timestamp) -> Result<(), DbError> {
    db.execute(
        "insert into journal_setup (root, said, at_ms) values ($1, $2, $3)
         on conflict (root) do update set said = excluded.said, at_ms = excluded.at_ms",
        &[root.into(), said.into(), at.0.into()],
    )?;
    Ok(())
}

fn setup_said(db: &mut dyn Db, root: &str) -> Result<Option<String>, DbError> {
    db.first("select said from journal_setup where root = $1", &[root.into()], |row| row.text(0))
}
