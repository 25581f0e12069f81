//! Connections that only look. They see a consistent state and never hold up the writer.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use substrate_core::{Db, DbError};

use crate::error::db_error;
use crate::tx::Tx;

/// How many idle connections are kept.
const KEPT: usize = 4;

/// A pool of readers of one database.
#[derive(Debug)]
pub struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Mutex::new(Vec::new()) }
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

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.path, flags)?;
        conn.busy_timeout(Duration::from_secs(2))?;
        // As the writer's: one plan per statement.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(conn)
    }
}
