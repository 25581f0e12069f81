//! What features want done outside the database, after the commit.

mod artifact;
pub(crate) mod logs;

use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use substrate_core::redact::clean;
use substrate_core::{Effect, Timestamp};

use crate::config::{Home, is_worked_in, marks};
use crate::fsx;
use crate::inside::Folder;
use crate::tmux::Painter;

/// Does what needs only memory: the keys whose waiters must look again, and the effects that write files.
pub(crate) fn split(painter: &Painter, effects: Vec<Effect>) -> (Vec<String>, Vec<Effect>) {
    let (mut woken, mut files) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Wake { key } => woken.push(key),
            Effect::Paint { pane, look } => painter.want(pane, look),
            effect => files.push(effect),
        }
    }
    (woken, files)
}

/// The folder that an effect writes below; effects of one folder happen one after the other.
pub(crate) fn folder<'a>(home: &'a Home, effect: &'a Effect) -> &'a Path {
    match effect {
        Effect::Mirror { root, .. }
        | Effect::SessionLog { root, .. }
        | Effect::ProjectFolders { root }
        | Effect::RotateLogs { root, .. }
        | Effect::Artifact { root, .. } => Path::new(root),
        Effect::Keep { .. }
        | Effect::Forget { .. }
        | Effect::Wake { .. }
        | Effect::Paint { .. } => home.root(),
    }
}

/// Carries out one effect that writes files. May hang with the file system that it writes to.
pub(crate) fn write(home: &Home, effect: Effect) {
    match effect {
        Effect::Keep { path, text } => {
            if let Err(error) = keep(home, &path, &text) {
                tracing::error!(path, %error, "file could not be kept");
            }
        }
        Effect::Forget { path } => {
            if let Some(file) = below(home, &path) {
                let _maybe_gone = std::fs::remove_file(file);
            }
        }
        Effect::Mirror { root, path, text, append } => {
            if let Err(error) = mirror(&root, &path, &clean(&text), append) {
                tracing::warn!(root, path, %error, "file could not be mirrored");
            }
        }
        // What only happens to be worked in, such as somebody's home, is left as it is.
        Effect::SessionLog { root, .. } | Effect::ProjectFolders { root }
            if !is_worked_in(Path::new(&root)) => {}
        Effect::SessionLog { root, path, line } => {
            if let Err(error) = logs::append(&root, &path, &line) {
                tracing::warn!(root, path, %error, "session log could not be written");
            }
        }
        Effect::ProjectFolders { root } => {
            if let Err(error) = logs::make_folders(&root) {
                tracing::warn!(root, %error, "folders could not be made");
            }
        }
        Effect::RotateLogs { root, before } => rotate(root, before),
        Effect::Artifact { root, dir, name, text, fresh } => {
            if let Err(error) = artifact::add(&root, &dir, &name, &clean(&text), fresh) {
                tracing::warn!(root, dir, name, %error, "artifact could not be written");
            }
        }
        Effect::Wake { .. } | Effect::Paint { .. } => {}
    }
}

/// Whether `Effect::Artifact` could be carried out there.
pub(crate) fn takes_artifact(root: &str, dir: &str, name: &str) -> bool {
    artifact::takes(root, dir, name)
}

/// Beside whatever else happens, where there is an event loop: no agent waits for the removal of old files.
fn rotate(root: String, before: Timestamp) {
    let body = move || match logs::rotate(&root, before) {
        Ok(n) => tracing::info!(root, n, "old session logs removed"),
        Err(error) => tracing::warn!(root, %error, "old session logs could not be removed"),
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(body)),
        Err(_) => body(),
    }
}

fn keep(home: &Home, path: &str, text: &str) -> std::io::Result<()> {
    let file = below(home, path).ok_or(std::io::ErrorKind::InvalidInput)?;
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fsx::mirror(&file, text.as_bytes())
}

/// Where a project has its mirrors; nowhere else is anything written into it.
const MIRRORS: &str = substrate_core::seed::COORDINATION;

/// A log that is longer begins anew; the one before it is kept beside it.
const MAX_LOG: u64 = 4 << 20;

/// Writes a file of a project, or the end of one.
fn mirror(root: &str, path: &str, text: &str, append: bool) -> std::io::Result<()> {
    let refused = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
    let name = Path::new(path).strip_prefix(MIRRORS).map_err(|_| refused())?;
    let name =
        name.to_str().filter(|name| !name.is_empty() && !name.contains('/')).ok_or_else(refused)?;
    let project = Folder::root(root)?;
    // A folder that only happens to be worked in, such as somebody's home, is left as it is.
    if !marks().any(|name| project.look(name).is_ok()) {
        return Ok(());
    }
    let folder = project.made_at(MIRRORS)?;
    let found = folder.look(name).ok();
    if found.is_none() {
        hide(&folder)?;
    }
    if !append {
        return folder.replace(name, text.as_bytes(), 0o600);
    }
    if found.is_some_and(|found| found.kind == FileType::RegularFile && found.n_bytes > MAX_LOG) {
        let old = Path::new(name).with_extension("log.old");
        folder.rename(name, old.to_str().ok_or_else(refused)?)?;
    }
    let (mut log, _) = folder.append(name, 0o600)?;
    log.write_all(text.as_bytes())
}

