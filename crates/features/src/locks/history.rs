//! The SQL of the history: who held a file, and who was refused it.

use substrate_core::{Db, DbError, Timestamp};

/// What happened to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseChange {
    Acquired,
    TakenOver,
    Released,
    Expired,
    Denied,
    Forced,
    Bypassed,
    Reserved,
}

impl LeaseChange {
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

/// One entry of a file's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryEntry {
    pub(super) at: Timestamp,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) detail: String,
}

pub(super) fn add(
    db: &mut dyn Db,
    path: &str,
    who: &str,
    what: LeaseChange,
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
pub(super) fn of(db: &mut dyn Db, path: &str, limit: i64) -> Result<Vec<HistoryEntry>, DbError> {
    db.rows(
        "select at_ms, who, what, detail from lease_history where path = $1 order by id desc limit $2",
        &[path.into(), limit.into()],
        |row| {
            Ok(HistoryEntry {
                at: Timestamp(row.int(0)?),
                who: row.text(1)?,
                what: row.text(2)?,
                detail: row.text(3)?,
            })
        },
    )
}

/// How many entries are searched for a name.
const MAX_SEARCHED: i64 = 10_000;

/// Whether the newest entries name that agent or one of its subagents.
pub(super) fn has(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    let below = format!("{name}/");
    let found = db.first(
        "select 1 from (select who, what from lease_history order by id desc limit $4)
         where (who = $1 or substr(who, 1, $3) = $2) and what <> 'denied' limit 1",
        &[
            name.into(),
            below.as_str().into(),
            i64::try_from(below.chars().count()).unwrap_or(0).into(),
            MAX_SEARCHED.into(),
        ],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// Forgets at most `limit` entries from before that time, and counts them.
pub(super) fn forget(db: &mut dyn Db, before: Timestamp, limit: i64) -> Result<usize, DbError> {
    db.execute(
        "delete from lease_history where id in (select id from lease_history where at_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}
