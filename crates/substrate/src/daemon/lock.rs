//! One writer: the process that holds the lock on `daemon.lock` is the daemon. The lock ends with the process, so it is
//! never stale. The file's content says which process that is, so that one that is frozen can be replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::holder::Process;
use crate::config::Home;
use crate::error::{AppError, Kind, Result};

/// The lock. It belongs to the open file, so it can be handed to another process and is never free in between.
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
            // The file may have been removed between the two calls; then the lock guards nothing.
            let lock = Self(file);
            if lock.identity().is_some_and(|ours| identity(&home.lock()) == Some(ours)) {
                return Ok(Some(lock));
            }
        }
    }

    /// The lock that the process that started us put on our stdout.
    pub(super) fn inherited() -> Result<Self> {
        let fail = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
        let fd = std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| fail(&error))?;
        Ok(Self(File::from(fd)))
    }

    /// Says that this process is the daemon. Where it can't be written, nobody can replace us; that is all.
    pub(super) fn sign(&mut self) {
        let Some(process) = Process::this() else { return };
        let text = format!("{} {}\n", process.pid, process.began);
        let _unsigned = self.0.set_len(0).and_then(|()| {
            self.0.seek(SeekFrom::Start(0))?;
            self.0.write_all(text.as_bytes())
        });
    }

    /// Which file it is.
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

/// The process that signed the lock, if it still runs.
pub(crate) fn holder(home: &Home) -> Option<Process> {
    let text = std::fs::read_to_string(home.lock()).ok()?;
    let (pid, began) = text.trim().split_once(' ')?;
    let process = Process { pid: pid.parse().ok()?, began: began.parse().ok()? };
    process.is_there().then_some(process)
}

/// Which file a path is, to notice that it is not ours any more.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}
