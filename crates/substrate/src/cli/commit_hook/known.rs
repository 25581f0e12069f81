//! Where the commit hook was installed, so that an uninstall finds it: one hook folder per line, in the state home.

use std::path::{Path, PathBuf};

use super::repository::Repository;
use super::script::HookState;
use crate::config::{Env, Home};
use crate::fsx;

/// Notes where our hook is now, or that it is gone. Only an uninstall needs this, so a full disk is not an error.
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

/// The folders that have our hook: noted ones, and those of known projects.
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
    out.retain(|hooks| HookState::of(hooks).is_ours());
    out
}

fn noted(home: &Home) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file(home)).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

fn file(home: &Home) -> PathBuf {
    home.root().join("git-guards")
}
