//! Core's parameters and rows on SQLite's statements. Statements are prepared once per connection.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use substrate_core::{DbError, Param, Row};

use crate::error::db_error;
use crate::log::log_size;
use crate::places;

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
    bind(&mut statement, sql, params)?;
    statement.raw_execute().map_err(db_error)
}

pub(crate) fn query(
    conn: &Connection,
    sql: &str,
    params: &[Param<'_>],
    each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let mut statement = conn.prepare_cached(sql).map_err(db_error)?;
    bind(&mut statement, sql, params)?;
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

/// Binds each placeholder to the value of its number: to SQLite `$2` is a name, and its place is that of its first use.
fn bind(statement: &mut Statement<'_>, sql: &str, params: &[Param<'_>]) -> Result<(), DbError> {
    let n_places = statement.parameter_count();
    places::of(sql, |numbers| {
        for (place, number) in (1..).zip(numbers) {
            let Some(param) = params.get(number - 1) else { return Err(missing(*number)) };
            // A statement that comes out of the cache has no values, so nothing has to be bound to null.
            if *param != Param::Null {
                statement.raw_bind_parameter(place, Bound(*param)).map_err(db_error)?;
            }
        }
        if numbers.len() != n_places {
            return Err(missing(numbers.len() + 1));
        }
        // Harmless, but a mistake: tests must show it.
        let highest = numbers.iter().copied().max().unwrap_or(0);
        if cfg!(debug_assertions) && highest != params.len() {
            let detail = format!("{} values for {highest} parameters", params.len());
            return Err(DbError::Other { detail });
        }
        Ok(())
    })
}

fn missing(number: usize) -> DbError {
    DbError::Other { detail: format!("no value for parameter {number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sql: &str, params: &[Param<'_>]) -> Result<Vec<i64>, DbError> {
        let conn = Connection::open_in_memory().unwrap();
        let mut out = Vec::new();
        query(&conn, sql, params, &mut |row| {
            out.push(row.int(0)?);
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn a_placeholder_takes_the_value_of_its_number_wherever_it_stands() {
        let two = [Param::Int(70), Param::Int(7)];
        assert_eq!(asked("select $1 - $2", &two).unwrap(), [63]);
        assert_eq!(asked("select $2 - $1", &two).unwrap(), [-63]);
        assert_eq!(asked("select $2 * $2 + $1", &two).unwrap(), [119]);
        let path = "select json_extract('{\"a\": 5}', '$.a') + $1";
        assert_eq!(asked(path, &two[..1]).unwrap(), [75]);
        let many: Vec<Param<'_>> = (1..=70).map(Param::Int).collect();
        let places: Vec<String> = (1..=70).rev().map(|n| format!("${n}")).collect();
        let sql = format!("select {} + $70 + $64", places.join(" + "));
        assert_eq!(asked(&sql, &many).unwrap(), [70 * 71 / 2 + 70 + 64]);
    }

    #[test]
    fn a_value_that_is_missing_is_an_error() {
        for (sql, params) in [("select $1", &[][..]), ("select $1 + $3", &[Param::Int(1); 2])] {
            assert!(asked(sql, params).is_err(), "{sql}");
        }
        assert!(asked("select :name", &[]).is_err(), "a name is not a number");
    }
}
