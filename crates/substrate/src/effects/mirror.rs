//! Mirrors: files in a project's folder that show our state, such as the list of locks.

use std::io::Write as _;
use std::path::Path;

use rustix::fs::FileType;

use crate::config::marks;
use crate::inside::Folder;

/// Where a project has its mirrors. We write nowhere else in it.
const MIRRORS: &str = substrate_core::seed::COORDINATION;

/// A log that gets longer is rotated. The previous one is kept beside it.
const MAX_LOG: u64 = 4 << 20;

/// Writes a file of a project, or appends to one.
pub(super) fn write(root: &str, path: &str, text: &str, append: bool) -> std::io::Result<()> {
    let refused = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
    let name = Path::new(path).strip_prefix(MIRRORS).map_err(|_| refused())?;
    let name =
        name.to_str().filter(|name| !name.is_empty() && !name.contains('/')).ok_or_else(refused)?;
    let project = Folder::root(root)?;
    // Only projects get mirrors. Any other folder, such as a home, is left untouched.
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

/// Git should not offer our files for a commit. The user's own rules stay.
fn hide(folder: &Folder) -> std::io::Result<()> {
    match folder.create(".gitignore", 0o644) {
        Ok(mut rules) => rules.write_all(b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
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
        write(&at, ".claude/coordination/file-locks.json", "{}", false).unwrap();
        write(&at, ".claude/coordination/file-locks.json", "{1}", false).unwrap();
        write(&at, ".claude/coordination/hook-debug.log", "a\n", true).unwrap();
        write(&at, ".claude/coordination/hook-debug.log", "b\n", true).unwrap();
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
        write(&at, LOG, "a\n", true).unwrap();
        assert_eq!(std::fs::read(&rules).unwrap(), b"*.log\n");
        std::fs::remove_file(&rules).unwrap();
        write(&at, LOG, "b\n", true).unwrap();
        assert!(!rules.exists());
    }

    #[test]
    fn a_pipe_keeps_no_writer_waiting() {
        let root = tree();
        let folder = root.path().join(MIRRORS);
        std::fs::create_dir_all(&folder).unwrap();
        for path in [LOG, LOCKS] {
            fsx::pipe(&root.path().join(path));
        }
        let (tell, told) = std::sync::mpsc::channel();
        let at = root.path().display().to_string();
        std::thread::spawn(move || {
            tell.send((write(&at, LOG, "x", true), write(&at, LOCKS, "{}", false)))
        });
        let (log, locks) = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(log.is_err() && locks.is_ok());
        assert!(!folder.join("hook-debug.log").metadata().unwrap().is_file());
        assert_eq!(std::fs::read(folder.join("file-locks.json")).unwrap(), b"{}");
        // With a reader it could be written. It is refused all the same.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut options = OpenOptions::new();
        let _reader = options.read(true).custom_flags(flags).open(root.path().join(LOG)).unwrap();
        assert!(write(&root.path().display().to_string(), LOG, "x", true).is_err());
    }

    #[test]
    fn a_folder_that_is_no_tree_and_no_project_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        write(&at, LOG, "x", true).unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
        for name in [".substrate.toml", ".substrate.local.toml"] {
            let root = tempfile::tempdir().unwrap();
            fsx::replace(&root.path().join(name), b"", 0o600).unwrap();
            write(&root.path().display().to_string(), LOG, "x", true).unwrap();
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
            assert!(write(&at, path, "x", true).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), root.path().join(".claude")).unwrap();
        let at = root.path().display().to_string();
        std::fs::create_dir(root.path().join(".git")).unwrap();
        assert!(write(&at, ".claude/coordination/hook-debug.log", "x", true).is_err());
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
        assert!(write(&at, LOG, "x", true).is_err());
        write(&at, LOCKS, "{}", false).unwrap();
        assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
        assert_eq!(std::fs::read(root.path().join(LOCKS)).unwrap(), b"{}", "a file of its own");
    }
}
