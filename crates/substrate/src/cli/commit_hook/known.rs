//! Where the guard was put, so that an uninstall finds it: one folder of hooks per line, in the state home.

use std::path::{Path, PathBuf};

use super::repository::Repository;
use super::script::Standing;
use crate::config::{Env, Home};
use crate::fsx;

/// Notes where the guard is now, or that it is gone. Nothing depends on it but an uninstall, so a disk that is full does not
/// stop anybody.
pub(super) fn note(home: &Home, hooks: &Path, is_there: bool) {
    let (file, before) = (file(home), noted(home));
    let mut after: Vec<PathBuf> = before.iter().filter(|path| *path != hooks).cloned().collect();
    if is_there {
        after.push(hooks.to_owned());
    }
    if after == before {
        return;
    }
    let lines: String = after.iter().map(|path| format!("{}\n", path.display())).collect();
    let _not_noted = match after.is_empty() {
        true => std::fs::remove_file(file),
        false => home.ensure().map_or(Ok(()), |()| fsx::replace(&file, lines.as_bytes(), 0o600)),
    };
}

/// The folders that have our guard: those that were noted, and those of the projects that we know of.
pub(super) fn installed(home: &Home, env: &Env, projects: &[String]) -> Vec<PathBuf> {
    let of_project = |project: &String| {
        let is_repository = Path::new(project).join(".git").exists();
        let repository = is_repository.then(|| Repository::at(Path::new(project), env).ok());
        repository.flatten()?.hooks().ok()
    };
    let mut out = noted(home);
    out.extend(projects.iter().filter_map(of_project));
    out.sort();
    out.dedup();
    out.retain(|hooks| Standing::of(hooks).is_ours());
    out
}

fn noted(home: &Home) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file(home)).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

fn file(home: &Home) -> PathBuf {
    home.root().join("git-guards")
}
