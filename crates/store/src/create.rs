//! A new database: built under another name, and put in place when it is whole.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OpenFlags};
use substrate_core::Timestamp;

use crate::error::{StoreError, db_error};
use crate::log::log_path;
use crate::migrate::{self, Schema};

/// The prefix of half-written files in the state home. The daemon removes what a killed process left.
const PART: &str = ".substrate-part-";

/// Builds a database with this schema. If another process was faster, its database stays.
pub(crate) fn create(path: &Path, schema: Schema<'_>, now: Timestamp) -> Result<(), StoreError> {
    // The folder itself is locked, so no lock file is needed. If that fails, the one writer holds `daemon.lock` anyway.
    let folder = path.parent().and_then(|folder| File::open(folder).ok());
    let _locked = folder.as_ref().map(File::lock);
    if !is_absent(path) {
        return Ok(());
    }
    set_aside_log(path, now)?;
    let part = Part::new(path)?;
    build(&part.0, schema, now)?;
    // On disk before it counts, so that a power cut leaves a whole database or none.
    let fail = |source| StoreError::Create { path: path.to_owned(), source };
    File::open(&part.0).and_then(|file| file.sync_all()).map_err(fail)?;
    put(&part.0, path).map_err(fail)
}

fn build(path: &Path, schema: Schema<'_>, now: Timestamp) -> Result<(), StoreError> {
    let fail = |error| StoreError::Open { path: path.to_owned(), source: db_error(error) };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(fail)?;
    // It counts only once it is whole, so neither rollback nor sync is needed.
    conn.execute_batch("pragma journal_mode = off; pragma synchronous = off;").map_err(fail)?;
    migrate::build(&conn, schema, now)?;
    conn.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
    conn.close().map_err(|(_, error)| fail(error))
}

/// Nothing has this name, not even a dangling link.
pub(crate) fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Moves it in place, unless the name is taken.
fn put(part: &Path, path: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(part, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no hard links. There is one writer, so the name is still free.
        Err(_) => std::fs::rename(part, path),
        Ok(()) => Ok(()),
    }
}

/// SQLite would apply the log of a lost database to the new one.
fn set_aside_log(path: &Path, now: Timestamp) -> Result<(), StoreError> {
    let log = log_path(path);
    if log.symlink_metadata().is_ok() {
        let mut aside = log.clone().into_os_string();
        aside.push(format!(".lost-{}", now.0));
        std::fs::rename(&log, PathBuf::from(aside))
            .map_err(|source| StoreError::Move { path: log, source })?;
    }
    let _maybe_absent = std::fs::remove_file(shm_path(path));
    Ok(())
}

pub(crate) fn shm_path(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-shm");
    path.into()
}

/// A new file for its owner only, which goes away with this value. SQLite gives its log the same mode.
pub(crate) struct Part(pub(crate) PathBuf);

impl Part {
    /// In the folder of that file.
    pub(crate) fn new(beside: &Path) -> Result<Self, StoreError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = beside.with_file_name(format!("{PART}{}-{n}.db", std::process::id()));
        let _of_an_older_process = std::fs::remove_file(&path);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| StoreError::Create { path: path.clone(), source })?;
        Ok(Self(path))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        for path in [self.0.clone(), log_path(&self.0), shm_path(&self.0)] {
            let _maybe_absent = std::fs::remove_file(path);
        }
    }
}
