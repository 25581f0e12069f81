//! Which file a path means: links, `.` and `..` resolved, whether the file is there or not; and whether git ignores it.

use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use substrate_core::facts::Place;

use crate::config::root_of;

/// Looks a path up. It always means something, even where nothing is.
pub(crate) fn place(path: &str, cwd: &str) -> Place {
    let real = real(&Path::new(cwd).join(path));
    let folder = real.parent().unwrap_or(&real);
    let root = root_of(folder);
    let has_tree = root.join(".git").exists();
    let text = |path: &Path| path.display().to_string();
    match real.strip_prefix(&root) {
        Ok(relative) if has_tree => Place {
            path: text(&real),
            relative: text(relative),
            is_ignored: is_ignored(&root, relative),
            root: text(&root),
        },
        _ => Place { path: text(&real), relative: text(&real), ..Place::default() },
    }
}

/// The deepest part that is there is resolved by the system, the rest by its words.
fn real(path: &Path) -> PathBuf {
    let plain = plain(path);
    for folder in plain.ancestors() {
        if let Ok(found) = folder.canonicalize() {
            let rest = plain.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    plain
}

/// `.` taken out; `..` taken out where what it leaves is no link, so that the system resolves the others.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out = out.canonicalize().unwrap_or(out);
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// The rules of the tree, of its folders down to the file, and of the repository's own list; the nearest rule wins.
fn is_ignored(root: &Path, relative: &Path) -> bool {
    if relative.starts_with(".git") {
        return true;
    }
    let folders: Vec<&Path> =
        relative.parent().map_or_else(Vec::new, |folder| folder.ancestors().collect());
    let nested = folders.iter().map(|folder| rules(&root.join(folder), ".gitignore"));
    for (rules, base) in nested.zip(&folders) {
        let below = relative.strip_prefix(base).unwrap_or(relative);
        match rules.matched_path_or_any_parents(below, false) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    rules(root, ".git/info/exclude").matched_path_or_any_parents(relative, false).is_ignore()
}

fn rules(folder: &Path, file: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    let _no_such_file = builder.add(folder.join(file));
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
    use std::os::unix::fs::symlink;

    /// A tree with a link to a folder and a link to a file.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("app");
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        let put = |name: &str, text: &str| {
            fsx::replace(&root.join(name), text.as_bytes(), 0o600).unwrap();
        };
        put("src/lib.rs", "");
        put(".gitignore", "target/\n*.log\n!keep.log\n");
        put("src/.gitignore", "made.rs\n");
        put(".git/info/exclude", "private.txt\n");
        symlink(root.join("src"), root.join("link")).unwrap();
        symlink(root.join("src/lib.rs"), root.join("other.rs")).unwrap();
        (folder, root)
    }

    #[test]
    fn every_way_to_write_a_path_is_one_file() {
        let (_folder, root) = tree();
        let cwd = root.join("src/deep").display().to_string();
        let lib = root.join("src/lib.rs").display().to_string();
        for path in
            ["../lib.rs", "./../lib.rs", "../../link/lib.rs", "../../other.rs", lib.as_str()]
        {
            let place = place(path, &cwd);
            assert_eq!(
                (place.path.as_str(), place.relative.as_str()),
                (lib.as_str(), "src/lib.rs"),
                "{path}"
            );
        }
        let new = place("../../link/new/file.rs", &cwd);
        assert_eq!(new.relative, "src/new/file.rs", "a file that is not there yet");
    }

    #[test]
    fn a_path_out_of_a_link_is_where_the_system_says() {
        let (_folder, root) = tree();
        // `link/..` is the folder that holds `src`, here the tree itself.
        let place = place("link/../x.rs", &root.display().to_string());
        assert_eq!(place.relative, "x.rs");
    }

    #[test]
    fn what_git_ignores_is_ignored() {
        let (_folder, root) = tree();
        let cwd = root.display().to_string();
        let ignored = |path: &str| place(path, &cwd).is_ignored;
        for path in
            ["target/debug/x", "a.log", "src/b.log", "src/made.rs", "private.txt", ".git/config"]
        {
            assert!(ignored(path), "{path}");
        }
        for path in ["src/lib.rs", "keep.log", "made.rs", "src/target.rs"] {
            assert!(!ignored(path), "{path}");
        }
    }

    #[test]
    fn outside_a_tree_a_file_is_its_own_path() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap().display().to_string();
        let place = place("x", &cwd);
        assert_eq!((place.root.as_str(), place.relative), ("", format!("{cwd}/x")));
    }
}
