//! Every request is processed once, although two processes may try: a daemon that answers late, and the hook's own
//! process that did not wait for it.
//!
//! The daemon keeps its latest answers in a ring of fixed size, so that whoever takes over finds the answer instead of
//! asking again. Whoever takes over leaves the request's id, so that a daemon that wakes up lets it be. Both happen in
//! the transaction that processes the event, so one of the two always sees the other.

use crate::db::{Db, DbError};
use crate::feature::Migration;
use crate::ids::RequestId;
use crate::time::Timestamp;

/// How many answers the daemon keeps: some seconds under the heaviest load, hours under a usual one.
const RING: i64 = 32_768;

pub(super) const MIGRATION: Migration = Migration {
    about: "requests that were answered or taken over",
    sql: "create table answered (
            slot integer primary key,
            request text not null,
            at_ms bigint not null,
            exit_code bigint not null,
            stdout text not null,
            stderr text not null
          );
          create table taken_over (request text primary key, at_ms bigint not null);",
};

pub(super) const SCOPES: Migration = Migration {
    about: "events that a hook without a daemon has processed, by digest",
    sql: "create table scope_seen (digest bigint primary key, origin bigint not null, at_ms bigint not null);",
};

/// Two scopes' hooks of one event start within a moment of each other.
const TWIN_MS: i64 = 10_000;

/// An answer as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub exit: u8,
    pub stdout: String,
    pub stderr: String,
}

/// The place after the newest answer; where a daemon that starts goes on.
pub fn next_slot(db: &mut dyn Db) -> Result<i64, DbError> {
    let newest =
        db.first("select slot from answered order by at_ms desc, slot desc limit 1", &[], |row| {
            row.int(0)
        })?;
    Ok(newest.map_or(0, |slot| slot + 1))
}

/// Keeps an answer of the daemon. `slot` counts up; the ring is our own business.
pub fn keep(
    db: &mut dyn Db,
    slot: i64,
    request: RequestId,
    now: Timestamp,
    given: &Given,
) -> Result<(), DbError> {
    db.execute(
        "insert into answered (slot, request, at_ms, exit_code, stdout, stderr) values ($1, $2, $3, $4, $5, $6)
         on conflict (slot) do update set request = excluded.request, at_ms = excluded.at_ms,
           exit_code = excluded.exit_code, stdout = excluded.stdout, stderr = excluded.stderr",
        &[
            (slot % RING).into(),
            request.to_string().as_str().into(),
            now.0.into(),
            i64::from(given.exit).into(),
            given.stdout.as_str().into(),
            given.stderr.as_str().into(),
        ],
    )?;
    Ok(())
}

/// Whether somebody else has taken the request over. The table is empty but for bad moments.
pub fn was_taken_over(db: &mut dyn Db, request: RequestId) -> Result<bool, DbError> {
    let any = db.first("select at_ms from taken_over limit 1", &[], |row| row.int(0))?;
    if any.is_none() {
        return Ok(false);
    }
    let found = db.first(
        "select at_ms from taken_over where request = $1",
        &[request.to_string().as_str().into()],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// Takes a request over from the daemon, unless the daemon has answered it already: then its answer.
pub fn take_over(
    db: &mut dyn Db,
    request: RequestId,
    now: Timestamp,
) -> Result<Option<Given>, DbError> {
    let id = request.to_string();
    let given = answer_to(db, request)?;
    if given.is_none() {
        db.execute(
            "insert into taken_over (request, at_ms) values ($1, $2) on conflict (request) do nothing",
            &[id.as_str().into(), now.0.into()],
        )?;
    }
    Ok(given)
}

/// The answer that a daemon gave to that request, if it gave one and died before the hook had it.
pub fn answer_to(db: &mut dyn Db, request: RequestId) -> Result<Option<Given>, DbError> {
    db.first(
        "select exit_code, stdout, stderr from answered where request = $1",
        &[request.to_string().as_str().into()],
        |row| {
            Ok(Given {
                exit: u8::try_from(row.int(0)?).unwrap_or(0),
                stdout: row.text(1)?,
                stderr: row.text(2)?,
            })
        },
    )
}

/// Whether a hook of the other scope has processed this very event without a daemon. Usually there is none at all.
pub fn is_twin(db: &mut dyn Db, digest: u64, origin: u8, now: Timestamp) -> Result<bool, DbError> {
    if db.first("select at_ms from scope_seen limit 1", &[], |row| row.int(0))?.is_none() {
        return Ok(false);
    }
    let found = db.execute(
        "delete from scope_seen where digest = $1 and origin <> $2 and at_ms > $3",
        &[digest.cast_signed().into(), i64::from(origin).into(), now.plus_ms(-TWIN_MS).0.into()],
    )?;
    Ok(found > 0)
}

/// Notes that a hook without a daemon processes this event.
pub fn note_scope(db: &mut dyn Db, digest: u64, origin: u8, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "insert into scope_seen (digest, origin, at_ms) values ($1, $2, $3)
         on conflict (digest) do update set origin = excluded.origin, at_ms = excluded.at_ms",
        &[digest.cast_signed().into(), i64::from(origin).into(), now.0.into()],
    )?;
    Ok(())
}

/// A daemon that was frozen for longer than an hour has lost its callers.
pub(super) fn forget(db: &mut dyn Db, now: Timestamp) -> Result<(), DbError> {
    db.execute("delete from taken_over where at_ms < $1", &[now.plus_ms(-3_600_000).0.into()])?;
    db.execute("delete from scope_seen where at_ms < $1", &[now.plus_ms(-TWIN_MS).0.into()])?;
    Ok(())
}
