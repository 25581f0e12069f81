//! One open transaction.

use rusqlite::Connection;
use substrate_core::{Db, DbError, Memo, Param, Row};

use crate::bind;

/// An open transaction. Dropped without `commit`, it never happened.
///
/// A failing disk ends it. SQLite may have rolled back on its own, and a later statement would be committed alone. So
/// every later statement and the commit fail with the same error, even if the engine contained the first failure.
#[derive(Debug)]
pub struct Tx<'a> {
    conn: &'a Connection,
    /// Of the writer. A reader remembers nothing: others write meanwhile.
    memo: Option<&'a mut Memo>,
    open: bool,
    failed: Option<DbError>,
}

impl<'a> Tx<'a> {
    /// Takes over what `begin immediate` has begun.
    pub(crate) const fn begun(conn: &'a Connection, memo: Option<&'a mut Memo>) -> Self {
        Self { conn, memo, open: true, failed: None }
    }

    /// A consistent state to look at. It is never committed.
    pub(crate) fn begin_reading(conn: &'a Connection) -> Result<Self, DbError> {
        bind::execute(conn, "begin", &[])?;
        Ok(Self::begun(conn, None))
    }
}

impl Tx<'_> {
    pub fn commit(mut self) -> Result<(), DbError> {
        self.check()?;
        bind::execute(self.conn, "commit", &[])?;
        self.open = false;
        Ok(())
    }

    /// What has already ended this transaction, if anything.
    pub fn failure(&self) -> Option<&DbError> {
        self.failed.as_ref()
    }

    /// The connection itself. What is written through it is not seen here, so nothing is remembered.
    pub(crate) fn conn(&mut self) -> &Connection {
        if let Some(memo) = &mut self.memo {
            memo.clear();
        }
        self.conn
    }

    /// Whether statements still belong to this transaction.
    fn check(&mut self) -> Result<(), DbError> {
        if self.failed.is_none() && self.conn.is_autocommit() {
            self.failed =
                Some(DbError::Other { detail: "the transaction was rolled back".to_owned() });
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn will_run(&mut self, sql: &str) {
        if let Some(memo) = &mut self.memo {
            memo.executed(sql);
        }
    }

    fn noted<T>(&mut self, result: Result<T, DbError>) -> Result<T, DbError> {
        if let Err(error) = &result
            && self.failed.is_none()
            && (error.is_storage() || self.conn.is_autocommit())
        {
            self.failed = Some(error.clone());
        }
        result
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.open {
            if let Some(memo) = &mut self.memo {
                memo.clear();
            }
            // If this fails, SQLite has already rolled back.
            let _already_gone = bind::execute(self.conn, "rollback", &[]);
        }
    }
}

impl Db for Tx<'_> {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.check()?;
        self.will_run(sql);
        let result = bind::execute(self.conn, sql, params);
        self.noted(result)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.check()?;
        self.will_run(sql);
        let result = bind::query(self.conn, sql, params, each);
        self.noted(result)
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        bind::size_bytes(self.conn)
    }

    fn memo(&mut self) -> Option<&mut Memo> {
        self.memo.as_deref_mut()
    }
}
