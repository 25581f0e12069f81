//! Which files an event or a command is about, and which of them need a lease.
//!
//! An edit takes a file unless git ignores it or `locks.files` leaves it out. Only the ignore rules count: a tracked file
//! that matches one takes no lease, since reading the index at every edit would cost too much.
//!
//! A path on a command line is resolved by the caller's own process, which alone sees where links lead. Paths of API
//! callers are taken as they are written.

use serde::{Deserialize, Serialize};
use substrate_core::facts::Place;
use substrate_core::{Caller, Cx, Event, EventKind, Local, Need, Settings, ToolClass};

use super::history;
use crate::globs;
use crate::shell::files::plain;
use crate::shell::files::sweeps::{self, Sweep, SweepScope};

/// Files of one call that are looked at.
const MAX_FILES: usize = 64;

/// A file name that need not exist. Its working tree is that of its folder.
const ANY: &str = "-";

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let is_off = settings.word("locks.mode") == "off";
    // The mirror logs each of these events.
    if history::is_logged(event.kind) && settings.on("locks.mirror") {
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

/// Leases that are compared with a glob, or released at once.
pub(super) const MAX_COMPARED: i64 = 10_000;

/// A file or glob that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) root: String,
    /// The path or glob below `root`.
    pub(crate) relative: String,
    #[serde(default)]
    pub(crate) is_glob: bool,
    /// This and the rest are as in `Place`, if the caller's own process looked.
    #[serde(default)]
    pub(crate) project: String,
    #[serde(default)]
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) changed_ms: Option<i64>,
}

impl Target {
    pub(crate) fn place(&self) -> Place {
        Place {
            path: self.path.clone(),
            root: self.root.clone(),
            relative: self.relative.clone(),
            project: self.project.clone(),
            file: self.file.clone(),
            changed_ms: self.changed_ms,
            ..Place::default()
        }
    }

    /// Outside of git, the project's folder counts as the working tree.
    fn rooted(self, project: &str) -> Self {
        match below(&self.path, project).filter(|_| self.root.is_empty()) {
            // A glob without a folder applies to the whole tree, as everywhere.
            Some(below) => Self {
                relative: if self.is_glob { with_escaped(below) } else { below.to_owned() },
                root: project.to_owned(),
                ..self
            },
            None => self,
        }
    }
}

/// Resolves typed paths in the caller's own process.
pub(super) fn here(typed: &[String], local: &mut dyn Local) -> Vec<Target> {
    typed.iter().map(|typed| target(typed, |path| local.place(path))).collect()
}

/// The targets that the caller's process found, or else the paths as they are written.
pub(super) fn known(typed: &[String], found: &[Target], caller: &Caller) -> Vec<Target> {
    let targets: Vec<Target> = match found.len() == typed.len() {
        true => found.to_vec(),
        false => typed.iter().map(|typed| target(typed, |path| as_written(path, caller))).collect(),
    };
    targets.into_iter().map(|target| target.rooted(&caller.project)).collect()
}

fn target(typed: &str, mut place: impl FnMut(&str) -> Place) -> Target {
    if !globs::is_glob(typed) {
        let found = place(typed);
        // A folder means everything in it.
        if found.is_folder {
            return target(&format!("{typed}/"), place);
        }
        let Place { path, root, relative, project, file, changed_ms, .. } = found;
        return Target { path, root, relative, is_glob: false, project, file, changed_ms };
    }
    // The folders before the first glob mark are resolved; the rest stays as typed.
    let mark = typed.find(['*', '?', '{']).unwrap_or(typed.len());
    let (folder, glob) = typed.split_at(typed[..mark].rfind('/').map_or(0, |at| at + 1));
    let glob = if glob.is_empty() { "**" } else { glob };
    let at = place(&format!("{folder}{ANY}"));
    let with = |path: &str| format!("{}{glob}", path.strip_suffix(ANY).unwrap_or(path));
    // A bare name applies to the whole tree, as everywhere.
    let relative = if folder.is_empty() && !glob.contains('/') && at.relative == ANY {
        glob.to_owned()
    } else {
        with_escaped(&with(&at.relative))
    };
    Target { path: with(&at.path), root: at.root, relative, is_glob: true, ..Target::default() }
}

/// Folders of a glob are literal names: `app/[id]/**` means the folder `[id]`.
fn with_escaped(glob: &str) -> String {
    let mark = glob.find(['*', '?', '{']).unwrap_or(glob.len());
    let (folder, rest) = glob.split_at(glob[..mark].rfind('/').map_or(0, |at| at + 1));
    format!("{}{rest}", globs::escaped(folder))
}

fn as_written(path: &str, caller: &Caller) -> Place {
    let path = match path.starts_with('/') {
        true => plain(path),
        false => plain(&format!("{}/{path}", caller.cwd)),
    };
    let root = caller.project_dir.as_deref().unwrap_or(&caller.cwd).trim_end_matches('/');
    let relative = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    match relative {
        Some(relative) => Place {
            relative: relative.to_owned(),
            root: root.to_owned(),
            path: path.clone(),
            ..Place::default()
        },
        None => Place { relative: path.clone(), path, ..Place::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("src/lib.rs", "/repo/src/lib.rs", "src/lib.rs", false)]
    #[case("./src/../a", "/repo/a", "a", false)]
    #[case("/repo/a", "/repo/a", "a", false)]
    #[case("/else/a", "/else/a", "/else/a", false)]
    #[case("src/api/**", "/repo/src/api/**", "src/api/**", true)]
    #[case("src/api/", "/repo/src/api/**", "src/api/**", true)]
    #[case("*.rs", "/repo/*.rs", "*.rs", true)]
    #[case("src/a*/b.rs", "/repo/src/a*/b.rs", "src/a*/b.rs", true)]
    #[case("app/[id]/", "/repo/app/[id]/**", "app/[[]id[]]/**", true)]
    fn a_path_is_resolved_as_written(
        #[case] typed: &str,
        #[case] path: &str,
        #[case] relative: &str,
        #[case] is_glob: bool,
    ) {
        let caller = Caller { cwd: "/repo".to_owned(), ..Caller::default() };
        let found = known(&[typed.to_owned()], &[], &caller).remove(0);
        assert_eq!(
            (found.path.as_str(), found.relative.as_str(), found.is_glob),
            (path, relative, is_glob)
        );
    }

    #[test]
    fn a_folder_means_its_content_and_a_project_without_git_is_its_own_tree() {
        struct Plain;
        impl Local for Plain {
            fn read(&mut self, _: &str) -> Result<String, substrate_core::VerbError> {
                Ok(String::new())
            }
            fn place(&mut self, path: &str) -> Place {
                let path = path.trim_end_matches('/').trim_start_matches("./");
                let is_folder = matches!(path, "" | "." | "src");
                let path = format!("/plain/{path}");
                Place { relative: path.clone(), path, is_folder, ..Place::default() }
            }
        }
        let typed = ["src", ".", "a.rs", "*.rs", "src/*.rs"].map(str::to_owned);
        let found = here(&typed, &mut Plain);
        let caller = Caller { project: "/plain".to_owned(), ..Caller::default() };
        let known = known(&typed, &found, &caller);
        let relative: Vec<&str> = known.iter().map(|target| target.relative.as_str()).collect();
        assert_eq!(relative, ["src/**", "**", "a.rs", "*.rs", "src/*.rs"]);
        assert!(known.iter().all(|target| target.root == "/plain"));
    }
}
