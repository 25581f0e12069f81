//! A database at its path, to look at and to look after.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use substrate_core::{Db, DbError, Timestamp};

use crate::error::{StoreError, db_error};
use crate::migrate::{self, Prepared, Schema, Setup};
use crate::tx::Tx;
use crate::{backup, log};

/// How many idle connections are kept. Each keeps its pages and statements.
const KEPT: usize = 2;

/// Statements that a connection keeps prepared: as many as all pages of the dashboard use.
const STATEMENTS: usize = 128;

/// The pages that a connection keeps, in KiB. More would only repeat what the system keeps of the file.
const CACHE_KB: i64 = 1_024;

/// Steps are counted in units of this many.
const COUNTED: u32 = 10;

/// A database that may be there, at a path. It only reads, and it never holds up the writer.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Database {
    /// A healthy log is never longer than this.
    pub const MAX_LOG_BYTES: u64 = log::MAX_LOG;

    /// Nothing is opened before it is needed.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    /// Opens it for writing, creates it if there is none, and brings it to the schema. Only for the holder of
    /// `daemon.lock`.
    pub fn prepare(&self, setup: &Setup<'_>) -> Result<Prepared, StoreError> {
        migrate::prepare(&self.path, setup)
    }

    /// Runs `body` on one consistent state of the database.
    pub fn read<T, E: From<DbError>>(
        &self,
        body: impl FnOnce(&mut dyn Db) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let conn = match kept {
            Some(conn) => conn,
            None => self.open().map_err(db_error)?,
        };
        let result = body(&mut Tx::begin_reading(&conn)?);
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < KEPT
        {
            idle.push(conn);
        }
        result
    }

    /// Runs `body` as `read` does, on a connection of its own, and counts the steps of SQLite's machine. They are the same on
    /// every machine, so tests judge by them what a look costs.
    pub fn read_counted<T, E: From<DbError>>(
        &self,
        body: impl FnOnce(&mut dyn Db) -> Result<T, E>,
    ) -> Result<(T, u64), E> {
        let mut conn = self.open().map_err(db_error)?;
        let n_steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&n_steps);
        let count = move || {
            counted.fetch_add(u64::from(COUNTED), Ordering::Relaxed);
            false
        };
        let every = i32::try_from(COUNTED).unwrap_or(1);
        conn.progress_handler(every, Some(count)).map_err(db_error)?;
        let out = body(&mut Tx::begin_reading(&conn)?)?;
        Ok((out, n_steps.load(Ordering::Relaxed)))
    }

    /// How many steps of a schema it lacks. An error where it has steps that the schema does not know, or others.
    pub fn missing_steps(&self, schema: Schema<'_>) -> Result<usize, StoreError> {
        self.read(|db| migrate::missing_steps(db, schema))
    }

    /// Reads all of it and returns what is damaged; nothing if it is whole.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        backup::check(&self.path)
    }

    /// Copies it, as it is now, to a new file. An existing file is never overwritten.
    pub fn back_up(&self, target: &Path) -> Result<(), StoreError> {
        backup::back_up(&self.path, target)
    }

    /// Makes the day's copy if there is none yet and the database is not too large, and removes the oldest copies.
    pub fn back_up_daily(
        &self,
        folder: &Path,
        now: Timestamp,
    ) -> Result<Option<PathBuf>, StoreError> {
        backup::daily(&self.path, folder, now)
    }

    /// Puts a copy in its place and returns where the old one was moved. Only for the holder of `daemon.lock`.
    pub fn restore(&self, copy: &Path, now: Timestamp) -> Result<Option<PathBuf>, StoreError> {
        backup::restore(&self.path, copy, now)
    }

    /// The newest copy in a folder that is not damaged.
    pub fn newest_good_copy(folder: &Path) -> Option<PathBuf> {
        backup::newest_good(folder)
    }

    /// How long its log is.
    pub fn log_bytes(&self) -> u64 {
        log::log_size(&self.path)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.path, flags)?;
        conn.busy_timeout(Duration::from_secs(2))?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        conn.pragma_update(None, "cache_size", -CACHE_KB)?;
        // One plan per statement, as in the writer.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(conn)
    }
}
