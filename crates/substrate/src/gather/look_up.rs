//! Answers each need within a time limit.

use std::path::Path;
use std::time::{Duration, Instant};

use substrate_core::facts::Found;
use substrate_core::{Facts, Need};

use super::files::{beginning, lines, tail};
use super::places::place;
use super::{changed, daily, directives, git, room, skill_folder, skills, tree};
use crate::{effects, inside};

/// How long all needs together may take. The daemon waits a little longer. Slow lookups give up by themselves, so one
/// of them does not cost the others their answers.
const PATIENCE: Duration = Duration::from_millis(250);

/// Looks everything up. A failure is recorded as not found.
pub(crate) fn gather(needs: Vec<Need>) -> Facts {
    gather_step_by_step(needs, |_| {})
}

/// The same, and reports which need comes next.
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
        // It was resolved when it was recorded. It still means the same file if no step is a link by now.
        Need::RealFile { path, max } => {
            inside::text(Path::new("/"), path.strip_prefix('/')?, *max).ok().map(Found::Text)
        }
        Need::Changed { path } => Some(Found::Changed(changed::changed(path))),
        Need::Artifact { root, dir, name } => {
            Some(Found::Possible(effects::takes_artifact(root, dir, name)))
        }
        Need::Tail { path, max } => tail(path, *max).map(Found::Text),
        Need::Lines { path, from, with, max } => lines(path, *from, with, *max).map(Found::Lines),
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
            // Sorted, because a folder lists its entries in any order and the same ones must be kept each time.
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

#[cfg(test)]
mod tests {
    use super::*;

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
            Need::File { path: path("missing"), max: 5 },
            Need::File { path: path("link"), max: 5 },
            of_project("link"),
            of_project("b"),
            of_project("../b"),
            Need::Folder { path: root.clone(), max: 10 },
        ]);
        assert_eq!(facts.file(&path("b"), 5), Some("hello"));
        assert_eq!(facts.file(&path("missing"), 5), None);
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
}
