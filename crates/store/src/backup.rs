//! Copies and checks of a database that may be in use.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use crate::error::{StoreError, db_error};
use crate::writer::Writer;

/// Copies the database, as it is now, to a new file. An existing file is never overwritten.
pub fn back_up(writer: &Writer, target: &Path) -> Result<(), StoreError> {
    let fail = |source| StoreError::BackUp { path: target.to_owned(), source };
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|source| StoreError::Create { path: folder.to_owned(), source })?;
    }
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)
        .map_err(|source| StoreError::Create { path: target.to_owned(), source })?;
    let mut copy = Connection::open(target).map_err(|error| fail(db_error(error)))?;
    let backup = Backup::new(writer.conn(), &mut copy).map_err(|error| fail(db_error(error)))?;
    // All in one step: it sees one state of the database, however busy the writer is.
    backup.run_to_completion(i32::MAX, Duration::ZERO, None).map_err(|error| fail(db_error(error)))
}

/// Reads the whole database; what is damaged, in SQLite's words. Empty: nothing is.
pub fn check(path: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(Duration::from_secs(5))?;
        let mut statement = conn.prepare("pragma integrity_check(20)")?;
        statement.query_map([], |row| row.get::<_, String>(0))?.collect()
    };
    let lines = read()
        .map_err(|error| StoreError::Open { path: path.to_owned(), source: db_error(error) })?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
