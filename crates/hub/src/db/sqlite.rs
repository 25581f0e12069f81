//! The hub on a file: for a small team, and the quickest test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::ffi::ErrorCode;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection as Handle, ToSql};
use substrate_core::{Db, DbError, Param, Row};

use super::{Backend, Connection, refuse_zero_bytes};

/// The clock of this database, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// A file, or memory.
#[derive(Clone)]
pub struct Sqlite {
    path: Option<PathBuf>,
    clock: Clock,
}

impl Sqlite {
    pub fn at(path: &Path, clock: Clock) -> Self {
        Self { path: Some(path.to_owned()), clock }
    }

    pub fn in_memory(clock: Clock) -> Self {
        Self { path: None, clock }
    }

    pub(crate) fn open(&self) -> Result<File, DbError> {
        let handle = match &self.path {
            Some(path) => Handle::open(path),
            None => Handle::open_in_memory(),
        }
        .map_err(db_error)?;
        handle.busy_timeout(Duration::from_secs(10)).map_err(db_error)?;
        handle.pragma_update(None, "journal_mode", "wal").map_err(db_error)?;
        handle.pragma_update(None, "synchronous", "full").map_err(db_error)?;
        let clock = Arc::clone(&self.clock);
        handle
            .create_scalar_function("now_ms", 0, FunctionFlags::SQLITE_UTF8, move |_| Ok(clock()))
            .map_err(db_error)?;
        handle.set_prepared_statement_cache_capacity(128);
        Ok(File { handle })
    }
}

impl Backend for Sqlite {
    fn n_connections(&self) -> usize {
        1
    }

    fn connect(&self) -> Result<Box<dyn Connection>, DbError> {
        Ok(Box::new(self.open()?))
    }
}

/// A connection to a file.
pub(crate) struct File {
    handle: Handle,
}

impl File {
    /// For tests that copy a database as a whole.
    #[cfg(test)]
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let copy = rusqlite::backup::Backup::new(&other.handle, &mut self.handle).unwrap();
        copy.run_to_completion(1000, Duration::ZERO, None).unwrap();
    }
}

impl Connection for File {
    fn begin(&mut self) -> Result<(), DbError> {
        self.handle.execute_batch("begin immediate").map_err(db_error)
    }

    fn commit(&mut self) -> Result<(), DbError> {
        self.handle.execute_batch("commit").map_err(db_error)
    }

    fn roll_back(&mut self) {
        // It fails only where nothing is open.
        self.handle.execute_batch("rollback").ok();
    }

    fn db(&mut self) -> &mut dyn Db {
        self
    }

    fn is_broken(&self) -> bool {
        false
    }
}

impl Db for File {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        let mut statement = self.handle.prepare_cached(sql).map_err(db_error)?;
        bind(&mut statement, params)?;
        // A statement that returns rows is run to its end too.
        let mut rows = statement.raw_query();
        while rows.next().map_err(db_error)?.is_some() {}
        drop(rows);
        Ok(usize::try_from(self.handle.changes()).unwrap_or(usize::MAX))
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        let mut statement = self.handle.prepare_cached(sql).map_err(db_error)?;
        bind(&mut statement, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(db_error)? {
            each(&SqliteRow(row))?;
        }
        Ok(())
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        let pragma = |name| self.handle.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let pages = pragma("page_count").map_err(db_error)?;
        Ok(pages * pragma("page_size").map_err(db_error)?)
    }
}

/// To SQLite, `$2` is a name.
fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Param<'_>]) -> Result<(), DbError> {
    refuse_zero_bytes(params)?;
    for (number, param) in (1..).zip(params) {
        let place = statement.parameter_index(&format!("${number}")).map_err(db_error)?;
        let place = place
            .ok_or_else(|| DbError::Other { detail: format!("no place for parameter {number}") })?;
        statement.raw_bind_parameter(place, Bound(*param)).map_err(db_error)?;
    }
    Ok(())
}

struct Bound<'a>(Param<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Param::Null => ValueRef::Null,
            Param::Int(number) => ValueRef::Integer(number),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
            Param::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

struct SqliteRow<'a, 'stmt>(&'a rusqlite::Row<'stmt>);

macro_rules! getters {
    ($get:expr; $($name:ident: $type:ty),+) => {
        $(fn $name(&self, column: usize) -> Result<$type, DbError> {
            self.0.get::<_, $type>(column).map_err($get)
        })+
    };
}

impl Row for SqliteRow<'_, '_> {
    getters!(db_error; int: i64, text: String, opt_int: Option<i64>, opt_text: Option<String>, blob: Vec<u8>,
             opt_blob: Option<Vec<u8>>);
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn db_error(error: rusqlite::Error) -> DbError {
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => DbError::Full,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => DbError::Corrupt { detail },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DbError::Busy,
        Some(ErrorCode::ReadOnly) => DbError::ReadOnly,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => DbError::Io { detail },
        _ => DbError::Other { detail },
    }
}
