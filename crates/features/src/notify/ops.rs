//! The SQL of notifications: which rows were told, and what came of each notification.

use substrate_core::{Db, DbError, Migration, Timestamp};

use super::policy::{Before, HOUR_MS};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "what the user was told, and what came of it",
    sql: "create table notified (
            id text primary key,
            told_ms bigint not null
          );
          create table notifications (
            id integer primary key,
            at_ms bigint not null,
            n_rows bigint not null,
            title text not null,
            done_ms bigint,
            error text
          );
          create index notifications_at on notifications (at_ms);",
}];

/// A row that no longer waits is forgotten after this long.
const FORGOTTEN_MS: i64 = 86_400_000;

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Timestamp,
    pub title: String,
    /// It was carried out, well or not.
    pub is_done: bool,
    pub error: Option<String>,
}

pub(super) fn before(db: &mut dyn Db, now: Timestamp) -> Result<Before, DbError> {
    let rows = db.rows("select id, told_ms from notified", &[], |row| {
        Ok((row.text(0)?, Timestamp(row.int(1)?)))
    })?;
    let sent = db.rows(
        "select at_ms from notifications where at_ms > $1",
        &[(now.0 - HOUR_MS).into()],
        |row| Ok(Timestamp(row.int(0)?)),
    )?;
    Ok(Before { rows, sent })
}

/// Notes that these rows are told now. Returns the number of the notification.
pub(super) fn tell(
    db: &mut dyn Db,
    ids: &[String],
    title: &str,
    now: Timestamp,
) -> Result<i64, DbError> {
    for id in ids {
        db.execute(
            "insert into notified (id, told_ms) values ($1, $2)
             on conflict (id) do update set told_ms = excluded.told_ms",
            &[id.as_str().into(), now.0.into()],
        )?;
    }
    let last = db.first("select max(id) from notifications", &[], |row| row.opt_int(0))?;
    let id = last.flatten().unwrap_or(0) + 1;
    let n_rows = i64::try_from(ids.len()).unwrap_or(0);
    db.execute(
        "insert into notifications (id, at_ms, n_rows, title) values ($1, $2, $3, $4)",
        &[id.into(), now.0.into(), n_rows.into(), title.into()],
    )?;
    Ok(id)
}

/// Forgets rows that were told long ago and don't wait any more.
pub(super) fn forget(db: &mut dyn Db, waiting: &[String], now: Timestamp) -> Result<(), DbError> {
    let old = db.rows(
        "select id from notified where told_ms < $1",
        &[(now.0 - FORGOTTEN_MS).into()],
        |row| row.text(0),
    )?;
    for id in old.iter().filter(|id| !waiting.contains(id)) {
        db.execute("delete from notified where id = $1", &[id.as_str().into()])?;
    }
    Ok(())
}

pub(super) fn note(
    db: &mut dyn Db,
    id: i64,
    error: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update notifications set done_ms = $2, error = $3 where id = $1",
        &[id.into(), now.0.into(), error.into()],
    )?;
    Ok(())
}

/// The last notification.
pub fn latest(db: &mut dyn Db) -> Result<Option<Sent>, DbError> {
    Ok(last(db, 1)?.into_iter().next())
}

/// The last ones, newest first.
pub(super) fn last(db: &mut dyn Db, limit: i64) -> Result<Vec<Sent>, DbError> {
    db.rows(
        "select at_ms, title, done_ms, error from notifications order by id desc limit $1",
        &[limit.into()],
        |row| {
            Ok(Sent {
                at: Timestamp(row.int(0)?),
                title: row.text(1)?,
                is_done: row.opt_int(2)?.is_some(),
                error: row.opt_text(3)?,
            })
        },
    )
}
