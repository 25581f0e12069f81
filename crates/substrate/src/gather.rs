//! Looking up the facts that features need, before any transaction is open.

mod changed;
mod daily;
mod directives;
mod git;
pub(crate) mod ignored;
mod places;
mod room;
mod skill_folder;
mod skills;
mod tree;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use substrate_core::facts::Found;
use substrate_core::{Facts, Need};

use crate::{effects, inside};

pub(crate) use places::place;

/// What a path means hardly changes from one moment to the next.
const FRESH_US: u64 = 2_000_000;

/// How many paths are remembered.
const MAX_KNOWN: usize = 4_096;

/// How long everything together may take; the daemon waits a little longer. What is slow gives up by itself, so that
/// one slow answer does not cost all the others.
const PATIENCE: Duration = Duration::from_millis(250);

/// Paths that were looked up lately, so that an agent that works on a file does not wait for the disk each time.
#[derive(Debug, Default)]
pub(crate) struct Known {
    places: HashMap<Need, (u64, Found)>,
}

impl Known {
    /// Answers what is known; the rest has to be looked up.
    pub(crate) fn answer(&self, needs: Vec<Need>, now_us: u64, facts: &mut Facts) -> Vec<Need> {
        needs
            .into_iter()
            .filter(|need| match self.places.get(need) {
                Some((at, found)) if now_us.saturating_sub(*at) < FRESH_US => {
                    facts.insert(need.clone(), found.clone());
                    false
                }
                _ => true,
            })
            .collect()
    }

    /// Remembers what was looked up. Where a link leads is looked up each time: it may lead elsewhere by then.
    pub(crate) fn keep(&mut self, facts: &Facts, now_us: u64) {
        for (need, found) in facts.places().filter(|(need, found)| is_direct(need, found)) {
            if self.places.len() >= MAX_KNOWN {
                self.places.clear();
            }
            self.places.insert(need.clone(), (now_us, found.clone()));
        }
    }
}

/// Whether the words of a path already say which file it is: no link, and no way back out of one. What has several names, or
/// is not there yet although its folder is, may be another file in a moment.
fn is_direct(need: &Need, found: &Found) -> bool {
    match (need, found) {
        (Need::Place { path, cwd }, Found::Place(place)) => {
            (place.changed_ms.is_some() || place.is_nowhere)
                && !place.has_other_names
                && Path::new(cwd).join(path) == Path::new(&place.path)
        }
        _ => false,
    }
}

/// Looks everything up; what fails is known not to be found.
pub(crate) fn gather(needs: Vec<Need>) -> Facts {
    gather_step_by_step(needs, |_| {})
}

/// The same, and says which need comes next.
pub(crate) fn gather_step_by_step(needs: Vec<Need>, next: impl Fn(usize)) -> Facts {
    let deadline = Instant::now() + PATIENCE;
    let mut facts = Facts::default();
    for (n, need) in needs.into_iter().enumerate() {
        next(n);
        let found = look_up(&need, deadline).unwrap_or(Found::Nothing);
        facts.insert(need, found);
    }
    facts
}

