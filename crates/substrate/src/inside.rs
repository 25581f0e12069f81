//! Files inside a project, opened step by step from its root. A project comes from outside, so no step follows a link.
//! Each step starts from an open folder and not from a path, so what was checked is what is used. Anything may be a
//! fifo with no reader, so files are opened non-blocking, and only regular files are used. A file with a second name is
//! not written, because that name may be anywhere.
//!
//! Everything that we read from a project, or write into one, goes through here.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::{fsx, proc};

/// The first step of a path below that root which is a link. `None`: there is none, or the path is not below the root.
pub(crate) fn link(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut here = root.to_owned();
    path.strip_prefix(root).ok()?.components().find_map(|step| {
        here.push(step);
        here.is_symlink().then(|| here.clone())
    })
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// A folder's entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryInfo {
    pub(crate) kind: FileType,
    pub(crate) n_bytes: u64,
    pub(crate) has_other_names: bool,
    /// When it was changed or moved here, by the system (ctime), in milliseconds since 1970.
    pub(crate) stamp_ms: i64,
    /// When its content was changed, by its own claim (mtime), in milliseconds since 1970.
    pub(crate) changed_ms: i64,
}

impl Folder {
    /// The root folder. The path to it is the user's own, and may contain links.
    pub(crate) fn root(path: impl AsRef<Path>) -> Result<Self> {
        if !path.as_ref().is_absolute() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path.as_ref(), flags, Mode::empty())?))
    }

    /// A folder below this one, any number of steps down.
    pub(crate) fn at(&self, relative: impl AsRef<Path>) -> Result<Self> {
        let mut here: Option<Self> = None;
        for name in steps(relative.as_ref())? {
            here = Some(here.as_ref().unwrap_or(self).below(name)?);
        }
        here.map_or_else(|| Ok(Self(self.0.try_clone()?)), Ok)
    }

    /// The same, created if necessary.
    pub(crate) fn made_at(&self, relative: impl AsRef<Path>) -> Result<Self> {
        let mut here: Option<Self> = None;
        for name in steps(relative.as_ref())? {
            here = Some(here.as_ref().unwrap_or(self).made(name)?);
        }
        here.map_or_else(|| Ok(Self(self.0.try_clone()?)), Ok)
    }

    /// A folder in this one.
    pub(crate) fn below(&self, name: &str) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(self.0.as_fd(), plain(name)?, flags, Mode::empty())?))
    }

    /// The same, created if necessary.
    pub(crate) fn made(&self, name: &str) -> Result<Self> {
        match self.below(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match rustix::fs::mkdirat(self.0.as_fd(), plain(name)?, Mode::from(0o755)) {
                    // Another process was quicker.
                    Ok(()) | Err(Errno::EXIST) => self.below(name),
                    Err(error) => Err(error.into()),
                }
            }
            other => other,
        }
    }

    /// Opens a file to append to, created with that mode if necessary. Only a regular file with one name.
    pub(crate) fn append(&self, name: &str, mode: u32) -> Result<(File, u64)> {
        self.append_with(name, OFlags::empty(), mode)
    }

    /// Creates a file that must not exist yet.
    pub(crate) fn create(&self, name: &str, mode: u32) -> Result<File> {
        self.append_with(name, OFlags::EXCL, mode).map(|(file, _)| file)
    }

    fn append_with(&self, name: &str, how: OFlags, mode: u32) -> Result<(File, u64)> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOCTTY | how;
        let (file, found) = self.opened(name, flags, Mode::from(mode))?;
        if found.nlink() > 1 {
            return Err(Error::new(ErrorKind::InvalidInput, "the file has a second name"));
        }
        Ok((file, found.len()))
    }

    /// Opens a file to read.
    pub(crate) fn read(&self, name: &str) -> Result<(File, u64)> {
        let (file, found) = self.opened(name, OFlags::RDONLY, Mode::empty())?;
        Ok((file, found.len()))
    }

    fn opened(&self, name: &str, how: OFlags, mode: Mode) -> Result<(File, std::fs::Metadata)> {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.0.as_fd(), plain(name)?, flags, mode);
        let file = File::from(file.map_err(|error| match error {
            Errno::LOOP => Error::new(ErrorKind::InvalidInput, "it is a link"),
            other => other.into(),
        })?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok((file, found))
    }

    /// Puts a file in place of whatever has that name. A reader always sees a whole file.
    pub(crate) fn replace(&self, name: &str, content: &[u8], mode: u32) -> Result<()> {
        let name = plain(name)?;
        let random: String =
            proc::random_id()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let part = format!("{}{random}", fsx::TEMP);
        let written = self.create(&part, mode).and_then(|mut file| file.write_all(content));
        let here = self.0.as_fd();
        let done = written.and_then(|()| Ok(rustix::fs::renameat(here, &part, here, name)?));
        if done.is_err() {
            let _never_made = self.remove_file(&part);
        }
        done
    }

    /// Renames a file, replacing whatever has the new name.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        let here = self.0.as_fd();
        Ok(rustix::fs::renameat(here, plain(from)?, here, plain(to)?)?)
    }

    /// Whether we may write in here.
    pub(crate) fn may_write(&self) -> bool {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(self.0.as_fd(), ".", access, AtFlags::empty()).is_ok()
    }

    /// The names in here, at most `max` of them.
    pub(crate) fn names(&self, max: usize) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for entry in Dir::read_from(self.0.as_fd())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                out.push(name);
            }
            if out.len() == max {
                break;
            }
        }
        Ok(out)
    }

    /// The entry under that name. A link is not followed.
    pub(crate) fn look(&self, name: &str) -> Result<EntryInfo> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(self.0.as_fd(), plain(name)?, flags)?;
        Ok(EntryInfo {
            kind: FileType::from_raw_mode(stat.st_mode),
            n_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            has_other_names: stat.st_nlink > 1,
            stamp_ms: stamp_ms(&stat),
            changed_ms: changed_ms(&stat),
        })
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.0.as_fd(), plain(name)?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.0.as_fd(), plain(name)?, AtFlags::REMOVEDIR)?)
    }
}

