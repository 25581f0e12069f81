//! The contents of a folder, a few levels deep, without what git ignores.

use std::path::Path;
use std::time::Instant;

use ignore::WalkBuilder;
use substrate_core::facts::Tree;

use super::ignored::Lists;
use crate::git;

/// How many entries are counted. The rest is left out.
const MAX_SEEN: usize = 20_000;

/// The entries. `None` if the folder does not exist. What is not read by the deadline is left out.
pub(super) fn tree(root: &str, depth: usize, max: usize, deadline: Instant) -> Option<Tree> {
    let root = Path::new(root);
    if !root.is_dir() {
        return None;
    }
    // Ignore files are checked one by one, since any of them may be too long. A tree without git may have ignore files
    // too.
    let real = root.canonicalize().ok()?;
    let top = git::tree(&real).unwrap_or(&real).to_owned();
    let (lists, below) = (Lists::of(&top), real.strip_prefix(&top).ok()?.to_owned());
    let from = root.to_owned();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .max_depth(Some(depth))
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let relative = entry.path().strip_prefix(&from).unwrap_or(entry.path());
            entry.depth() == 0
                || (entry.file_name() != ".git"
                    && Instant::now() < deadline
                    && !lists.judge(&below.join(relative), is_folder).is_ignored)
        })
        .build();
    let mut seen: Vec<Entry> = Vec::new();
    for entry in walk.flatten().take(MAX_SEEN).filter(|entry| entry.depth() > 0) {
        if Instant::now() >= deadline {
            break;
        }
        let Ok(path) = entry.path().strip_prefix(root) else { continue };
        seen.push(Entry {
            path: path.display().to_string(),
            depth: entry.depth(),
            is_folder: entry.file_type().is_some_and(|kind| kind.is_dir()),
        });
    }
    Some(fitted(seen, max))
}

struct Entry {
    path: String,
    depth: usize,
    is_folder: bool,
}

impl Entry {
    /// Folders before files at every level, and a folder's contents right after it.
    fn order(&self) -> Vec<(bool, &str)> {
        let mut parts: Vec<(bool, &str)> = self.path.split('/').map(|part| (false, part)).collect();
        if let Some((is_file, _)) = parts.last_mut() {
            *is_file = !self.is_folder;
        }
        parts
    }
}

/// If there are too many entries, upper levels come first, and their folders before their files. So neither one big
/// folder nor many files hide all the others.
fn fitted(mut seen: Vec<Entry>, max: usize) -> Tree {
    let n_seen = seen.len();
    seen.sort_by_key(|entry| (entry.depth, !entry.is_folder));
    seen.truncate(max);
    seen.sort_by(|a, b| a.order().cmp(&b.order()));
    let end = |entry: &Entry| if entry.is_folder { "/" } else { "" };
    let entries: Vec<String> =
        seen.iter().map(|entry| format!("{}{}", entry.path, end(entry))).collect();
    Tree { n_more: n_seen - entries.len(), entries }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fsx;
    use crate::gather::put;

    fn look(root: &Path, max: usize) -> Tree {
        let deadline = Instant::now() + Duration::from_secs(20);
        tree(&root.display().to_string(), 2, max, deadline).unwrap()
    }

    #[test]
    fn two_levels_are_seen_without_git_and_what_it_ignores() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, &[".git/config", ".git/info/exclude", ".env", "b/c/deep", "b/x.log", "a.txt"]);
        put(root, &["target/debug/x", "node_modules/y/z", "b/.hidden", "b.md", ".ignore"]);
        fsx::replace(&root.join(".gitignore"), b"target/\n*.log\n", 0o600).unwrap();
        fsx::replace(&root.join(".git/info/exclude"), b"node_modules\n", 0o600).unwrap();
        fsx::replace(&root.join(".ignore"), b"a.txt\n", 0o600).unwrap();
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        let expected =
            ["b/", "b/c/", "b/.hidden", ".env", ".gitignore", ".ignore", "a.txt", "b.md", "link"];
        assert_eq!(
            look(root, 100),
            Tree { entries: expected.map(str::to_owned).into(), n_more: 0 }
        );
    }

    #[test]
    fn where_there_is_no_room_the_upper_level_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &["a/1", "a/2", "a/3", "b/1", "c"]);
        let names = |max: usize| {
            let tree = look(folder.path(), max);
            (tree.entries.join(" "), tree.n_more)
        };
        assert_eq!(names(7), ("a/ a/1 a/2 a/3 b/ b/1 c".to_owned(), 0));
        assert_eq!(names(5), ("a/ a/1 a/2 b/ c".to_owned(), 2));
        assert_eq!(names(2), ("a/ b/".to_owned(), 5));
    }

    #[test]
    fn many_files_do_not_hide_the_folders() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..300).map(|n| format!("a{n:03}")).collect();
        put(folder.path(), &files.iter().map(String::as_str).collect::<Vec<_>>());
        put(folder.path(), &["src/lib.rs", "docs/x"]);
        let tree = look(folder.path(), 4);
        assert_eq!((tree.entries.join(" "), tree.n_more), ("docs/ src/ a000 a001".to_owned(), 300));
    }

    #[test]
    fn a_pipe_among_the_rules_keeps_no_caller_waiting() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &["bad/x", "good/y"]);
        fsx::pipe(&folder.path().join("bad/.gitignore"));
        let (tell, told) = std::sync::mpsc::channel();
        let root = folder.path().to_owned();
        std::thread::spawn(move || tell.send(look(&root, 9)));
        let tree = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(tree.entries, ["bad/", "bad/.gitignore", "bad/x", "good/", "good/y"]);
    }

    #[test]
    fn nothing_is_found_where_no_folder_is_or_no_time() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &["a"]);
        let root = folder.path().display().to_string();
        assert_eq!(tree(&format!("{root}/a"), 2, 9, Instant::now()), None);
        assert_eq!(tree(&root, 2, 9, Instant::now()), Some(Tree::default()));
    }
}
