//! The schema: numbered steps per feature, each with a checksum.
//!
//! A new database is built under another name and then moved in place, so a half-built one never has the real name, and
//! an empty file there is damage. An existing database is brought up to date step by step, each step in one
//! transaction, and never without a copy of what was there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use substrate_core::ids::checksum;
use substrate_core::{Db, DbError, Migration, Timestamp};

use crate::backup::back_up;
use crate::create::{create, is_absent};
use crate::error::{StoreError, db_error};
use crate::writer::{Durability, Writer};

/// Everything that the database must have: the steps of each owner (a feature's name), in order.
pub type Schema<'a> = &'a [(&'a str, &'a [Migration])];

type Applied = Vec<(String, i64, String)>;

const TABLE: &str = "create table schema_migration (
   feature text not null, number bigint not null, checksum text not null,
   about text not null, applied_ms bigint not null, primary key (feature, number))";

const NOTE: &str = "insert into schema_migration (feature, number, checksum, about, applied_ms)
   values ($1, $2, $3, $4, $5)";

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub schema: Schema<'a>,
    pub now: Timestamp,
    /// Where the copy goes that is made before a migration.
    pub backups: &'a Path,
    /// How long a write waits for another process.
    pub patience: Duration,
}

/// A database with our schema.
#[derive(Debug)]
pub struct Prepared {
    pub writer: Writer,
    /// The copy that was made, if the schema changed.
    pub backup: Option<PathBuf>,
}

/// Opens the database, creates it if there is none, and brings it to the schema. Only the holder of `daemon.lock` may.
pub(crate) fn prepare(path: &Path, setup: &Setup<'_>) -> Result<Prepared, StoreError> {
    if is_absent(path) {
        create(path, setup.schema, setup.now)?;
    }
    let mut writer = Writer::open(path, setup.patience)?;
    let backup = migrate(&mut writer, setup)?;
    Ok(Prepared { writer, backup })
}

/// How many steps the database lacks, without touching it; an error where it knows more than we do, or something else.
pub(crate) fn missing_steps(db: &mut dyn Db, schema: Schema<'_>) -> Result<usize, StoreError> {
    let exists =
        db.first("select 1 from sqlite_schema where name = 'schema_migration'", &[], |_| Ok(()))?;
    let applied = match exists {
        Some(()) => {
            db.rows("select feature, number, checksum from schema_migration", &[], |row| {
                Ok((row.text(0)?, row.int(1)?, row.text(2)?))
            })?
        }
        None => Vec::new(),
    };
    Ok(pending(schema, &applied)?.len())
}

/// The whole schema on an empty database, in one transaction.
pub(crate) fn build(
    conn: &Connection,
    schema: Schema<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let fail = |error| StoreError::Db(db_error(error));
    conn.execute_batch("begin immediate").and_then(|()| conn.execute_batch(TABLE)).map_err(fail)?;
    let mut note = conn.prepare(NOTE).map_err(fail)?;
    for (feature, number, step) in pending(schema, &Applied::new())? {
        let fail = |error| StoreError::Migrate {
            feature: feature.to_owned(),
            number,
            source: db_error(error),
        };
        conn.execute_batch(step.sql).map_err(fail)?;
        note.execute((feature, number, checksum(step.sql), step.about, now.0)).map_err(fail)?;
    }
    conn.execute_batch("commit").map_err(fail)
}

fn migrate(writer: &mut Writer, setup: &Setup<'_>) -> Result<Option<PathBuf>, StoreError> {
    let found = applied(writer)?;
    let todo = pending(setup.schema, &found)?;
    if todo.is_empty() {
        return Ok(None);
    }
    let backup = setup.backups.join(format!("subtrate-{}.db", setup.now.0));
    back_up(writer.path(), &backup)?;
    for (feature, number, step) in todo {
        apply(writer, feature, number, step, setup.now).map_err(|source| StoreError::Migrate {
            feature: feature.to_owned(),
            number,
            source,
        })?;
    }
    Ok(Some(backup))
}

fn apply(
    writer: &mut Writer,
    feature: &str,
    number: i64,
    step: &Migration,
    now: Timestamp,
) -> Result<(), DbError> {
    let mut tx = writer.begin(Durability::Full)?;
    for statement in step.sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        tx.execute(statement, &[])?;
    }
    let sum = checksum(step.sql);
    let note =
        [feature.into(), number.into(), sum.as_str().into(), step.about.into(), now.0.into()];
    tx.execute(NOTE, &note)?;
    tx.commit()
}

/// The steps that the database has.
fn applied(writer: &Writer) -> Result<Applied, StoreError> {
    let fail = |source| StoreError::Open { path: writer.path().to_owned(), source };
    let conn = writer.conn();
    let read = || -> rusqlite::Result<Option<Applied>> {
        let sql = "select 1 from sqlite_schema where name = 'schema_migration'";
        if !conn.prepare(sql)?.exists([])? {
            return Ok(None);
        }
        let mut statement = conn.prepare(
            "select feature, number, checksum from schema_migration order by feature, number",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<rusqlite::Result<_>>().map(Some)
    };
    read().map_err(|error| fail(db_error(error)))?.ok_or_else(|| {
        let detail = "it is a database, but none of Substrate's tables are in it".to_owned();
        fail(DbError::Corrupt { detail })
    })
}

/// The steps still to apply. An error if the database has steps that we don't know, or others.
fn pending<'a>(
    schema: Schema<'a>,
    applied: &Applied,
) -> Result<Vec<(&'a str, i64, &'a Migration)>, StoreError> {
    let mut todo = Vec::new();
    for (feature, steps) in schema {
        for (number, step) in (1..).zip(steps.iter()) {
            match applied.iter().find(|(name, n, _)| name == feature && *n == number) {
                None => todo.push((*feature, number, step)),
                Some((.., sum)) if *sum == checksum(step.sql) => {}
                Some(_) => {
                    return Err(StoreError::Changed { feature: (*feature).to_owned(), number });
                }
            }
        }
    }
    for (feature, number, _) in applied {
        let known =
            schema.iter().find(|(name, _)| name == feature).map_or(0, |(_, steps)| steps.len());
        if usize::try_from(*number).is_ok_and(|number| number > known) {
            return Err(StoreError::Newer { feature: feature.clone(), number: *number });
        }
    }
    Ok(todo)
}
