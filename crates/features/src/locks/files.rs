//! Which files an event is about, and which of them need a lease.
//!
//! An edit takes a file unless git ignores it or `locks.files` leaves it out. Only the ignore rules count: a tracked file
//! that matches one takes no lease, since reading the index at every edit would cost too much.

use substrate_core::facts::Place;
use substrate_core::{Cx, Event, EventKind, Need, Settings, ToolClass};

use super::shell::sweeps::{self, Sweep, SweepScope};
use super::{globs, mirror};

/// Files of one call that are looked at.
const MAX_FILES: usize = 64;

/// A file name that need not exist. Its working tree is that of its folder.
const ANY: &str = "-";

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let is_off = settings.word("locks.mode") == "off";
    // The mirror logs each of these events.
    if mirror::is_logged(event.kind) && settings.on("locks.mirror") {
        return vec![need(event, ANY)];
    }
    let Some(call) = event.tool().filter(|_| is_tool_event(event)) else { return Vec::new() };
    let mut out = Vec::new();
    match call.class {
        ToolClass::Edit if !is_off => {
            out.extend(call.files.iter().take(MAX_FILES).map(|file| need(event, file)));
        }
        ToolClass::Shell
            if event.kind == EventKind::PreToolUse
                && !is_off
                && settings.word("locks.git") != "off" =>
        {
            for swept in sweeps::sweeps(call.command.as_deref().unwrap_or_default()) {
                match &swept.scope {
                    SweepScope::Tree => out.push(need(event, &swept.inside(ANY))),
                    SweepScope::Paths(paths) => {
                        out.extend(paths.iter().map(|scope| need(event, &scope.path)));
                    }
                }
                out.extend(swept.made.iter().map(|made| need(event, made)));
            }
        }
        _ => {}
    }
    // The mirror logs every tool call.
    if settings.on("locks.mirror") {
        out.push(need(event, ANY));
    }
    out
}

fn is_tool_event(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::PreToolUse | EventKind::PostToolUse | EventKind::PostToolUseFailure
    )
}

pub(super) fn need(event: &Event, path: &str) -> Need {
    Need::Place { path: path.to_owned(), cwd: event.cwd.clone() }
}

/// Whether a file could not be looked up in time, so that it is unknown whether another actor holds it.
pub(super) fn is_unknown(cx: &Cx<'_>, event: &Event) -> bool {
    let call = event.tool().filter(|call| call.class == ToolClass::Edit);
    let mut files = call.into_iter().flat_map(|call| call.files.iter().take(MAX_FILES));
    files.any(|file| cx.facts.place(file, &event.cwd).is_none())
}

/// The files of an edit that need a lease, each once.
pub(super) fn leased(cx: &Cx<'_>, event: &Event) -> Vec<Place> {
    let mut out = named(cx, event);
    out.retain(|place| is_leased(cx.settings, place));
    out
}

/// The files of an edit that an actor may hold, each once. Files that need no lease may still be held by command.
pub(super) fn named(cx: &Cx<'_>, event: &Event) -> Vec<Place> {
    let mut out: Vec<Place> = Vec::new();
    let call = event.tool().filter(|call| call.class == ToolClass::Edit);
    let Some(call) = call.filter(|_| cx.settings.word("locks.mode") != "off") else { return out };
    for file in call.files.iter().take(MAX_FILES) {
        let Some(place) = cx.facts.place(file, &event.cwd) else { continue };
        let place = rooted(place, &event.project);
        let is_holdable = !place.root.is_empty() && !is_shared(&place.relative);
        if is_holdable && out.iter().all(|other| other.path != place.path) {
            out.push(place);
        }
    }
    out
}

/// Outside of git, the project's folder counts as the working tree.
pub(super) fn rooted(place: &Place, project: &str) -> Place {
    let relative = below(&place.path, project).filter(|_| place.root.is_empty());
    relative.map_or_else(
        || place.clone(),
        |relative| Place {
            root: project.to_owned(),
            relative: relative.to_owned(),
            ..place.clone()
        },
    )
}

/// The part of a path below a folder.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/').filter(|_| folder.starts_with('/'))
}

/// Several agents write sections of one file here. A refused agent could not write its section, and so not end its turn.
const SHARED: &str = substrate_core::seed::SCRATCHPADS;

/// Whether a file or glob is shared on purpose, so that it cannot be held.
pub(super) fn is_shared(relative: &str) -> bool {
    format!("/{relative}").contains(&format!("/{SHARED}/"))
}

/// Whether edits of a file need a lease.
pub(super) fn is_leased(settings: &Settings, place: &Place) -> bool {
    if place.root.is_empty() || place.is_ignored || is_shared(&place.relative) {
        return false;
    }
    let wanted = settings.texts("locks.files");
    wanted.is_empty() || globs::any_matches(wanted, &place.relative)
}

/// The working tree in which a command runs, unless the line itself creates it.
pub(super) fn root_of(cx: &Cx<'_>, event: &Event, swept: &Sweep) -> Option<String> {
    let root = root(cx, event, &swept.inside(ANY))?;
    let made = swept.made.as_ref().and_then(|made| cx.facts.place(made, &event.cwd));
    made.is_none_or(|made| below(&made.path, &root).is_none()).then_some(root)
}

/// Whether the event's working tree was looked up. If not, this asks for it.
pub(super) fn knows_here(cx: &Cx<'_>, event: &Event) -> bool {
    cx.look(need(event, ANY)).is_some()
}

/// The working tree of the event, or else the project's folder, if it was looked up.
pub(super) fn root_here(cx: &Cx<'_>, event: &Event) -> Option<String> {
    let place = rooted(cx.facts.place(ANY, &event.cwd)?, &event.project);
    (!place.root.is_empty()).then_some(place.root)
}

fn root(cx: &Cx<'_>, event: &Event, path: &str) -> Option<String> {
    let place = cx.facts.place(path, &event.cwd)?;
    (!place.root.is_empty()).then(|| place.root.clone())
}
