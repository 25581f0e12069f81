//! The schema: numbered steps per feature, each with a checksum, each in one transaction.
//!
//! A database that is up to date is recognised by one query. Anything else happens under a file lock, so that many
//! processes that start at once migrate once; and never without a copy of what was there.

use std::fs::File;
use std::path::{Path, PathBuf};

use substrate_core::ids::checksum;
use substrate_core::{Db, DbError, Migration, Timestamp};

use crate::backup::back_up;
use crate::error::{StoreError, db_error};
use crate::writer::{Durability, Writer};

/// Everything that the database must have: the steps of each owner (a feature's name), in order.
pub type Schema<'a> = &'a [(&'a str, &'a [Migration])];

type Applied = Vec<(String, i64, String)>;

/// Brings the database to the schema. The path of the backup, if one was made.
pub fn prepare(
    writer: &mut Writer,
    schema: Schema<'_>,
    now: Timestamp,
    backups: &Path,
) -> Result<Option<PathBuf>, StoreError> {
    if let Some(applied) = applied(writer)?
        && pending(schema, &applied)?.is_empty()
    {
        return Ok(None);
    }
    let lock_path = writer.path().with_extension("migrate.lock");
    let lock = File::create(&lock_path)
        .map_err(|source| StoreError::Create { path: lock_path.clone(), source })?;
    lock.lock().map_err(|source| StoreError::Create { path: lock_path, source })?;
    migrate(writer, schema, now, backups)
}

/// How many steps the database lacks, without touching it; an error where it knows more than we do, or something else.
pub fn missing_steps(db: &mut dyn Db, schema: Schema<'_>) -> Result<usize, StoreError> {
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

/// Called with the lock held: somebody else may have done it all meanwhile.
fn migrate(
    writer: &mut Writer,
    schema: Schema<'_>,
    now: Timestamp,
    backups: &Path,
) -> Result<Option<PathBuf>, StoreError> {
    let found = applied(writer)?;
    if found.is_none() {
        writer.conn().pragma_update(None, "journal_mode", "wal").map_err(|error| {
            StoreError::Open { path: writer.path().to_owned(), source: db_error(error) }
        })?;
        let mut tx = writer.begin(Durability::Full)?;
        tx.execute(
            "create table schema_migration (
               feature text not null, number bigint not null, checksum text not null,
               about text not null, applied_ms bigint not null, primary key (feature, number))",
            &[],
        )?;
        tx.commit()?;
    }
    let found = found.unwrap_or_default();
    let todo = pending(schema, &found)?;
    let mut backup = None;
    if !found.is_empty() && !todo.is_empty() {
        let target = backups.join(format!("subtrate-{}.db", now.0));
        back_up(writer, &target)?;
        backup = Some(target);
    }
    for (feature, number, step) in todo {
        apply(writer, feature, number, step, now).map_err(|source| StoreError::Migrate {
            feature: feature.to_owned(),
            number,
            source,
        })?;
    }
    Ok(backup)
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
    tx.execute(
        "insert into schema_migration (feature, number, checksum, about, applied_ms) values ($1, $2, $3, $4, $5)",
        &[feature.into(), number.into(), checksum(step.sql).as_str().into(), step.about.into(), now.0.into()],
    )?;
    tx.commit()
}

/// The steps that the database has. `None`: it has no schema at all.
fn applied(writer: &Writer) -> Result<Option<Applied>, StoreError> {
    let fail = |error| StoreError::Open { path: writer.path().to_owned(), source: db_error(error) };
    let conn = writer.conn();
    let exists: bool = conn
        .query_row(
            "select exists (select 1 from sqlite_schema where name = 'schema_migration')",
            [],
            |row| row.get(0),
        )
        .map_err(fail)?;
    if !exists {
        return Ok(None);
    }
    let read = || -> rusqlite::Result<Applied> {
        let mut statement = conn.prepare(
            "select feature, number, checksum from schema_migration order by feature, number",
        )?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
    };
    read().map(Some).map_err(fail)
}

/// What is still to do; an error where the database knows more than we do, or something else.
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
