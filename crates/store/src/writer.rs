//! The one writer of a process, and its transactions.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use substrate_core::{Db, DbError, Param, Row};

use crate::bind;
use crate::error::{StoreError, db_error};

/// Whether a commit must be on the disk itself before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of any process; a power cut may take the last moments. For what nobody was promised.
    Normal,
    /// On disk. For everything that is acknowledged to somebody.
    Full,
}

/// How often a writer that waits for another looks again.
const STEP: Duration = Duration::from_millis(1);

/// A connection that writes. There is one per process.
#[derive(Debug)]
pub struct Writer {
    conn: Connection,
    path: PathBuf,
    patience: Duration,
    durability: Durability,
}

impl Writer {
    /// Opens the database, and creates it (for its owner only) if it is not there. The schema is not looked at.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        create_private(path)?;
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let conn = Connection::open_with_flags(path, flags)?;
            conn.busy_timeout(patience)?;
            conn.set_prepared_statement_cache_capacity(128);
            // The last one to close would otherwise copy the whole log, while somebody waits for it to end.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            // One plan per statement. Without it, SQLite plans a statement on a table with partial indexes anew for
            // every value that is bound: 8 µs instead of 3 for a point select.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            conn.pragma_update(None, "synchronous", "normal")?;
            Ok(conn)
        };
        let fail = |source| StoreError::Open { path: path.to_owned(), source };
        let conn = open().map_err(|error| fail(db_error(error)))?;
        // SQLite would open a file that it can't write for reading only, and say so at the first write.
        if conn.is_readonly("main").map_err(|error| fail(db_error(error)))? {
            return Err(fail(DbError::ReadOnly));
        }
        Ok(Self { conn, path: path.to_owned(), patience, durability: Durability::Normal })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves copying the log into the database to somebody else (see `checkpoint`), so that no commit pays for it.
    pub fn leave_checkpoints(&mut self) -> Result<(), DbError> {
        self.conn.pragma_update(None, "wal_autocheckpoint", 0).map_err(db_error)
    }

    /// Copies what can be copied of the log into the database, without holding anybody up.
    pub fn checkpoint(&mut self) -> Result<(), DbError> {
        self.conn.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(())).map_err(db_error)
    }

    /// Copies the whole log and empties it, if it is longer than `max` bytes and nobody is in the way. For processes
    /// that come and go: none of them would ever find the log short enough to begin it anew.
    pub fn shorten_log(&mut self, max: u64) -> Result<(), DbError> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        if std::fs::metadata(log).is_ok_and(|found| found.len() > max) {
            self.conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
            self.conn
                .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
                .map_err(db_error)?;
        }
        Ok(())
    }

    /// A number that changes when somebody else has written to the database.
    pub fn foreign_writes(&mut self) -> Result<i64, DbError> {
        self.conn.query_row("pragma data_version", [], |row| row.get(0)).map_err(db_error)
    }

    /// Begins a transaction that writes.
    pub fn begin(&mut self, durability: Durability) -> Result<Tx<'_>, DbError> {
        self.set_durability(durability)?;
        // SQLite's own waiting goes in steps of up to 100 ms; whoever waits so long is overtaken again and again.
        let begun = Instant::now();
        self.conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        loop {
            match bind::execute(&self.conn, "begin immediate", &[]) {
                Err(DbError::Busy) if begun.elapsed() < self.patience => std::thread::sleep(STEP),
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        self.conn.busy_timeout(self.patience).map_err(db_error)?;
        Ok(Tx { conn: &self.conn, open: true })
    }

    /// Begins a transaction in which reading works, whoever holds the database, and writing fails at once. For a verdict
    /// that can't wait; it is never committed.
    pub fn begin_reading(&mut self) -> Result<Tx<'_>, DbError> {
        self.conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        Tx::begin_reading(&self.conn)
    }

    fn set_durability(&mut self, durability: Durability) -> Result<(), DbError> {
        if self.durability != durability {
            let level = if durability == Durability::Full { "full" } else { "normal" };
            self.conn.pragma_update(None, "synchronous", level).map_err(db_error)?;
            self.durability = durability;
        }
        Ok(())
    }

    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }
}

/// An open transaction. Dropped without `commit`, it never happened.
#[derive(Debug)]
pub struct Tx<'a> {
    conn: &'a Connection,
    open: bool,
}

impl<'a> Tx<'a> {
    /// A consistent state to look at. It is never committed.
    pub(crate) fn begin_reading(conn: &'a Connection) -> Result<Self, DbError> {
        bind::execute(conn, "begin", &[])?;
        Ok(Self { conn, open: true })
    }
}

impl Tx<'_> {
    pub fn commit(mut self) -> Result<(), DbError> {
        // Some failures (a full disk) make SQLite roll back by itself; to go on as if nothing had happened would
        // acknowledge what is lost.
        if self.conn.is_autocommit() {
            self.open = false;
            return Err(DbError::Other { detail: "the transaction was rolled back".to_owned() });
        }
        bind::execute(self.conn, "commit", &[])?;
        self.open = false;
        Ok(())
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.open {
            // SQLite has rolled back by itself where this fails.
            let _already_gone = bind::execute(self.conn, "rollback", &[]);
        }
    }
}

impl Db for Tx<'_> {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        bind::execute(self.conn, sql, params)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        bind::query(self.conn, sql, params, each)
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        bind::size_bytes(self.conn)
    }
}

/// SQLite gives its log the mode of the database, so it is enough to create that for the owner only.
fn create_private(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::Create { path: path.to_owned(), source }),
    }
}
