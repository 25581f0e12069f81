//! One writer: the process that holds the lock on `daemon.lock` is the daemon. The lock ends with the process, so it is
//! never stale. The file names that process, so a frozen one can be replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use ipc::place;

use super::holder::Process;
use crate::config::Home;
use crate::error::{AppError, Kind, Result};

/// The lock. It belongs to the open file, so it can be handed to another process without ever being free.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// `None`: another process has it.
    pub(crate) fn try_take(home: &Home) -> Result<Option<Self>> {
        let fail = |error: &std::io::Error| {
            AppError::from_error(Kind::State, error)
                .hint(format!("`{}` must be writable for you", home.root().display()))
        };
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(home.lock())
                .map_err(|error| fail(&error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(fail(&error)),
            }
            // The file may have been removed between the two calls. Then the lock guards nothing.
            let lock = Self(file);
            if lock.identity().is_some_and(|ours| identity(&home.lock()) == Some(ours)) {
                return Ok(Some(lock));
            }
        }
    }

    /// The lock that our parent process put on our stdout.
    pub(super) fn inherited() -> Result<Self> {
        let fail = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
        let fd = std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| fail(&error))?;
        Ok(Self(File::from(fd)))
    }

    /// Records that this process is the daemon. If that fails, a frozen daemon can't be replaced, but nothing else is
    /// lost.
    pub(super) fn sign(&self) {
        sign_for(&self.0, std::process::id());
    }

    /// The file's device and inode.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        self.0.metadata().ok().map(|found| (found.dev(), found.ino()))
    }

    /// A handle for a process that we start.
    pub(super) fn to_hand_over(&self) -> std::io::Result<File> {
        self.0.try_clone()
    }

    pub(super) fn into_file(self) -> File {
        self.0
    }
}

/// Records that this process is the daemon. A parent does so for its child: a daemon that is stopped before it can sign
/// must be found, too. Both write the same, and at the same place, because the two handles share their position.
pub(super) fn sign_for(lock: &File, pid: u32) {
    let Some(process) = Process::of(pid) else { return };
    let text = format!("{} {}\n", process.pid, process.began);
    // A write past the limit would end this process.
    if place::max_file_size() < text.len() as u64 {
        return;
    }
    let _unsigned =
        lock.write_all_at(text.as_bytes(), 0).and_then(|()| lock.set_len(text.len() as u64));
}

/// The process that signed the lock, if it still runs.
pub(crate) fn holder(home: &Home) -> Option<Process> {
    let text = std::fs::read_to_string(home.lock()).ok()?;
    let (pid, began) = text.trim().split_once(' ')?;
    let process = Process { pid: pid.parse().ok()?, began: began.parse().ok()? };
    process.is_there().then_some(process)
}

/// A path's device and inode, to notice when the file is no longer ours.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}