/// Refuses a path where a name is needed.
fn plain(name: &str) -> Result<&str> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    if is_plain { Ok(name) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// Opens a file of a project to read, with its length. The path to the root is the user's own.
pub(crate) fn open(root: &Path, relative: impl AsRef<Path>) -> Result<(File, u64)> {
    let relative = relative.as_ref();
    let name =
        relative.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidInput)?;
    let root = Folder::root(root)?;
    match relative.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => root.at(folder)?.read(name),
        None => root.read(name),
    }
}

/// The first `max` bytes of a file of a project, as text.
pub(crate) fn text(root: &Path, relative: impl AsRef<Path>, max: usize) -> Result<String> {
    let (file, _) = open(root, relative)?;
    beginning(file, max)
}

/// The first `max` bytes of an open file, as text.
pub(crate) fn beginning(file: File, max: usize) -> Result<String> {
    let mut bytes = Vec::new();
    file.take(u64::try_from(max).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The names of a path that only leads down.
fn steps(relative: &Path) -> Result<Vec<&str>> {
    let step = |part| match part {
        Component::Normal(name) => name.to_str().ok_or(ErrorKind::InvalidInput.into()),
        _ => Err(Error::from(ErrorKind::InvalidInput)),
    };
    relative.components().map(step).collect()
}

fn changed_ms(stat: &Stat) -> i64 {
    stat.st_mtime.saturating_mul(1_000)
}

fn stamp_ms(stat: &Stat) -> i64 {
    let ms = i64::try_from(stat.st_ctime_nsec / 1_000_000).unwrap_or(0);
    stat.st_ctime.saturating_mul(1_000).saturating_add(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project with a file, and every kind of link out of it to a foreign file.
    fn project() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (root, out) = (folder.path().join("p"), folder.path().join("out"));
        for folder in [root.join("a/b"), out.join("b")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        fsx::replace(&root.join("a/b/f"), b"mine", 0o600).unwrap();
        fsx::replace(&out.join("b/f"), b"secret", 0o600).unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        link(&out, "folder");
        link(&out.join("b/f"), "file");
        link(Path::new("a"), "inner");
        link(Path::new("b"), "a/c");
        link(Path::new("nowhere"), "dangling");
        std::fs::hard_link(out.join("b/f"), root.join("hard")).unwrap();
        fsx::pipe(&root.join("pipe"));
        (folder, root, out)
    }

    #[test]
    fn only_regular_files_that_no_link_leads_to_are_read() {
        let (_folder, root, _) = project();
        assert_eq!(text(&root, "a/b/f", 3).unwrap(), "min");
        assert_eq!(text(&root, "hard", 9).unwrap(), "secret", "it can't be told from any other");
        for path in [
            "folder/b/f",
            "file",
            "inner/b/f",
            "a/c/f",
            "dangling",
            "pipe",
            "a",
            "../out/b/f",
            "/etc/hosts",
            "",
            ".",
            "a/../file",
            "gone",
        ] {
            assert!(text(&root, path, 9).is_err(), "{path}");
        }
        assert!(Folder::root("p").is_err() && Folder::root(root.join("file")).is_err());
    }

    #[test]
    fn nothing_is_written_through_a_link_or_a_second_name() {
        let (_folder, root, out) = project();
        let here = Folder::root(&root).unwrap();
        for name in ["file", "folder", "dangling", "hard", "pipe", "a", "..", "a/x", ""] {
            assert!(here.append(name, 0o600).is_err(), "{name}");
            assert!(here.create(name, 0o600).is_err(), "{name}");
        }
        for path in ["folder/new", "inner/new", "dangling/new", "../out/new", "pipe/new"] {
            assert!(here.made_at(path).is_err(), "{path}");
        }
        // The name is replaced, never what it led to.
        for name in ["file", "hard", "pipe", "dangling"] {
            here.replace(name, b"new", 0o600).unwrap();
            assert_eq!(text(&root, name, 9).unwrap(), "new", "{name}");
        }
        assert!(here.replace("a", b"new", 0o600).is_err());
        assert_eq!(std::fs::read(out.join("b/f")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
        assert!(!root.join("nowhere").exists());
        let names = here.names(100).unwrap();
        assert!(!names.iter().any(|name| name.starts_with(fsx::TEMP)), "{names:?}");
    }

    #[test]
    fn folders_are_made_and_files_added_to() {
        let (_folder, root, _) = project();
        let deep = Folder::root(&root).unwrap().made_at("a/x/y").unwrap();
        for _ in 0..2 {
            deep.append("log", 0o600).unwrap().0.write_all(b"line\n").unwrap();
        }
        assert_eq!(text(&root, "a/x/y/log", 99).unwrap(), "line\nline\n");
        assert!(deep.may_write());
    }
}
