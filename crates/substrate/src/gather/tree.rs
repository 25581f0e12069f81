//! What is in a folder, a few levels deep, without what git ignores.

use std::path::Path;
use std::time::Instant;

use ignore::WalkBuilder;
use substrate_core::facts::Tree;

/// How many entries are looked at before the rest is left uncounted.
const MAX_SEEN: usize = 20_000;

/// The entries; `None` where there is no such folder. What comes after the deadline is left out.
pub(super) fn tree(root: &str, depth: usize, max: usize, deadline: Instant) -> Option<Tree> {
    let root = Path::new(root);
    if !root.is_dir() {
        return None;
    }
    // Ripgrep's own `.ignore` files say nothing about what belongs to the project; a tree without git may still say
    // what it would ignore.
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(depth))
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut seen: Vec<(usize, String)> = Vec::new();
    for entry in walk.flatten().take(MAX_SEEN).filter(|entry| entry.depth() > 0) {
        if Instant::now() >= deadline {
            break;
        }
        let Ok(path) = entry.path().strip_prefix(root) else { continue };
        let end = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        seen.push((entry.depth(), format!("{}{end}", path.display())));
    }
    Some(fitted(seen, depth, max))
}

/// Where there are too many, the upper levels come first: one big folder does not hide all that comes after it.
fn fitted(seen: Vec<(usize, String)>, depth: usize, max: usize) -> Tree {
    let mut left = max;
    let mut room = vec![0; depth + 1];
    for (level, room) in room.iter_mut().enumerate() {
        *room = left.min(seen.iter().filter(|(at, _)| *at == level).count());
        left -= *room;
    }
    let n_seen = seen.len();
    let mut entries = Vec::new();
    for (level, entry) in seen {
        if let Some(room) = room.get_mut(level).filter(|room| **room > 0) {
            *room -= 1;
            entries.push(entry);
        }
    }
    Tree { n_more: n_seen - entries.len(), entries }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fsx;

    fn put(root: &Path, names: &[&str]) {
        for name in names {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            fsx::replace(&file, b"", 0o600).unwrap();
        }
    }

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
            [".env", ".gitignore", ".ignore", "a.txt", "b/", "b/.hidden", "b/c/", "b.md", "link"];
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
    fn nothing_is_found_where_no_folder_is_or_no_time() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &["a"]);
        let root = folder.path().display().to_string();
        assert_eq!(tree(&format!("{root}/a"), 2, 9, Instant::now()), None);
        assert_eq!(tree(&root, 2, 9, Instant::now()), Some(Tree::default()));
    }
}
