//! Which working tree a folder belongs to, and which project a working tree belongs to.

use std::path::{Path, PathBuf};

use super::Env;
use crate::gather;

/// The longest `.git` file that is followed.
const MAX_LEAD: usize = 4 << 10;

/// What makes a folder the root of a working tree.
const MARKS: [&str; 2] = [".git", ".substrate.toml"];

/// The other files that mark a folder as a project.
const OWN: &str = ".substrate.local.toml";

/// The nearest folder, from `dir` upwards, with a `.git` or a `.substrate.toml`. Without one, `dir` itself.
pub(crate) fn root_of(dir: &Path) -> PathBuf {
    root_of_by(dir, Path::exists).to_owned()
}

/// The same, with `exists` to test for files.
pub(super) fn root_of_by(dir: &Path, exists: fn(&Path) -> bool) -> &Path {
    let is_root = |folder: &&Path| MARKS.iter().any(|name| exists(&folder.join(name)));
    dir.ancestors().take(64).find(is_root).unwrap_or(dir)
}

/// Whether this folder is a project: a working tree, or a folder with Substrate settings, but never a home folder. Any
/// other folder is left untouched.
pub(crate) fn is_worked_in(root: &Path) -> bool {
    let is = |other: &Path| root == other || root.canonicalize().ok() == other.canonicalize().ok();
    let home = Env::of_this_process().get("HOME").map(PathBuf::from);
    let is_marked = marks().any(|name| root.join(name).exists());
    is_marked && !is(Path::new("/")) && !home.is_some_and(|home| is(&home))
}

/// The names that mark a folder as a project.
pub(crate) fn marks() -> impl Iterator<Item = &'static str> {
    MARKS.into_iter().chain([OWN])
}

/// The project of a working tree: the same for all trees of one repository.
pub(crate) fn project_of(root: &Path) -> PathBuf {
    let common = common_dir(&root.join(".git")).and_then(|dir| dir.canonicalize().ok());
    match common {
        Some(dir) if dir.file_name().is_some_and(|name| name == ".git") => {
            dir.parent().unwrap_or(&dir).to_owned()
        }
        Some(dir) => dir,
        None => root.canonicalize().unwrap_or_else(|_| root.to_owned()),
    }
}

/// Where a repository keeps what its working trees share. A linked tree's `.git` is a file that leads there.
pub(crate) fn common_dir(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    // Reading a pipe would block, and a long file does not hold a path.
    let read = |file: &Path| gather::beginning(file, MAX_LEAD);
    let text = read(git)?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = read(&own.join("commondir"));
    Some(common.map_or_else(|| own.clone(), |text| own.join(text.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;

    #[test]
    fn two_trees_of_one_repository_are_one_project() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let own = at("main/.git/worktrees/wt");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(at("wt/src")).unwrap();
        fsx::replace(&own.join("commondir"), b"../..\n", 0o600).unwrap();
        let lead = format!("gitdir: {}\n", own.display());
        fsx::replace(&at("wt/.git"), lead.as_bytes(), 0o600).unwrap();
        let main = at("main").canonicalize().unwrap();
        assert_eq!(project_of(&root_of(&at("wt/src"))), main);
        assert_eq!(project_of(&root_of(&at("main"))), main);
    }

    #[test]
    fn a_folder_without_git_is_its_own_project() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(project_of(folder.path()), folder.path().canonicalize().unwrap());
        assert_eq!(project_of(Path::new("/nowhere/at/all")), Path::new("/nowhere/at/all"));
    }
}
