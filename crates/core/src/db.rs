//! The database as features see it: one open transaction, SQL text that both SQLite and PostgreSQL accept.
//!
//! Deliberately narrow. Placeholders are `$1`, `$2`, …; times are `…_ms bigint`; ids are text.

use thiserror::Error;

use crate::memo::Memo;

/// One open transaction.
///
/// ```
/// use substrate_core::{Db, DbError};
///
/// fn n_unread(db: &mut dyn Db, agent: i64) -> Result<Option<i64>, DbError> {
///     db.first("select count(*) from deliveries where agent = $1", &[agent.into()], |row| row.int(0))
/// }
/// ```
pub trait Db {
    /// Runs a statement and returns the number of rows it changed.
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError>;

    /// Runs a query and shows each row to `each`, in order.
    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError>;

    /// Runs the last statement of a feature's step. If it fails, it has changed nothing, so it alone needs no savepoint.
    fn execute_last(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.execute(sql, params)
    }

    /// The bytes that the whole database uses: its pages without the free ones, and its log, which counts for at
    /// most a quarter of the pages.
    fn size_bytes(&mut self) -> Result<i64, DbError>;

    /// What the one writer remembers between transactions. Readers remember nothing.
    fn memo(&mut self) -> Option<&mut Memo> {
        None
    }
}

/// A value bound to a placeholder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of a result. Columns are counted from 0.
pub trait Row {
    fn int(&self, column: usize) -> Result<i64, DbError>;
    fn text(&self, column: usize) -> Result<String, DbError>;
    fn opt_int(&self, column: usize) -> Result<Option<i64>, DbError>;
    fn opt_text(&self, column: usize) -> Result<Option<String>, DbError>;
    fn blob(&self, column: usize) -> Result<Vec<u8>, DbError>;
    fn opt_blob(&self, column: usize) -> Result<Option<Vec<u8>>, DbError>;
}

/// What went wrong, with enough to act on.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum DbError {
    #[error("the disk is full")]
    Full,
    #[error("the database is damaged: {detail}")]
    Corrupt { detail: String },
    #[error("the database is busy")]
    Busy,
    #[error("the database cannot be written")]
    ReadOnly,
    /// The disk failed, a file has reached its allowed size, or it is gone.
    #[error("the disk failed: {detail}")]
    Io { detail: String },
    #[error("database: {detail}")]
    Other { detail: String },
}

impl DbError {
    /// The disk or the file is at fault, not the statement. Every request fails until that is fixed.
    pub const fn is_storage(&self) -> bool {
        match self {
            Self::Full | Self::Corrupt { .. } | Self::ReadOnly | Self::Io { .. } => true,
            Self::Busy | Self::Other { .. } => false,
        }
    }
}

impl dyn Db + '_ {
    /// Every row of a query, converted by `each`.
    pub fn rows<T>(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: impl Fn(&dyn Row) -> Result<T, DbError>,
    ) -> Result<Vec<T>, DbError> {
        let mut out = Vec::new();
        self.query(sql, params, &mut |row| {
            out.push(each(row)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The first row of a query, if there is one.
    pub fn first<T>(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: impl Fn(&dyn Row) -> Result<T, DbError>,
    ) -> Result<Option<T>, DbError> {
        Ok(self.rows(sql, params, each)?.into_iter().next())
    }

    /// Runs `body` in a savepoint: its writes stay only if it returns `Ok`.
    pub fn savepoint<T, E: From<DbError>>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.execute("savepoint inner_step", &[])?;
        match body(self) {
            Ok(value) => {
                self.execute("release inner_step", &[])?;
                Ok(value)
            }
            Err(error) => {
                self.execute("rollback to inner_step", &[])?;
                self.execute("release inner_step", &[])?;
                Err(error)
            }
        }
    }
}
