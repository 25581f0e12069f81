//! The files of a task: logs and plans that agents write for people and for their own next session.

use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Component, Path};

use rustix::fs::FileType;

use crate::inside::Folder;

/// How deep below its working tree a task may be.
const MAX_DEPTH: usize = 8;

/// The longest artifact. A longer one helps no reader.
const MAX_BYTES: u64 = 16 << 20;

/// Appends text to an artifact. With `fresh`, only if it does not exist yet.
pub(super) fn add(root: &str, dir: &str, name: &str, text: &str, fresh: bool) -> Result<()> {
    let (name, dir) = (checked(name)?, checked_dir(dir)?);
    let folder = Folder::root(root)?.made_at(dir)?;
    let mut file = match fresh {
        true => match folder.create(name, 0o666) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            made => made?,
        },
        false => {
            let (file, length) = folder.append(name, 0o666)?;
            if length > MAX_BYTES {
                return Err(refused());
            }
            file
        }
    };
    file.write_all(text.as_bytes())
}

/// Whether `add` can work: nothing odd is at that path, and we may write there.
pub(super) fn takes(root: &str, dir: &str, name: &str) -> bool {
    may_take(root, dir, name).unwrap_or(false)
}

fn may_take(root: &str, dir: &str, name: &str) -> Result<bool> {
    let (name, dir) = (checked(name)?, checked_dir(dir)?);
    let mut here = Folder::root(root)?;
    for step in dir.components() {
        match here.at(step) {
            Ok(folder) => here = folder,
            // It would be created in the nearest folder that exists.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(here.may_write()),
            Err(error) => return Err(error),
        }
    }
    match here.look(name) {
        Ok(found) => {
            let is_plain = found.kind == FileType::RegularFile && !found.has_other_names;
            Ok(is_plain && found.n_bytes <= MAX_BYTES && here.append(name, 0o666).is_ok())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(here.may_write()),
        Err(error) => Err(error),
    }
}

/// A folder below the root, not too deep, and not git's own.
fn checked_dir(dir: &str) -> Result<&Path> {
    let path = Path::new(dir);
    let parts: Vec<Component<'_>> = path.components().collect();
    let is_fine = |part: &Component<'_>| matches!(part, Component::Normal(name) if *name != ".git");
    let is_right = !parts.is_empty() && parts.len() <= MAX_DEPTH && parts.iter().all(is_fine);
    if is_right { Ok(path) } else { Err(refused()) }
}

fn checked(name: &str) -> Result<&str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let is_plain = !name.starts_with('.') && name.len() <= 128 && name.bytes().all(plain);
    if is_plain && name.ends_with(".md") { Ok(name) } else { Err(refused()) }
}

fn refused() -> Error {
    ErrorKind::InvalidInput.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(root: &Path, path: &str) -> String {
        std::fs::read_to_string(root.join(path)).unwrap_or_default()
    }

    #[test]
    fn text_is_added_at_the_end_and_a_template_only_once() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        add(&at, "tasks/x", "1_FIX_LOG.md", "a\n", false).unwrap();
        add(&at, "tasks/x", "1_FIX_LOG.md", "b\n", false).unwrap();
        add(&at, "tasks/x", "1_FIX_PLAN.md", "plan\n", true).unwrap();
        add(&at, "tasks/x", "1_FIX_PLAN.md", "plan\n", true).unwrap();
        assert_eq!(read(root.path(), "tasks/x/1_FIX_LOG.md"), "a\nb\n");
        assert_eq!(read(root.path(), "tasks/x/1_FIX_PLAN.md"), "plan\n");
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        assert!(takes(&at, "tasks/x", "a.md"), "folders are made");
        add(&at, "tasks/x", "a.md", "a\n", false).unwrap();
        assert!(takes(&at, "tasks/x", "a.md"));
        add(&at, "tasks/x", "b.md", "b\n", false).unwrap();
        assert!(!takes(&at, "tasks/x/b.md", "a.md"), "a file is not a folder");
        let link = root.path().join("tasks/x/c.md");
        std::os::unix::fs::symlink("a.md", &link).unwrap();
        assert!(!takes(&at, "tasks/x", "c.md"), "a link");
        std::fs::remove_file(&link).unwrap();
        let env = crate::config::Env::of_this_process();
        let made = crate::proc::command("mkfifo", &env).arg(&link).status().unwrap();
        assert!(made.success());
        assert!(!takes(&at, "tasks/x", "c.md") && add(&at, "tasks/x", "c.md", "x", false).is_err());
        assert!(!takes(&at, "../x", "a.md") && !takes(&at, "x", "a.sh"));
    }

    #[test]
    fn nothing_else_is_written() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().display().to_string();
        for (dir, name) in [
            ("", "a.md"),
            ("..", "a.md"),
            ("/etc", "a.md"),
            ("a/../..", "a.md"),
            (".git/hooks", "a.md"),
            ("a/b/c/d/e/f/g/h/i", "a.md"),
            ("a", "../a.md"),
            ("a", ".a.md"),
            ("a", "a.sh"),
            ("a", ""),
        ] {
            assert!(add(&at, dir, name, "x", false).is_err(), "{dir} {name}");
        }
        assert!(add("relative", "a", "a.md", "x", false).is_err());
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), root.path().join("tasks")).unwrap();
        std::fs::create_dir(root.path().join("plain")).unwrap();
        let target = other.path().join("target");
        std::os::unix::fs::symlink(&target, root.path().join("plain/a.md")).unwrap();
        let at = root.path().display().to_string();
        assert!(add(&at, "tasks/x", "a.md", "x", false).is_err());
        assert!(add(&at, "plain", "a.md", "x", false).is_err());
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
