//! Core's parameters and rows on SQLite's statements. Statements are prepared once per connection.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use substrate_core::{DbError, Param, Row};

use crate::error::db_error;
use crate::log::log_size;

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

impl Row for SqliteRow<'_, '_> {
    fn int(&self, column: usize) -> Result<i64, DbError> {
        self.0.get(column).map_err(db_error)
    }

    fn text(&self, column: usize) -> Result<String, DbError> {
        self.0.get(column).map_err(db_error)
    }

    fn opt_int(&self, column: usize) -> Result<Option<i64>, DbError> {
        self.0.get(column).map_err(db_error)
    }

    fn opt_text(&self, column: usize) -> Result<Option<String>, DbError> {
        self.0.get(column).map_err(db_error)
    }

    fn blob(&self, column: usize) -> Result<Vec<u8>, DbError> {
        self.0.get(column).map_err(db_error)
    }

    fn opt_blob(&self, column: usize) -> Result<Option<Vec<u8>>, DbError> {
        self.0.get(column).map_err(db_error)
    }
}

pub(crate) fn execute(
    conn: &Connection,
    sql: &str,
    params: &[Param<'_>],
) -> Result<usize, DbError> {
    let mut statement = conn.prepare_cached(sql).map_err(db_error)?;
    bind(&mut statement, params)?;
    statement.raw_execute().map_err(db_error)
}

pub(crate) fn query(
    conn: &Connection,
    sql: &str,
    params: &[Param<'_>],
    each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let mut statement = conn.prepare_cached(sql).map_err(db_error)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(db_error)? {
        each(&SqliteRow(row))?;
    }
    Ok(())
}

pub(crate) fn size_bytes(conn: &Connection) -> Result<i64, DbError> {
    let pragma = |name: &str| {
        conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(db_error)
    };
    let pages = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
    let log = conn.path().map_or(0, |path| log_size(Path::new(path)));
    // What is removed to make room goes through the log as well. Counted whole, a small limit would empty the journal.
    Ok(pages + i64::try_from(log).unwrap_or(i64::MAX).min(pages / 4))
}

/// Binds by the number in the parameter's name: to SQLite `$2` is a name, and its place is that of its first use.
fn bind(statement: &mut Statement<'_>, params: &[Param<'_>]) -> Result<(), DbError> {
    for place in 1..=statement.parameter_count() {
        let number = statement
            .parameter_name(place)
            .and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let param = number.and_then(|number| params.get(number.checked_sub(1)?));
        let Some(param) = param else {
            return Err(DbError::Other { detail: format!("no value for parameter {place}") });
        };
        statement.raw_bind_parameter(place, Bound(*param)).map_err(db_error)?;
    }
    Ok(())
}
