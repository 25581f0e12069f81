//! Folders of a project, step by step from its root. A project comes from outside: no step follows a link, and what was
//! looked at is what is used, since each step starts from an open folder and not from a path.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// An open folder.
pub(super) struct Folder(OwnedFd);

/// What a folder has under a name.
pub(super) struct Found {
    pub(super) kind: FileType,
    /// In milliseconds since 1970.
    pub(super) changed_ms: i64,
}

impl Folder {
    /// The folder that everything else is below. How one comes here is the user's own affair, links and all.
    pub(super) fn root(path: &str) -> Result<Self> {
        if !Path::new(path).is_absolute() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// A folder in this one.
    pub(super) fn below(&self, name: &str) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(self.0.as_fd(), plain(name)?, flags, Mode::empty())?))
    }

    /// The same, made if it is not there.
    pub(super) fn made(&self, name: &str) -> Result<Self> {
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

    /// A file to add to. Only a plain file of one name: a pipe would wait, and a second name may be anywhere.
    pub(super) fn append(&self, name: &str) -> Result<(File, u64)> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.0.as_fd(), plain(name)?, flags, Mode::from(0o644))?;
        checked(File::from(file))
    }

    /// A file to read.
    pub(super) fn read(&self, name: &str) -> Result<(File, u64)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.0.as_fd(), plain(name)?, flags, Mode::empty())?;
        checked(File::from(file))
    }

    /// The names in here, at most `max` of them.
    pub(super) fn names(&self, max: usize) -> Result<Vec<String>> {
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

    /// What is there under that name; a link is a link.
    pub(super) fn look(&self, name: &str) -> Result<Found> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(self.0.as_fd(), plain(name)?, flags)?;
        Ok(Found { kind: FileType::from_raw_mode(stat.st_mode), changed_ms: changed_ms(&stat) })
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.0.as_fd(), plain(name)?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.0.as_fd(), plain(name)?, AtFlags::REMOVEDIR)?)
    }
}

/// A name and not a path.
fn plain(name: &str) -> Result<&str> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    if is_plain { Ok(name) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// The file, if it is one, and its length.
fn checked(file: File) -> Result<(File, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() > 1 {
        return Err(Error::new(ErrorKind::InvalidInput, "not a plain file with one name"));
    }
    Ok((file, found.len()))
}

fn changed_ms(stat: &Stat) -> i64 {
    stat.st_mtime.saturating_mul(1_000)
}
