//! Which files an event is about, and which of them are leased at all.

use substrate_core::facts::Place;
use substrate_core::{Cx, Event, EventKind, Need, Settings, ToolClass};

use super::sweep::{self, Takes};
use super::{globs, mirror};

/// More files than this no call names.
const MAX_FILES: usize = 64;

/// The name of a file that need not be there: its working tree is that of the folder.
const ANY: &str = "-";

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let is_off = settings.word("locks.mode") == "off";
    // The log of the mirror has a line for each.
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
            for swept in sweep::sweeps(call.command.as_deref().unwrap_or_default()) {
                match &swept.takes {
                    Takes::Tree => out.push(need(event, &swept.inside(ANY))),
                    Takes::These(these) => {
                        out.extend(these.iter().map(|taken| need(event, &taken.path)));
                    }
                }
                out.extend(swept.made.iter().map(|made| need(event, made)));
            }
        }
        _ => {}
    }
    // The log of the mirror has a line for every tool.
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

/// Whether a file could not be looked up in time, so that nobody knows whether it is held.
pub(super) fn is_unknown(cx: &Cx<'_>, event: &Event) -> bool {
    let call = event.tool().filter(|call| call.class == ToolClass::Edit);
    let mut files = call.into_iter().flat_map(|call| call.files.iter().take(MAX_FILES));
    files.any(|file| cx.facts.place(file, &event.cwd).is_none())
}

/// The files of an edit that are leased, each once.
pub(super) fn leased(cx: &Cx<'_>, event: &Event) -> Vec<Place> {
    let mut out = named(cx, event);
    out.retain(|place| is_leased(cx.settings, place));
    out
}

/// The files of an edit that somebody may hold, each once. Those that are not leased may have been taken by command.
pub(super) fn named(cx: &Cx<'_>, event: &Event) -> Vec<Place> {
    let mut out: Vec<Place> = Vec::new();
    let call = event.tool().filter(|call| call.class == ToolClass::Edit);
    let Some(call) = call.filter(|_| cx.settings.word("locks.mode") != "off") else { return out };
    for file in call.files.iter().take(MAX_FILES) {
        let Some(place) = cx.facts.place(file, &event.cwd) else { continue };
        let place = rooted(place, &event.project);
        let is_held = !place.root.is_empty() && !is_shared(&place.relative);
        if is_held && out.iter().all(|other| other.path != place.path) {
            out.push(place);
        }
    }
    out
}

/// Where there is no working tree of git, the folder of the project stands for it.
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

/// The part of a path that is below the folder of a project.
pub(super) fn below<'a>(path: &'a str, project: &str) -> Option<&'a str> {
    path.strip_prefix(project)?.strip_prefix('/').filter(|_| project.starts_with('/'))
}

/// Where several write into one file, each a section of its own, and whoever could not write would be held for it.
const SHARED: &str = substrate_core::seed::SCRATCHPADS;

/// Whether a file, or glob, is nobody's on purpose.
pub(super) fn is_shared(relative: &str) -> bool {
    format!("/{relative}").contains(&format!("/{SHARED}/"))
}

/// Whether a file is one of those that are leased.
pub(super) fn is_leased(settings: &Settings, place: &Place) -> bool {
    if place.root.is_empty() || place.is_ignored || is_shared(&place.relative) {
        return false;
    }
    let wanted = settings.texts("locks.files");
    wanted.is_empty() || globs::any_matches(wanted, &place.relative)
}

/// The working tree in which a command runs, where that was looked up, and is not made by the line itself.
pub(super) fn root_of(cx: &Cx<'_>, event: &Event, swept: &sweep::Sweep) -> Option<String> {
    let root = root(cx, event, &swept.inside(ANY))?;
    let made = swept.made.as_ref().and_then(|made| cx.facts.place(made, &event.cwd));
    made.is_none_or(|made| below(&made.path, &root).is_none()).then_some(root)
}

/// Whether it was looked up which tree that is; asks for it otherwise.
pub(super) fn knows_here(cx: &Cx<'_>, event: &Event) -> bool {
    cx.look(need(event, ANY)).is_some()
}

/// The working tree that the event happens in, or else the project's folder, where that was looked up.
pub(super) fn root_here(cx: &Cx<'_>, event: &Event) -> Option<String> {
    let place = rooted(cx.facts.place(ANY, &event.cwd)?, &event.project);
    (!place.root.is_empty()).then_some(place.root)
}

fn root(cx: &Cx<'_>, event: &Event, path: &str) -> Option<String> {
    let place = cx.facts.place(path, &event.cwd)?;
    (!place.root.is_empty()).then(|| place.root.clone())
}
