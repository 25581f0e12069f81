//! The one place that builds a git command.
//!
//! A repository comes from outside, and its configuration names programs: filters, monitors, hooks, helpers, pagers. So
//! we ask git only what it can answer without any of them, with none of our caller's variables, without a network, and
//! without a lock. Filters have arbitrary names. Code that reads files of the tree turns off those that [`FILTERS`]
//! finds.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::config::Env;
use crate::proc;

/// The settings with which a filter names its programs.
pub(crate) const FILTERS: &str = r"^filter\..*\.(clean|smudge|process)$";

/// Settings that override the repository's. No answer needs any of these.
const SETTINGS: &[&str] = &[
    // A committed folder that looks like a repository is not one.
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.pager=cat",
    "core.editor=:",
    "sequence.editor=:",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "protocol.allow=never",
    "interactive.diffFilter=",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=false",
    "gpg.ssh.defaultKeyCommand=",
    "log.showSignature=false",
    // A submodule is another repository.
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "status.submoduleSummary=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "core.quotePath=false",
    "color.ui=false",
    "color.status=false",
    "column.ui=never",
];

/// Whether git may know the repository's hooks folder. It never runs a hook either way: none of our commands has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hooks {
    Off,
    /// To ask where they are.
    AsConfigured,
}

/// A git command that runs nothing a repository can name.
pub(crate) fn command(program: &str, env: &Env, dir: &Path, hooks: Hooks) -> Command {
    let mut command = proc::command(program, env);
    command
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_SSH_COMMAND", "false")
        .env("GIT_ASKPASS", "false")
        .env("GIT_EDITOR", ":")
        .env("GIT_PAGER", "cat")
        .env("LC_ALL", "C")
        .args(["--no-pager", "--no-optional-locks", "--no-replace-objects"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    if hooks == Hooks::Off {
        command.args(["-c", "core.hooksPath=/dev/null"]);
    }
    command
}

/// The working tree of a folder: the nearest folder above it with a `.git`. `None` also if a folder on the way looks
/// like a repository itself: git would use that one, with all its settings.
pub(crate) fn tree(dir: &Path) -> Option<&Path> {
    let looks_bare = |folder: &&Path| {
        ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
    };
    for folder in dir.ancestors().take(64) {
        if folder.join(".git").symlink_metadata().is_ok() {
            return Some(folder);
        }
        if looks_bare(&folder) {
            return None;
        }
    }
    None
}
