//! When directions are looked for, which of them are told, and what counts as known.

use std::fmt::Write as _;

use substrate_core::redact::redacted;
use substrate_core::text::{cut, one_line, quoted};
use substrate_core::{
    Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Outcome, Part, SafeId, Settings,
    ToolClass, Wish,
};

use super::{NAME, ops};
use crate::efforts;

/// How many are told at once; the next ones with the next file.
const MAX_TOLD: usize = 8;

/// How many files of a call are looked at.
const MAX_TOUCHED: usize = 4;

/// Bytes of a file, and of all together; the rest is there to be read.
const MAX_FILE: usize = 8 << 10;
const MAX_ALL: usize = 5_000;

/// How long it is remembered what was told.
const KEPT_MS: i64 = 90 * 86_400_000;

/// Rows removed in one go.
const STEP: i64 = 200;

/// The file with directions that most clients know.
const SHARED: &str = "AGENTS.md";

/// The actor under which it is noted what the client itself has loaded.
const CLIENT: &str = "(client)";

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if !settings.on("directives.on") {
        return Vec::new();
    }
    touched(event).map(|file| need(event, file)).collect()
}

/// Only directions that the actor does not know are read.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.on("directives.on") && touched(event).next().is_some()
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !cx.settings.on("directives.on") || cx.who.is_none() {
        return Ok(Vec::new());
    }
    let (new, _) = news(cx, event)?;
    Ok(told(cx, event, new).into_iter().collect())
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
            ops::learnt(cx.db, session, CLIENT, cut(path, 1_000), cx.now)?;
        }
        // Whoever begins anew knows nothing; what the client loads then, it says again.
        (EventKind::PostToolUse, _) => {
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
                ops::learnt(cx.db, &scope, event.actor.key(), path, cx.now)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let n = ops::forget_older(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(usize::try_from(STEP).is_ok_and(|step| n == step))
}

/// The files that a call has read or edited. Searches name folders, and say nothing about what is going to be touched.
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

/// Directions that the actor itself has just read or written, as it named them.
fn own(event: &Event) -> Vec<&String> {
    let is_one = |file: &&String| {
        name(file) == SHARED
            || event.dialect.own_directions.contains(&name(file))
            || file.contains("/.directives/")
    };
    touched(event).filter(is_one).collect()
}

/// The directions along the touched files that the actor does not know: those to tell, and those that it has just seen.
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
    let known = ops::known(cx.db, &scope, event.actor.key())?;
    found.retain(|path| !known.contains(path));
    if found.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let loaded = ops::known(cx.db, session.as_str(), CLIENT)?;
    found.retain(|path| !loaded.contains(path));
    let seen: Vec<String> = own(event).into_iter().map(|file| absolute(event, file)).collect();
    let is_own = |path: &String| seen.contains(path);
    let (mut new, own): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|path| !is_own(path));
    if new.len() > MAX_TOLD {
        // Those with the names that everybody knows come before the rest.
        new.sort_by_key(|path| path.contains("/.directives/"));
        new.truncate(MAX_TOLD);
    }
    Ok((new, own))
}

fn absolute(event: &Event, file: &str) -> String {
    if file.starts_with('/') {
        return file.to_owned();
    }
    format!("{}/{}", event.cwd.trim_end_matches('/'), file.trim_start_matches("./"))
}

/// The effort that the session works on, or else the session: an effort is told once, however many sessions it takes.
fn scope(cx: &mut Cx<'_>, session: &str) -> Result<String, DbError> {
    if !cx.settings.on("efforts.on") {
        return Ok(session.to_owned());
    }
    let effort = efforts::face::of_session(cx.db, session)?;
    Ok(effort.map_or_else(|| session.to_owned(), |effort| super::scope(effort.id)))
}

/// What a client reads by itself, wherever it is: that is never told twice.
fn loads_itself(event: &Event, path: &str) -> bool {
    event.dialect.own_directions.contains(&name(path))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The directions, each a part of its own.
fn told(cx: &Cx<'_>, event: &Event, paths: Vec<String>) -> Option<Wish> {
    if paths.is_empty() {
        return None;
    }
    let touched = touched(event).next().map(|file| one_line(file, 200)).unwrap_or_default();
    let mut out = format!("Directions of the project for `{touched}` and what lies beside it:");
    let mut parts = Vec::with_capacity(paths.len());
    for path in paths {
        let _infallible = write!(out, "\nFrom `{}`:", one_line(&path, 300));
        let text = cx.real_file(&path, MAX_FILE).filter(|text| !text.trim().is_empty());
        match text {
            Some(text) => quote(&mut out, &redacted(text, MAX_FILE, false)),
            None => out.push_str(" (nothing that can be read)"),
        }
        parts.push(Part { what: path.into(), id: 0, end: out.len() });
    }
    Some(Wish::Context { text: out, more: None, parts })
}

/// As much of a file as there is room for.
fn quote(out: &mut String, text: &str) {
    let kept = cut(text.trim(), MAX_ALL.saturating_sub(out.len()));
    out.push_str(&quoted(kept));
    if kept.len() < text.trim().len() {
        out.push_str("\n(cut: read the file for the rest)");
    }
}
