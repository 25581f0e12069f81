//! Which file a path means, with links, `.` and `..` resolved, whether the file exists or not; and whether git ignores
//! it.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use substrate_core::facts::Place;

use super::changed;
use super::ignored::{Lists, Verdict};
use crate::config::{project_of, root_of};

/// How many dangling links are followed, one after the other.
const MAX_LINKS: usize = 40;

/// The longest path. No system opens a longer one, and resolving its folders one by one would take long.
const MAX_PATH: usize = 8 << 10;

/// Resolves a path. Every path gets an answer, even if no file exists.
pub(crate) fn place(path: &str, cwd: &str) -> Place {
    if path.len() + cwd.len() > MAX_PATH {
        let path = path.to_owned();
        return Place { relative: path.clone(), path, is_nowhere: true, ..Place::default() };
    }
    let real = real(&Path::new(cwd).join(from_home(path, std::env::home_dir().as_deref())));
    let folder = real.parent().unwrap_or(&real);
    let root = root_of(folder);
    let has_tree = root.join(".git").exists();
    let text = |path: &Path| path.display().to_string();
    let found = std::fs::symlink_metadata(&real).ok();
    let as_found = Place {
        path: text(&real),
        file: found.as_ref().and_then(changed::file),
        has_other_names: found.as_ref().is_some_and(|found| found.is_file() && found.nlink() > 1),
        changed_ms: found.as_ref().map(changed::stamp),
        is_nowhere: found.is_none() && real.parent().is_some_and(|folder| !folder.exists()),
        ..Place::default()
    };
    match real.strip_prefix(&root) {
        Ok(relative) if has_tree => {
            let Verdict { is_ignored, too_long } = Lists::of(&root).judge(relative, false);
            Place {
                relative: text(relative),
                is_ignored,
                unread_rules: too_long.as_deref().map(text),
                project: text(&project_of(&root)),
                root: text(&root),
                ..as_found
            }
        }
        _ => Place { relative: text(&real), ..as_found },
    }
}

/// `~` and `~/x` mean what they mean to a shell. A file with that name is written `./~`.
fn from_home(path: &str, home: Option<&Path>) -> PathBuf {
    let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// The system resolves the part that exists. The rest is resolved by its text.
fn real(path: &Path) -> PathBuf {
    let mut path = plain(path);
    for _ in 0..MAX_LINKS {
        match resolved(&path) {
            Ok(found) => return found,
            Err(next) => path = plain(&next),
        }
    }
    path
}

/// Where a path is, or where a dangling link in it leads. Writing through such a link creates the file there.
fn resolved(path: &Path) -> Result<PathBuf, PathBuf> {
    for folder in path.ancestors() {
        let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
        let whole = |found: PathBuf| match rest.as_os_str().is_empty() {
            true => found,
            false => found.join(rest),
        };
        if let Ok(found) = folder.canonicalize() {
            return Ok(whole(found));
        }
        if let Ok(link) = folder.read_link() {
            let from = folder.parent().and_then(|parent| parent.canonicalize().ok());
            return Err(whole(from.unwrap_or_default().join(link)));
        }
    }
    Ok(path.to_owned())
}

/// Removes `.`, and each `..` that does not leave a link. The system resolves the others.
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
    fn a_tilde_is_home() {
        let home = Some(Path::new("/home/me"));
        for (path, expected) in [
            ("~", "/home/me"),
            ("~/x", "/home/me/x"),
            ("~you/x", "~you/x"),
            ("./~/x", "./~/x"),
            ("a~", "a~"),
        ] {
            assert_eq!(from_home(path, home), Path::new(expected));
        }
        assert_eq!(from_home("~/x", None), Path::new("~/x"));
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
    fn a_link_to_a_file_that_is_not_there_yet_is_that_file() {
        let (_folder, root) = tree();
        let cwd = root.display().to_string();
        symlink("new.rs", root.join("src/dangling.rs")).unwrap();
        symlink("../link/dangling.rs", root.join("src/twice.rs")).unwrap();
        symlink("nowhere", root.join("folder")).unwrap();
        for path in ["src/new.rs", "src/dangling.rs", "link/dangling.rs", "link/twice.rs"] {
            assert_eq!(place(path, &cwd).relative, "src/new.rs", "{path}");
        }
        assert_eq!(place("folder/x/y.rs", &cwd).relative, "nowhere/x/y.rs");
        symlink("loop.rs", root.join("loop.rs")).unwrap();
        assert_eq!(place("loop.rs", &cwd).relative, "loop.rs");
    }

    #[test]
    fn the_list_of_a_repository_holds_in_all_its_trees() {
        let (folder, root) = tree();
        let wt = folder.path().canonicalize().unwrap().join("wt");
        let own = root.join(".git/worktrees/wt");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&wt).unwrap();
        fsx::replace(&own.join("commondir"), b"../..\n", 0o600).unwrap();
        let lead = format!("gitdir: {}\n", own.display());
        fsx::replace(&wt.join(".git"), lead.as_bytes(), 0o600).unwrap();
        assert!(place("private.txt", &wt.display().to_string()).is_ignored);
    }

    #[test]
    fn what_is_not_a_file_has_no_rules_and_keeps_no_caller_waiting() {
        let (_folder, root) = tree();
        let pipe = root.join("src/deep/.gitignore");
        fsx::pipe(&pipe);
        let (tell, told) = std::sync::mpsc::channel();
        let cwd = root.display().to_string();
        std::thread::spawn(move || tell.send(place("src/deep/x.rs", &cwd)).ok());
        let place = told.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert!(!place.is_ignored);
    }

    #[test]
    fn a_path_that_no_system_opens_is_not_looked_up() {
        for unit in ["a", "a/", "../", "./"] {
            let path = unit.repeat(1 << 20);
            assert!(place(&path, "/").is_nowhere, "{unit}");
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