fn look_up(need: &Need, deadline: Instant) -> Option<Found> {
    match need {
        Need::File { path, max } => beginning(path, *max).map(Found::Text),
        Need::ProjectFile { root, path, max } => {
            inside::text(Path::new(root), path, *max).ok().map(Found::Text)
        }
        // Resolved when it was noted: it still means the same file where no step is a link by now.
        Need::RealFile { path, max } => {
            inside::text(Path::new("/"), path.strip_prefix('/')?, *max).ok().map(Found::Text)
        }
        Need::Changed { path } => Some(Found::Changed(changed::changed(path))),
        Need::Artifact { root, dir, name } => {
            Some(Found::Possible(effects::takes_artifact(root, dir, name)))
        }
        Need::Tail { path, max } => tail(path, *max).map(Found::Text),
        Need::Folder { path, max } => {
            let entries = std::fs::read_dir(path).ok()?;
            let mut names: Vec<String> = entries
                .flatten()
                .take(*max)
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            Some(Found::Names(names))
        }
        Need::Place { path, cwd } => Some(Found::Place(place(path, cwd))),
        Need::Files { folder, ends, max_files, max_bytes } => {
            let mut names: Vec<String> = std::fs::read_dir(folder)
                .ok()?
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.ends_with(ends))
                .collect();
            // In this order: a folder lists its entries in any order, and the same ones have to be kept each time.
            names.sort();
            names.truncate(*max_files);
            let text =
                |name: String| Some((beginning(format!("{folder}/{name}"), *max_bytes)?, name));
            Some(Found::Files(
                names.into_iter().filter_map(text).map(|(text, name)| (name, text)).collect(),
            ))
        }
        Need::Daily { .. } => daily::daily(need).map(Found::Daily),
        Need::Room { dir, of_tree, below, ours } => {
            room::room(dir, *of_tree, below, *ours).map(Found::Room)
        }
        Need::Tree { root, depth, max } => {
            tree::tree(root, *depth, *max, deadline).map(Found::Tree)
        }
        Need::Git { dir, what } => git::ask(dir, *what, deadline).map(Found::Text),
        Need::Directives { file, cwd, project } => {
            Some(Found::Names(directives::directives(file, cwd, project.as_deref(), deadline)))
        }
        Need::Skills { projects, below, own } => {
            Some(Found::Skills(skills::skills(projects, below, own.as_deref(), deadline)))
        }
        Need::SkillFolder { name, dir, own } => {
            Some(Found::SkillFolder(skill_folder::skill_folder(name, dir, own.as_deref())))
        }
    }
}

pub(crate) fn beginning(path: impl AsRef<Path>, max: usize) -> Option<String> {
    inside::beginning(open(path).ok()?.0, max).ok()
}

/// How far back the beginning of a long line is looked for.
const MAX_LINE: u64 = 12 << 20;

/// The end of a file, from the beginning of a line on: a line of which only the end is there tells nothing. Where that is
/// most of it, the line is left out, and what stands before it is there as well.
fn tail(path: &str, max: usize) -> Option<String> {
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    let (mut file, len) = open(path).ok()?;
    let (begin, mut text) = lines_before(&mut file, len, max)?;
    let n_left_out = begin.saturating_sub(len.saturating_sub(max));
    if n_left_out > max / 2
        && let Some(line) = line_begin(&mut file, begin.saturating_sub(1), max)
    {
        let (_, before) = lines_before(&mut file, line, max)?;
        text.splice(0..0, before);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The whole lines in the `max` bytes before a place, and where they begin.
fn lines_before(file: &mut File, end: u64, max: u64) -> Option<(u64, Vec<u8>)> {
    let skipped = end.saturating_sub(max);
    let mut bytes = part(file, skipped, end)?;
    let begin = match skipped {
        0 => 0,
        _ => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1),
    };
    bytes.drain(..begin);
    Some((skipped + u64::try_from(begin).unwrap_or(0), bytes))
}

/// Where the line begins that has its end (a line break, or the file's end) at that place.
fn line_begin(file: &mut File, end: u64, step: u64) -> Option<u64> {
    let mut at = end;
    while at > 0 && end - at < MAX_LINE {
        let from = at.saturating_sub(step.max(1));
        let bytes = part(file, from, at)?;
        if let Some(found) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Some(from + u64::try_from(found).unwrap_or(0) + 1);
        }
        at = from;
    }
    (at == 0).then_some(0)
}

