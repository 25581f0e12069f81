//! What can go wrong with a database file, in the words of whoever has to mend it.

use std::path::PathBuf;

use rusqlite::ErrorCode;
use substrate_core::DbError;
use thiserror::Error;

/// A database that could not be opened, migrated or copied.
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
    #[error(transparent)]
    Db(#[from] DbError),
}

/// SQLite's words in ours.
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
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DbError::Busy,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            DbError::ReadOnly
        }
        _ => DbError::Other { detail: error.to_string() },
    }
}
