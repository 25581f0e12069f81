//! Finding programs on the PATH and in command lines, and comparing files.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The name of the hook client's program.
pub(super) const HOOK: &str = "substrate-hook";

/// The first program of that name on the PATH.
pub(super) fn on_path(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

pub(super) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether both paths lead to the same file.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// The program that a hook's command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    /// At this path.
    File(PathBuf),
    /// Somewhere on the PATH.
    Named(String),
    /// A prompt, or a command that we can't read.
    Unknown,
}

/// The file of a command that is one single-quoted word, as we write it for our scripts.
pub(crate) fn quoted(command: &str) -> Option<PathBuf> {
    let inner = command.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    let path = inner.replace("'\\''", "'");
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// Which program a registered command needs. The command may be a bare path (with spaces), or a shell line.
pub(super) fn needed(command: &str, home: Option<&OsStr>) -> Needed {
    if command.starts_with('/') && Path::new(command).exists() {
        return Needed::File(PathBuf::from(command));
    }
    if let Some(path) = quoted(command) {
        return Needed::File(path);
    }
    let words: Vec<String> = command
        .split(|c: char| c.is_whitespace() || ";&|()<>".contains(c))
        .map(|word| word.replace(['"', '\''], ""))
        .filter(|word| !word.is_empty())
        .collect();
    let hook = words.iter().find(|word| Path::new(word).file_name() == Some(OsStr::new(HOOK)));
    let first = words.first().filter(|word| word.contains('/'));
    let Some(word) = hook.or(first) else { return Needed::Unknown };
    if let Some(rest) =
        ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| word.strip_prefix(start))
    {
        return home.map_or(Needed::Unknown, |home| Needed::File(Path::new(home).join(rest)));
    }
    if word.starts_with('/') {
        return Needed::File(PathBuf::from(word));
    }
    if word == HOOK { Needed::Named(word.clone()) } else { Needed::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_command_is_found() {
        let file = |path: &str| Needed::File(PathBuf::from(path));
        let named = || Needed::Named(HOOK.to_owned());
        for (command, expected) in [
            ("/opt/substrate/substrate-hook", file("/opt/substrate/substrate-hook")),
            ("/opt/substrate-hook claude-code Stop", file("/opt/substrate-hook")),
            (
                "\"$HOME\"/.claude/hooks/substrate/stop.sh",
                file("/h/.claude/hooks/substrate/stop.sh"),
            ),
            ("~/.claude/hooks/substrate/stop.sh x", file("/h/.claude/hooks/substrate/stop.sh")),
            ("substrate-hook claude-code Stop", named()),
            (
                "command -v substrate-hook >/dev/null 2>&1 && exec substrate-hook claude-code Stop",
                named(),
            ),
            ("[ -x /a/substrate-hook ] && exec /a/substrate-hook", file("/a/substrate-hook")),
            ("$CLAUDE_PROJECT_DIR/x.sh", Needed::Unknown),
            ("Has everything been done that was asked?", Needed::Unknown),
            ("", Needed::Unknown),
        ] {
            assert_eq!(needed(command, Some(OsStr::new("/h"))), expected, "{command}");
        }
    }
}