/// The bytes between two places.
pub(crate) fn part(file: &mut File, from: u64, to: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A plain file and its length.
pub(crate) fn open(path: impl AsRef<Path>) -> std::io::Result<(File, u64)> {
    // Opening a pipe would wait for its other end.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((file, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_longer_than_the_end_is_left_out_and_not_what_is_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let ends = |text: &str, max: usize| {
            crate::fsx::replace(&file, text.as_bytes(), 0o600).unwrap();
            tail(file.to_str().unwrap(), max).unwrap()
        };
        let long = "x".repeat(1_000);
        assert_eq!(ends(&format!("zero\none\n{long}\n"), 100), "zero\none\n");
        assert_eq!(ends(&format!("zero\none\n{long}\ntwo\n"), 100), "zero\none\ntwo\n");
        assert_eq!(ends(&format!("zero\none\n{long}"), 100), "zero\none\n");
        assert_eq!(ends(&format!("{long}\ntwo\n"), 100), "two\n");
        assert_eq!(ends(&long, 100), "");
        assert_eq!(ends(&format!("{long}\none\n{long}\ntwo\n"), 100), "one\ntwo\n");
        assert_eq!(ends(&format!("zero\n{}", "one line\n".repeat(20)), 20), "one line\none line\n");
        assert_eq!(ends("a\nb\n", 100), "a\nb\n");
        assert_eq!(ends("", 100), "");
    }

    #[test]
    fn what_is_there_is_found_and_bounded_and_the_rest_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        crate::fsx::replace(&folder.path().join("b"), b"hello there", 0o600).unwrap();
        crate::fsx::replace(&folder.path().join("a"), b"", 0o600).unwrap();
        let root = folder.path().display().to_string();
        std::os::unix::fs::symlink(path("b"), folder.path().join("link")).unwrap();
        let of_project =
            |path: &str| Need::ProjectFile { root: root.clone(), path: path.to_owned(), max: 5 };
        let facts = gather(vec![
            Need::File { path: path("b"), max: 5 },
            Need::File { path: path("nobody"), max: 5 },
            Need::File { path: path("link"), max: 5 },
            of_project("link"),
            of_project("b"),
            of_project("../b"),
            Need::Folder { path: root.clone(), max: 10 },
        ]);
        assert_eq!(facts.file(&path("b"), 5), Some("hello"));
        assert_eq!(facts.file(&path("nobody"), 5), None);
        assert_eq!(facts.file(&path("link"), 5), Some("hello"));
        assert_eq!(facts.project_file(&root, "link", 5), None);
        assert_eq!(facts.project_file(&root, "../b", 5), None);
        assert_eq!(facts.project_file(&root, "b", 5), Some("hello"));
        assert_eq!(facts.folder(&root, 10), Some(&["a", "b", "link"].map(str::to_owned)[..]));
    }

    #[test]
    fn of_many_files_the_same_ones_are_kept_each_time() {
        let folder = tempfile::tempdir().unwrap();
        for n in (10..40).rev() {
            crate::fsx::replace(&folder.path().join(format!("{n}.json")), b"x", 0o600).unwrap();
        }
        let need = Need::Files {
            folder: folder.path().display().to_string(),
            ends: ".json",
            max_files: 3,
            max_bytes: 1,
        };
        let facts = gather(vec![need.clone()]);
        let names: Vec<&str> =
            facts.files(&need).unwrap().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["10.json", "11.json", "12.json"]);
    }

    #[test]
    fn a_path_is_remembered_unless_it_may_be_another_file_in_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("v1")).unwrap();
        std::os::unix::fs::symlink("v1", root.join("cur")).unwrap();
        crate::fsx::replace(&root.join("v1/a"), b"", 0o600).unwrap();
        crate::fsx::replace(&root.join("v1/b"), b"", 0o600).unwrap();
        std::fs::hard_link(root.join("v1/b"), root.join("v1/c")).unwrap();
        let need =
            |path: &str| Need::Place { path: path.to_owned(), cwd: root.display().to_string() };
        let needs: Vec<Need> =
            ["./v1/a", "v1/new", "cur/a", "cur/../b", "v1/c"].map(need).into_iter().collect();
        let mut known = Known::default();
        known.keep(&gather(needs.clone()), 0);
        let asked = known.answer(needs, 1, &mut Facts::default());
        assert_eq!(asked, ["v1/new", "cur/a", "cur/../b", "v1/c"].map(need));
        assert_eq!(known.answer(vec![need("./v1/a")], FRESH_US, &mut Facts::default()).len(), 1);
    }

    #[test]
    fn the_end_of_a_file_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log").display().to_string();
        crate::fsx::replace(&folder.path().join("log"), b"one\ntwo\nthree\n", 0o600).unwrap();
        let end = |max: usize| tail(&path, max);
        assert_eq!(end(100).as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(end(14).as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(end(9).as_deref(), Some("three\n"), "a line is all there or not at all");
        assert_eq!(end(3).as_deref(), Some(""));
        assert_eq!(tail(&folder.path().display().to_string(), 9), None);
    }
}
