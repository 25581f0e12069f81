//! What the commit hook asks git: where the hooks are, and what is staged.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::config::Env;
use crate::error::{AppError, Kind, Result};
use crate::git::{self, Hooks};

/// What git tells its hooks: a commit of some files only has an index of its own.
const OF_A_HOOK: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
];

/// A working tree.
pub(super) struct Repository<'a> {
    top: PathBuf,
    env: &'a Env,
    passed_on: &'static [&'static str],
}

impl<'a> Repository<'a> {
    /// The tree that a folder is in.
    pub(super) fn at(dir: &Path, env: &'a Env) -> Result<Self> {
        Self::found(dir, env, &[])
    }

    /// The tree that git runs our hook for.
    pub(super) fn of_a_hook(dir: &Path, env: &'a Env) -> Result<Self> {
        Self::found(dir, env, OF_A_HOOK)
    }

    fn found(dir: &Path, env: &'a Env, passed_on: &'static [&'static str]) -> Result<Self> {
        let here = Self { top: dir.to_owned(), env, passed_on };
        let top = here.git(&["rev-parse", "--show-toplevel"]).map_err(|error| {
            error.hint("run it in a working tree of git, or name one with `--project-dir`")
        })?;
        Ok(Self { top: path(&top), ..here })
    }

    /// Where git looks for hooks: shared by all trees of the repository, or wherever `core.hooksPath` says.
    pub(super) fn hooks(&self) -> Result<PathBuf> {
        Ok(self.top.join(path(&self.git(&["rev-parse", "--git-path", "hooks"])?)))
    }

    /// Whether a folder is this repository's own, in the tree or beside it.
    pub(super) fn owns(&self, folder: &Path) -> Result<bool> {
        let common = self.top.join(path(&self.git(&["rev-parse", "--git-common-dir"])?));
        // The folder itself may not be there yet.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = real(folder);
        Ok(folder.starts_with(real(&common)) || folder.starts_with(real(&self.top)))
    }

    /// The staged files, as absolute paths; of a renamed file both.
    pub(super) fn staged(&self) -> Result<Vec<String>> {
        let out = self.git(&[
            "diff",
            "--cached",
            "--raw",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "-z",
        ])?;
        let names = files(&out).map(|name| self.top.join(OsStr::from_bytes(name)));
        Ok(names.map(|name| name.display().to_string()).collect())
    }

    fn git(&self, args: &[&str]) -> Result<Vec<u8>> {
        let mut command = git::command("git", self.env, &self.top, Hooks::AsConfigured);
        for name in self.passed_on {
            if let Some(value) = self.env.get(name) {
                command.env(name, value);
            }
        }
        let done = command.args(args).output().map_err(|error| {
            AppError::new(Kind::User, format!("`git` could not be run: {error}"))
        })?;
        if done.status.success() {
            return Ok(done.stdout);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let said = said.lines().next().unwrap_or("git failed without a message").to_owned();
        Err(AppError::new(Kind::User, format!("`git {}` failed: {said}", args.join(" "))))
    }
}

/// The names of files, and of removed files. Links and submodules can't be held, whatever they lead to.
fn files(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    // `:OLD-MODE NEW-MODE OLD-ID NEW-ID STATUS`, then the name; files have modes such as 100644.
    let mut parts = raw.split(|byte| *byte == 0);
    std::iter::from_fn(move || {
        loop {
            let (about, name) = (parts.next()?, parts.next()?);
            let mut modes = about.strip_prefix(b":")?.split(|byte| *byte == b' ');
            let (old, new) = (modes.next()?, modes.next()?);
            let mode = if new == b"000000" { old } else { new };
            if mode.starts_with(b"100") {
                return Some(name);
            }
        }
    })
}

/// A path that git printed on a line of its own.
fn path(line: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn links_and_submodules_are_no_files() {
        let raw = [
            ":100644 100644 a b M\0changed",
            ":000000 100755 0 b A\0new one",
            ":100644 000000 a 0 D\0gone",
            ":000000 120000 0 b A\0link",
            ":160000 160000 a b M\0module",
            ":100644 120000 a b T\0now a link",
            ":120000 100644 a b T\0no link any more",
            "",
        ]
        .join("\0");
        let names: Vec<_> = super::files(raw.as_bytes()).map(String::from_utf8_lossy).collect();
        assert_eq!(names, ["changed", "new one", "gone", "no link any more"]);
    }
}