/// Where our files begin, git shall not offer them for a commit. A person's own rules stay.
fn hide(folder: &Folder) -> std::io::Result<()> {
    match folder.create(".gitignore", 0o644) {
        Ok(mut rules) => rules.write_all(b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The file of that name below the state home; nothing else has a name.
fn below(home: &Home, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| home.root().join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::OFlags;
    use std::fs::OpenOptions;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    use std::time::Duration;

    const LOG: &str = ".claude/coordination/hook-debug.log";
    const LOCKS: &str = ".claude/coordination/file-locks.json";

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join(".git")).unwrap();
        root
    }

    #[test]
    fn a_mirror_is_written_whole_or_at_its_end() {
        let root = tree();
        let at = root.path().display().to_string();
        mirror(&at, ".claude/coordination/file-locks.json", "{}", false).unwrap();
        mirror(&at, ".claude/coordination/file-locks.json", "{1}", false).unwrap();
        mirror(&at, ".claude/coordination/hook-debug.log", "a\n", true).unwrap();
        mirror(&at, ".claude/coordination/hook-debug.log", "b\n", true).unwrap();
        let read =
            |name: &str| std::fs::read_to_string(root.path().join(MIRRORS).join(name)).unwrap();
        assert_eq!(read("file-locks.json"), "{1}");
        assert_eq!(read("hook-debug.log"), "a\nb\n");
        assert_eq!(read(".gitignore"), "*\n", "git does not offer them for a commit");
        for name in ["file-locks.json", "hook-debug.log"] {
            let mode = root.path().join(MIRRORS).join(name).metadata().unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_persons_own_rules_stay_also_when_they_are_gone() {
        let root = tree();
        let at = root.path().display().to_string();
        let rules = root.path().join(MIRRORS).join(".gitignore");
        std::fs::create_dir_all(rules.parent().unwrap()).unwrap();
        fsx::replace(&rules, b"*.log\n", 0o600).unwrap();
        mirror(&at, LOG, "a\n", true).unwrap();
        assert_eq!(std::fs::read(&rules).unwrap(), b"*.log\n");
        std::fs::remove_file(&rules).unwrap();
        mirror(&at, LOG, "b\n", true).unwrap();
        assert!(!rules.exists());
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let root = tree();
        let folder = root.path().join(MIRRORS);
        std::fs::create_dir_all(&folder).unwrap();
        for path in [LOG, LOCKS] {
            fsx::pipe(&root.path().join(path));
        }
        let (tell, told) = std::sync::mpsc::channel();
        let at = root.path().display().to_string();
        std::thread::spawn(move || {
            tell.send((mirror(&at, LOG, "x", true), mirror(&at, LOCKS, "{}", false)))
        });
        let (log, locks) = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(log.is_err() && locks.is_ok());
        assert!(!folder.join("hook-debug.log").metadata().unwrap().is_file());
        assert_eq!(std::fs::read(folder.join("file-locks.json")).unwrap(), b"{}");
        // With somebody at its other end it could be written; it is refused all the same.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut options = OpenOptions::new();
        let _reader = options.read(true).custom_flags(flags).open(root.path().join(LOG)).unwrap();
        assert!(mirror(&root.path().display().to_string(), LOG, "x", true).is_err());
    }

    #[test]
    fn a_folder_that_is_no_tree_and_no_project_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        mirror(&at, LOG, "x", true).unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
        for name in [".substrate.toml", ".substrate.local.toml"] {
            let root = tempfile::tempdir().unwrap();
            fsx::replace(&root.path().join(name), b"", 0o600).unwrap();
            mirror(&root.path().display().to_string(), LOG, "x", true).unwrap();
            assert!(root.path().join(LOG).is_file(), "{name}");
        }
    }

    #[test]
    fn nothing_else_is_written() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        for path in [
            ".claude/settings.json",
            ".claude/coordination/../settings.json",
            ".claude/coordination/x/y",
            ".claude/coordination",
            "/etc/passwd",
        ] {
            assert!(mirror(&at, path, "x", true).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), root.path().join(".claude")).unwrap();
        let at = root.path().display().to_string();
        std::fs::create_dir(root.path().join(".git")).unwrap();
        assert!(mirror(&at, ".claude/coordination/hook-debug.log", "x", true).is_err());
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_second_name() {
        let (root, other) = (tree(), tempfile::tempdir().unwrap());
        let mine = other.path().join("mine");
        fsx::replace(&mine, b"mine", 0o600).unwrap();
        std::fs::create_dir_all(root.path().join(MIRRORS)).unwrap();
        for path in [LOG, LOCKS] {
            std::fs::hard_link(&mine, root.path().join(path)).unwrap();
        }
        let at = root.path().display().to_string();
        assert!(mirror(&at, LOG, "x", true).is_err());
        mirror(&at, LOCKS, "{}", false).unwrap();
        assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
        assert_eq!(std::fs::read(root.path().join(LOCKS)).unwrap(), b"{}", "a file of its own");
    }
}
