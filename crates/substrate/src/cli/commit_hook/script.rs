//! The hook itself, and how it is installed and removed.

use std::path::{Path, PathBuf};

use super::repository::Repository;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::fsx;

/// The hook's name, and where an earlier hook is kept meanwhile.
pub(super) const NAME: &str = "pre-commit";
const BEFORE: &str = "pre-commit.before-substrate";

/// The line that marks our hook.
const MARK: &str = "# substrate-guard";

/// Only exit code 1, our own refusal, stops a commit. A broken or older Substrate does not.
const SCRIPT: &str = r#"#!/bin/sh
# substrate-guard: refuses to commit files that others hold. `substrate locks guard uninstall` takes it away.
before="${0%/*}/pre-commit.before-substrate"
if [ -x "$before" ]; then
  "$before" "$@" || exit $?
fi
command -v substrate >/dev/null 2>&1 || exit 0
substrate locks guard run
[ $? -ne 1 ]
"#;

/// The same as one line for another hook. It passes where Substrate is not installed.
const LINE: &str = "if command -v substrate >/dev/null 2>&1; then substrate locks guard run; fi";

/// What is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookState {
    Nothing,
    /// A hook that is not ours.
    Another,
    Ours,
    /// Ours, and the one that it runs first.
    OursWithAnother,
}

impl HookState {
    pub(super) fn of(hooks: &Path) -> Self {
        let hook = hooks.join(NAME);
        match std::fs::read(&hook) {
            Ok(bytes) if is_ours(&bytes) && is_there(&hooks.join(BEFORE)) => Self::OursWithAnother,
            Ok(bytes) if is_ours(&bytes) => Self::Ours,
            _ if is_there(&hook) => Self::Another,
            _ => Self::Nothing,
        }
    }

    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Self::Ours | Self::OursWithAnother)
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Nothing => "not installed, and there is no other hook",
            Self::Another => "not installed; there is a hook that is not ours",
            Self::Ours => "installed",
            Self::OursWithAnother => "installed; the earlier hook runs first",
        }
    }
}

/// Adds the hook. An earlier one is kept beside it.
pub(super) fn install(hooks: &Path) -> Result<&'static str> {
    let (hook, before) = (hooks.join(NAME), hooks.join(BEFORE));
    let fail = |error: std::io::Error| could_not("install", &hook, &error);
    match HookState::of(hooks) {
        HookState::Ours | HookState::OursWithAnother => {
            if std::fs::read(&hook).is_ok_and(|bytes| bytes == SCRIPT.as_bytes()) {
                return Ok("already installed");
            }
            fsx::replace(&hook, SCRIPT.as_bytes(), 0o755).map_err(fail)?;
            Ok("brought up to date")
        }
        HookState::Nothing => {
            if is_there(&before) {
                return Err(in_the_way(&before));
            }
            fsx::create_folders(hooks).map_err(fail)?;
            fsx::replace(&hook, SCRIPT.as_bytes(), 0o755).map_err(fail)?;
            Ok("installed")
        }
        HookState::Another => {
            if is_there(&before) {
                return Err(in_the_way(&before));
            }
            if let Some(manager) = manager(hooks) {
                return Err(manager);
            }
            // A rename keeps its bytes and mode, or its target if it is a link.
            std::fs::rename(&hook, &before).map_err(fail)?;
            if let Err(error) = fsx::replace(&hook, SCRIPT.as_bytes(), 0o755) {
                let _as_it_was = std::fs::rename(&before, &hook);
                return Err(fail(error));
            }
            Ok("installed; the earlier hook runs first")
        }
    }
}

/// Removes the hook and puts back the earlier one.
pub(super) fn uninstall(hooks: &Path) -> Result<&'static str> {
    let hook = hooks.join(NAME);
    let fail = |error: std::io::Error| could_not("uninstall", &hook, &error);
    match HookState::of(hooks) {
        HookState::Nothing | HookState::Another => Ok("not installed"),
        HookState::Ours => {
            std::fs::remove_file(&hook).map_err(fail)?;
            Ok("uninstalled")
        }
        HookState::OursWithAnother => {
            std::fs::rename(hooks.join(BEFORE), &hook).map_err(fail)?;
            Ok("uninstalled; the earlier hook is back")
        }
    }
}

fn is_ours(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).lines().any(|line| line.starts_with(MARK))
}

/// A dangling link counts too.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Husky's hooks look at their own file name, so under another they would silently do nothing.
fn manager(hooks: &Path) -> Option<AppError> {
    let of_husky = |file: &PathBuf| file.is_file();
    [hooks.join("h"), hooks.join("husky.sh")].iter().any(of_husky).then(|| {
        AppError::new(Kind::User, format!("husky keeps the hooks in `{}`", hooks.display()))
            .hint(format!("add this line to `.husky/pre-commit` instead: `{LINE}`"))
    })
}

fn in_the_way(before: &Path) -> AppError {
    AppError::new(Kind::User, format!("`{}` is in the way", before.display()))
        .hint("it was kept by an earlier installation: move it back to `pre-commit`, or away")
}

fn could_not(what: &str, hook: &Path, error: &std::io::Error) -> AppError {
    AppError::new(Kind::User, format!("could not {what} `{}`: {error}", hook.display()))
}

// Where the hook was installed is noted, so that an uninstall finds it: one hook folder per line, in the state home.

/// Notes where our hook is now, or that it is gone. Only an uninstall needs this, so a full disk is not an error.
pub(super) fn note(home: &Home, hooks: &Path, is_there: bool) {
    let (file, before) = (list_of_hooks(home), noted(home));
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
    let text = std::fs::read_to_string(list_of_hooks(home)).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

fn list_of_hooks(home: &Home) -> PathBuf {
    home.root().join("git-guards")
}
