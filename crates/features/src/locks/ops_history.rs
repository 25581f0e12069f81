//! The SQL of what happened to files, and of who was told that somebody waits.

use substrate_core::{Db, DbError, Timestamp};

use super::owner::Owner;

/// What happened to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Acquired,
    TakenOver,
    Released,
    Expired,
    Denied,
    Forced,
    Bypassed,
    Reserved,
}

impl What {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::TakenOver => "taken over",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Denied => "denied",
            Self::Forced => "forced",
            Self::Bypassed => "bypassed",
            Self::Reserved => "reserved",
        }
    }
}

/// One line of a file's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) detail: String,
}

pub(super) fn add(
    db: &mut dyn Db,
    path: &str,
    who: &str,
    what: What,
    detail: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into lease_history (path, who, what, detail, at_ms) values ($1, $2, $3, $4, $5)",
        &[path.into(), who.into(), what.name().into(), detail.into(), now.0.into()],
    )?;
    Ok(())
}

/// The newest entries of a file, newest first.
pub(super) fn of(db: &mut dyn Db, path: &str, limit: i64) -> Result<Vec<Entry>, DbError> {
    db.rows(
        "select at_ms, who, what, detail from lease_history where path = $1 order by id desc limit $2",
        &[path.into(), limit.into()],
        |row| {
            Ok(Entry {
                at: Timestamp(row.int(0)?),
                who: row.text(1)?,
                what: row.text(2)?,
                detail: row.text(3)?,
            })
        },
    )
}

/// How far back it is looked for somebody.
const MAX_LOOKED_AT: i64 = 10_000;

/// Whether an agent of that name, or one of its subagents, is among the newest entries.
pub(super) fn has(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    let below = format!("{name}/");
    let found = db.first(
        "select 1 from (select who, what from lease_history order by id desc limit $4)
         where (who = $1 or substr(who, 1, $3) = $2) and what <> 'denied' limit 1",
        &[
            name.into(),
            below.as_str().into(),
            i64::try_from(below.chars().count()).unwrap_or(0).into(),
            MAX_LOOKED_AT.into(),
        ],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// Notes that somebody wants a file that was taken at `since`. `true`: that was not known yet.
pub(super) fn waits(
    db: &mut dyn Db,
    path: &str,
    waiter: &Owner,
    since: Timestamp,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "insert into lease_waiters (path, session, actor, since_ms, at_ms) values ($1, $2, $3, $4, $5)
         on conflict (path, session, actor) do update set since_ms = excluded.since_ms, at_ms = excluded.at_ms
         where lease_waiters.since_ms <> excluded.since_ms",
        &[
            path.into(),
            waiter.session.as_str().into(),
            waiter.actor.as_str().into(),
            since.0.into(),
            now.0.into(),
        ],
    )?;
    Ok(n > 0)
}

/// Forgets what is older than that, at most `limit` rows of each. How many at most of one kind.
pub(super) fn forget(
    db: &mut dyn Db,
    history_before: Timestamp,
    waiters_before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    let n_entries = db.execute(
        "delete from lease_history where id in (select id from lease_history where at_ms < $1 limit $2)",
        &[history_before.0.into(), limit.into()],
    )?;
    let n_waiters = db.execute(
        "delete from lease_waiters where (path, session, actor) in
           (select path, session, actor from lease_waiters where at_ms < $1 limit $2)",
        &[waiters_before.0.into(), limit.into()],
    )?;
    Ok(n_entries.max(n_waiters))
}
