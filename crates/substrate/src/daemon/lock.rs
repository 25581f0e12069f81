//! One instance: whoever holds the lock on `daemon.lock` is the daemon. The lock ends with the process, so nothing stale
//! can be left behind; the file's content means nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use crate::config::Home;
use crate::error::{AppError, Kind, Result};

/// The lock. It belongs to the open file, so it can be handed to another process and is never free in between.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// `None`: somebody else has it.
    pub(crate) fn try_take(home: &Home) -> Result<Option<Self>> {
        let fail = |error: &std::io::Error| {
            AppError::from_error(Kind::State, error)
                .hint(format!("`{}` must be writable for you", home.root().display()))
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(home.lock())
            .map_err(|error| fail(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(fail(&error)),
        }
    }

    /// The lock that the process that started us put on our stdout.
    pub(super) fn inherited() -> Result<Self> {
        let fail = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
        let fd = std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| fail(&error))?;
        Ok(Self(File::from(fd)))
    }

    /// A handle for a process that we start.
    pub(super) fn to_hand_over(&self) -> std::io::Result<File> {
        self.0.try_clone()
    }

    pub(super) fn into_file(self) -> File {
        self.0
    }
}
