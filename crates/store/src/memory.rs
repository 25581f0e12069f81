//! What a daemon takes into memory when its disk can't be written, and gives back when it can.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::ToSqlOutput;
use substrate_core::DbError;

use crate::backup::look_at;
use crate::error::db_error;
use crate::writer::{Durability, Writer};

/// Rows of one table that are taken over at most.
const MAX_ROWS: usize = 100_000;

/// How long it may take in all. Agents are waiting.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Which tables memory holds, and how far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    pub tables: Vec<TakenTable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenTable {
    pub name: String,
    pub n_rows: usize,
    /// Why rows are missing. `None`: all of them are in memory.
    pub missing: Option<String>,
}

/// Copies the rows of these tables into memory. A damaged table is copied as far as it can be read, and the answer says
/// what is missing.
pub(crate) fn seed(
    memory: &mut Writer,
    database: &Path,
    tables: &[&str],
) -> Result<TakenOver, DbError> {
    let until = Instant::now() + MAX_TIME;
    let disk = look_at(database);
    let mut seeded = TakenOver::default();
    let mut tx = memory.begin(Durability::Normal)?;
    for table in tables {
        let (n_rows, missing) = match &disk {
            Ok(disk) => copy(disk, tx.conn(), table, MAX_ROWS, until)?,
            Err(error) => (0, Some(error.to_string())),
        };
        seeded.tables.push(TakenTable { name: (*table).to_owned(), n_rows, missing });
    }
    tx.commit()?;
    Ok(seeded)
}

/// Writes what memory has to the disk, in one transaction. A table that was taken over whole is replaced. Of any other,
/// the rows in memory are written over those on disk, so that unread rows stay.
pub(crate) fn give_back(
    memory: &Writer,
    disk: &mut Writer,
    seeded: &TakenOver,
) -> Result<(), DbError> {
    let until = Instant::now() + MAX_TIME * 60;
    let mut tx = disk.begin(Durability::Full)?;
    for TakenTable { name, missing, .. } in &seeded.tables {
        if missing.is_none() {
            tx.conn().execute(&format!("delete from \"{name}\""), []).map_err(db_error)?;
        }
        if let (_, Some(why)) = copy(memory.conn(), tx.conn(), name, usize::MAX, until)? {
            return Err(DbError::Other { detail: format!("`{name}` in memory: {why}") });
        }
    }
    tx.commit()
}

/// Copies the columns that both have. Returns how many rows, and why not all. A failed read ends the copy; a failed
/// write is an error.
fn copy(
    from: &Connection,
    to: &Connection,
    table: &str,
    max_rows: usize,
    until: Instant,
) -> Result<(usize, Option<String>), DbError> {
    let theirs = match columns(from, table) {
        Ok(columns) => columns,
        Err(error) => return Ok((0, Some(error.to_string()))),
    };
    let mut names = columns(to, table).map_err(db_error)?;
    names.retain(|name| theirs.contains(name));
    if names.is_empty() {
        return Ok((0, Some("there is no such table".to_owned())));
    }
    let list = names.join(", ");
    let places = vec!["?"; names.len()].join(", ");
    let mut insert = to
        .prepare(&format!("insert or replace into \"{table}\" ({list}) values ({places})"))
        .map_err(db_error)?;
    let mut select = match from.prepare(&format!("select {list} from \"{table}\"")) {
        Ok(select) => select,
        Err(error) => return Ok((0, Some(error.to_string()))),
    };
    let mut rows = select.raw_query();
    let mut n_rows = 0;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok((n_rows, None)),
            Err(error) => return Ok((n_rows, Some(error.to_string()))),
        };
        if n_rows == max_rows || Instant::now() > until {
            return Ok((n_rows, Some(format!("only {n_rows} rows were taken"))));
        }
        for at in 0..names.len() {
            let value = row.get_ref(at).map_err(db_error)?;
            insert.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(value)).map_err(db_error)?;
        }
        insert.raw_execute().map_err(db_error)?;
        n_rows += 1;
    }
}

/// The columns of a table, quoted.
fn columns(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("select name from pragma_table_info($1)")?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    names.map(|name| name.map(|name| format!("\"{name}\""))).collect()
}
