//! The one writer of a database.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use substrate_core::{Db as _, DbError, Memo, Timestamp};

use crate::bind;
use crate::error::{StoreError, db_error, refuse_empty};
use crate::log::{self, Log};
use crate::memory::{self, TakenOver};
use crate::migrate::{self, Schema};
use crate::tx::Tx;

/// Whether a commit must be on the disk itself before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of any process. A power cut may lose the last moments. For writes that no caller was
    /// promised.
    Normal,
    /// On disk. For everything that is acknowledged to a caller.
    Full,
}

/// How often a writer that waits for another looks again.
const STEP: Duration = Duration::from_millis(1);

/// How much the probe writes. A disk with less space than this counts as full.
const PROBE_BYTES: i64 = 256 << 10;

/// A connection that writes. Only the process that holds `daemon.lock` has one.
#[derive(Debug)]
pub struct Writer {
    conn: Connection,
    path: PathBuf,
    patience: Duration,
    durability: Durability,
    /// `None`: in memory.
    log: Option<Log>,
    memo: Memo,
}

impl Writer {
    /// Opens an existing database. Its schema is not checked; see `Database::prepare`.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let mut conn = connect(path, patience)?;
        // A copy that was put in place is not in this mode yet.
        let log = conn
            .pragma_update(None, "journal_mode", "wal")
            .and_then(|()| Log::of(&mut conn, path))
            .map_err(|error| StoreError::Open { path: path.to_owned(), source: db_error(error) })?;
        let durability = Durability::Normal;
        let memo = Memo::default();
        Ok(Self { conn, path: path.to_owned(), patience, durability, log: Some(log), memo })
    }

    /// A database that lives as long as this value, with the whole schema. For a daemon whose disk can't be written.
    pub fn in_memory(schema: Schema<'_>, now: Timestamp) -> Result<Self, StoreError> {
        let conn = Connection::open_in_memory()
            .and_then(|conn| configure(&conn, Duration::ZERO).map(|()| conn))
            .map_err(db_error)?;
        migrate::build(&conn, schema, now)?;
        Ok(Self {
            conn,
            path: ":memory:".into(),
            patience: Duration::ZERO,
            durability: Durability::Normal,
            log: None,
            memo: Memo::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub const fn is_in_memory(&self) -> bool {
        self.log.is_none()
    }

    /// Lets a thread copy the log into the database, so that no commit pays for it.
    pub fn copy_log_aside(&mut self) -> Result<(), StoreError> {
        self.log.as_mut().map_or(Ok(()), |log| log.copy_aside(&self.path))
    }

    /// Called every few seconds: empties the log if nothing was written meanwhile.
    pub fn when_idle(&mut self) -> Result<(), DbError> {
        self.log.as_mut().map_or(Ok(()), |log| log.when_idle(&self.conn))
    }

    /// Copies the whole log and empties it, unless a reader is in the way. For the end of a daemon.
    pub fn empty_log(&mut self) -> Result<(), DbError> {
        self.conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        log::checkpoint(&self.conn, "truncate").map(drop)
    }

    /// How long the log is, as SQLite said after the last commit.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, Log::bytes)
    }

    /// Begins a transaction that writes.
    pub fn begin(&mut self, durability: Durability) -> Result<Tx<'_>, DbError> {
        if let Some(log) = &mut self.log {
            log.before_transaction(&self.conn)?;
        }
        self.set_durability(durability)?;
        // SQLite's own waiting goes in steps of up to 100 ms.
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
        Ok(Tx::begun(&self.conn, Some(&mut self.memo)))
    }

    /// Begins a transaction for reading. It works while another process holds the database, writing fails at once, and
    /// it is never committed.
    pub fn begin_reading(&mut self) -> Result<Tx<'_>, DbError> {
        self.conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        Tx::begin_reading(&self.conn)
    }

    /// Whether the disk takes writes now. Only a real commit tells: a full disk is noticed when the log is written, and
    /// a log can be written in place while the database beside it can't grow, so the log is copied as well.
    pub fn probe(&mut self) -> Result<(), DbError> {
        for n_bytes in [PROBE_BYTES, 0] {
            let mut tx = self.begin(Durability::Full)?;
            tx.execute(
                "create table if not exists store_probe (id integer primary key, filler blob)",
                &[],
            )?;
            tx.execute(
                "insert into store_probe (id, filler) values (1, zeroblob($1))
                 on conflict (id) do update set filler = excluded.filler",
                &[n_bytes.into()],
            )?;
            tx.commit()?;
            log::checkpoint(&self.conn, "passive")?;
        }
        Ok(())
    }

    /// For a database in memory: takes over the rows of these tables, as far as they can be read from the disk. The
    /// answer says what is missing.
    pub fn take_over(&mut self, database: &Path, tables: &[&str]) -> Result<TakenOver, DbError> {
        memory::seed(self, database, tables)
    }

    /// Writes what a database in memory took over, and what changed in it since, to this one.
    pub fn take_back(&mut self, memory: &Self, taken: &TakenOver) -> Result<(), DbError> {
        // The rows are copied past what this connection remembers.
        self.memo.clear();
        memory::give_back(memory, self, taken)
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

/// A connection that may write to a database that is there.
pub(crate) fn connect(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let fail = |source| StoreError::Open { path: path.to_owned(), source };
    refuse_empty(path).map_err(fail)?;
    let open = || -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn, patience)?;
        // Otherwise the last connection to close would copy the whole log while a caller waits.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.pragma_update(None, "synchronous", "normal")?;
        Ok(conn)
    };
    let conn = open().map_err(|error| fail(db_error(error)))?;
    // SQLite would open an unwritable file read-only, and say so only at the first write.
    if conn.is_readonly("main").map_err(|error| fail(db_error(error)))? {
        return Err(fail(DbError::ReadOnly));
    }
    Ok(conn)
}

fn configure(conn: &Connection, patience: Duration) -> rusqlite::Result<()> {
    conn.busy_timeout(patience)?;
    conn.set_prepared_statement_cache_capacity(128);
    // One plan per statement. Without it, SQLite plans a statement on a table with partial indexes again for every value
    // that is bound: 8 µs instead of 3 for a point select.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
