//! What can go wrong with a database file, in words for the person who has to fix it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use substrate_core::DbError;
use thiserror::Error;

/// A database that could not be opened, migrated, copied or restored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("could not open the database `{path}`")]
    Open { path: PathBuf, source: DbError },
    #[error("could not create `{path}`")]
    Create { path: PathBuf, source: std::io::Error },
    #[error(
        "the database was written by a newer version of Substrate: it has step {number} of `{feature}`, which this version does not know"
    )]
    Newer { feature: String, number: i64 },
    #[error("step {number} of `{feature}` in the database is not the one that this version has")]
    Changed { feature: String, number: i64 },
    #[error("could not bring `{feature}` to step {number}")]
    Migrate { feature: String, number: i64, source: DbError },
    #[error("could not copy the database to `{path}`")]
    BackUp { path: PathBuf, source: DbError },
    #[error("the copy `{path}` is damaged ({how})")]
    DamagedCopy { path: PathBuf, how: String },
    #[error("could not move `{path}`")]
    Move { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Db(#[from] DbError),
}

impl StoreError {
    /// The fault of the disk, if it is one. The engine can then go on in memory.
    pub fn storage(&self) -> Option<DbError> {
        match self {
            Self::Open { source, .. }
            | Self::Migrate { source, .. }
            | Self::BackUp { source, .. }
            | Self::Db(source) => Some(source.clone()).filter(DbError::is_storage),
            Self::Create { source, .. } | Self::Move { source, .. } => Some(io_error(source)),
            Self::Newer { .. } | Self::Changed { .. } | Self::DamagedCopy { .. } => None,
        }
    }
}

/// An error of the file system in the words of the database.
fn io_error(error: &std::io::Error) -> DbError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DbError::Full,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => DbError::ReadOnly,
        _ => DbError::Io { detail: error.to_string() },
    }
}

/// Translates SQLite's errors into ours.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` takes")]
pub(crate) fn db_error(error: rusqlite::Error) -> DbError {
    let rusqlite::Error::SqliteFailure(code, _) = &error else {
        return DbError::Other { detail: error.to_string() };
    };
    match code.code {
        ErrorCode::DiskFull => DbError::Full,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            DbError::Corrupt { detail: error.to_string() }
        }
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => DbError::Busy,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            DbError::ReadOnly
        }
        // What EIO, EFBIG (`ulimit -f`) and a file that vanished become.
        ErrorCode::SystemIoFailure => {
            DbError::Io { detail: format!("{error} (code {})", code.extended_code) }
        }
        _ => DbError::Other { detail: error.to_string() },
    }
}

/// The smallest page that a database can have.
const MIN_PAGE: u64 = 512;

/// Fails if a file is too short for a database. SQLite would take it for a new one.
pub(crate) fn refuse_empty(path: &Path) -> Result<(), DbError> {
    match std::fs::metadata(path).map(|found| found.len()) {
        Ok(n @ 0..MIN_PAGE) => Err(DbError::Corrupt { detail: format!("the file has {n} bytes") }),
        _ => Ok(()),
    }
}
