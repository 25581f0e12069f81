//! When directions are looked for, which ones are told, and which count as known.

use std::fmt::Write as _;

use substrate_core::redact::redacted;
use substrate_core::text::{cut, one_line, quoted};
use substrate_core::{
    Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Outcome, Part, SafeId, Settings,
    ToolClass, Wish,
};

use super::NAME;
use crate::efforts;

/// How many are told at once. The rest come with the next file.
const MAX_TOLD: usize = 8;

/// How many of a call's files count.
const MAX_TOUCHED: usize = 4;

/// The bytes of one file, and of all together. The agent can read the rest itself.
const MAX_FILE: usize = 8 << 10;
const MAX_ALL: usize = 5_000;

/// How long told directions are remembered.
const KEPT_MS: i64 = 90 * 86_400_000;

/// The file with directions that most clients know.
const SHARED: &str = "AGENTS.md";

/// The actor that stands for the client, which loads files itself.
const CLIENT: &str = "(client)";

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if !settings.on("directives.on") {
        return Vec::new();
    }
    touched(event).map(|file| need(event, file)).collect()
}

/// Only directions that the actor does not know are read.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.on("directives.on") && (touched(event).next().is_some() || inherits(event, settings))
}

/// A subagent begins, and its effort may have met directions.
fn inherits(event: &Event, settings: &Settings) -> bool {
    event.kind == EventKind::SubagentStart && settings.on("efforts.on")
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !cx.settings.on("directives.on") || cx.who.is_none() {
        return Ok(Vec::new());
    }
    let paths = match inherits(event, cx.settings) {
        true => inherited(cx, event)?,
        false => news(cx, event)?.0,
    };
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let heading = match touched(event).next() {
        Some(file) => {
            let file = one_line(file, 200);
            format!("Directions of the project for `{file}` and the files beside it:")
        }
        None => "Directions of the project that your effort has met:".to_owned(),
    };
    Ok(vec![told(cx, heading, paths)])
}

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(session) = event.session.as_ref().map(SafeId::as_str) else { return Ok(()) };
    if !cx.settings.on("directives.on") {
        return Ok(());
    }
    match (event.kind, &event.detail) {
        (EventKind::InstructionsLoaded, Detail::Path { path, .. }) => {
            super::learnt(cx.db, session, CLIENT, cut(path, 1_000), cx.now)?;
        }
        (EventKind::PostToolUse | EventKind::SubagentStart, _) => {
            let own = if own(event).is_empty() { Vec::new() } else { news(cx, event)?.1 };
            let mut learnt = outcome
                .told(NAME)
                .map(|part| &*part.what)
                .chain(own.iter().map(|path| &**path))
                .peekable();
            if learnt.peek().is_none() {
                return Ok(());
            }
            let scope = scope(cx, session)?;
            for path in learnt {
                super::learnt(cx.db, &scope, event.actor.key(), path, cx.now)?;
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    super::TOLD.tick(cx, KEPT_MS)
}

/// The files that a call read or edited. Searches name folders, and don't tell what will be touched.
fn touched(event: &Event) -> impl Iterator<Item = &String> {
    let call = event.tool().filter(|call| {
        event.kind == EventKind::PostToolUse
            && matches!(call.class, ToolClass::Edit | ToolClass::Read)
            && !call.is_search
    });
    call.into_iter().flat_map(|call| call.files.iter().take(MAX_TOUCHED))
}

fn need(event: &Event, file: &str) -> Need {
    Need::Directives {
        file: file.to_owned(),
        cwd: event.cwd.clone(),
        project: event.project_dir.clone(),
    }
}

/// Directions that the actor has just read or written itself, as it named them.
fn own(event: &Event) -> Vec<&String> {
    let is_one = |file: &&String| {
        name(file) == SHARED
            || event.dialect.own_directions.contains(&name(file))
            || file.contains("/.directives/")
    };
    touched(event).filter(is_one).collect()
}

/// The directions along the touched files that are new to the actor: those to tell, and those it has just seen itself.
fn news(cx: &mut Cx<'_>, event: &Event) -> Result<(Vec<String>, Vec<String>), DbError> {
    let mut found: Vec<String> = Vec::new();
    for file in touched(event) {
        for path in cx.facts.names(&need(event, file)).unwrap_or_default() {
            if !found.contains(path) && !loads_itself(event, path) {
                found.push(path.clone());
            }
        }
    }
    let Some(session) = event.session.as_ref().filter(|_| !found.is_empty()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let scope = scope(cx, session.as_str())?;
    let found = unknown(cx, event, session, &scope, found)?;
    let seen: Vec<String> = own(event).into_iter().map(|file| absolute(event, file)).collect();
    let is_own = |path: &String| seen.contains(path);
    let (new, own): (Vec<String>, Vec<String>) = found.into_iter().partition(|path| !is_own(path));
    Ok((first(new), own))
}

/// What the effort of a new subagent has met: what its main thread knows.
fn inherited(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<String>, DbError> {
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    let Some(effort) = efforts::face::of_session(cx.db, session.as_str())? else {
        return Ok(Vec::new());
    };
    let met = super::face::told(cx.db, effort.id)?;
    Ok(first(unknown(cx, event, session, &super::scope(effort.id), met)?))
}

/// Drops the directions that the actor knows or the client has loaded.
fn unknown(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    scope: &str,
    mut found: Vec<String>,
) -> Result<Vec<String>, DbError> {
    for (scope, actor) in [(scope, event.actor.key()), (session.as_str(), CLIENT)] {
        if !found.is_empty() {
            let known = super::known(cx.db, scope, actor)?;
            found.retain(|path| !known.contains(path));
        }
    }
    Ok(found)
}

/// The directions that are told now. `AGENTS.md` and its like come first.
fn first(mut paths: Vec<String>) -> Vec<String> {
    if paths.len() > MAX_TOLD {
        paths.sort_by_key(|path| path.contains("/.directives/"));
        paths.truncate(MAX_TOLD);
    }
    paths
}

fn absolute(event: &Event, file: &str) -> String {
    if file.starts_with('/') {
        return file.to_owned();
    }
    format!("{}/{}", event.cwd.trim_end_matches('/'), file.trim_start_matches("./"))
}

/// The session's effort, or else the session. An effort is told once, however many sessions it takes.
fn scope(cx: &mut Cx<'_>, session: &str) -> Result<String, DbError> {
    if !cx.settings.on("efforts.on") {
        return Ok(session.to_owned());
    }
    let effort = efforts::face::of_session(cx.db, session)?;
    Ok(effort.map_or_else(|| session.to_owned(), |effort| super::scope(effort.id)))
}

/// Whether the client loads such a file by itself, in every folder.
fn loads_itself(event: &Event, path: &str) -> bool {
    event.dialect.own_directions.contains(&name(path))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The wish that tells the directions, each as a part of its own.
fn told(cx: &Cx<'_>, heading: String, paths: Vec<String>) -> Wish {
    let mut out = heading;
    let mut parts = Vec::with_capacity(paths.len());
    for path in paths {
        let _infallible = write!(out, "\nFrom `{}`:", one_line(&path, 300));
        let text = cx.real_file(&path, MAX_FILE).filter(|text| !text.trim().is_empty());
        match text {
            Some(text) => quote(&mut out, &redacted(text, MAX_FILE, false)),
            None => out.push_str(" (empty or unreadable)"),
        }
        parts.push(Part { what: path.into(), id: 0, end: out.len() });
    }
    Wish::Context { text: out, more: None, parts }
}

/// Appends as much of a file as fits.
fn quote(out: &mut String, text: &str) {
    let kept = cut(text.trim(), MAX_ALL.saturating_sub(out.len()));
    out.push_str(&quoted(kept));
    if kept.len() < text.trim().len() {
        out.push_str("\n(cut: read the file for the rest)");
    }
}
