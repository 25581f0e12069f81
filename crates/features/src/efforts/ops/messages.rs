//! The SQL of what waits for an effort, what a window left for the next one, and what was said.

use substrate_core::wish::CLAIM_MS;
use substrate_core::{Db, DbError, RequestId, Timestamp};

/// The kind of thing that waits to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingKind {
    /// A message.
    Inject,
    /// A file, by its path.
    Preload,
}

impl PendingKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Inject => "inject",
            Self::Preload => "preload",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) id: i64,
    pub(crate) kind: PendingKind,
    pub(crate) body: String,
    pub(crate) who: String,
}

/// Something that was said about an effort.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) who: String,
    pub(crate) kind: String,
    pub(crate) body: String,
    pub(crate) at: Timestamp,
}

pub(crate) const OPEN: &str = "select id, kind, body, who from effort_pending
     where effort = $1 and told_ms is null and (claimed_ms is null or claimed_ms <= $2) order by id limit $3";

/// What waits for an effort, the oldest first, without what an answer has claimed.
pub(crate) fn open(
    db: &mut dyn Db,
    effort: i64,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Pending>, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    db.rows(OPEN, &[effort.into(), free.into(), limit.into()], |row| {
        let kind = match row.text(1)?.as_str() {
            "preload" => PendingKind::Preload,
            _ => PendingKind::Inject,
        };
        Ok(Pending { id: row.int(0)?, kind, body: row.text(2)?, who: row.text(3)? })
    })
}

pub(crate) fn add(
    db: &mut dyn Db,
    effort: i64,
    kind: PendingKind,
    body: &str,
    who: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into effort_pending (effort, kind, body, who, made_ms) values ($1, $2, $3, $4, $5)",
        &[effort.into(), kind.name().into(), body.into(), who.into(), now.0.into()],
    )?;
    recount(db, effort)
}

/// How many messages wait for an effort.
pub(crate) fn n_open(db: &mut dyn Db, effort: i64) -> Result<i64, DbError> {
    let sql = "select count(*) from effort_pending where effort = $1 and told_ms is null";
    Ok(db.first(sql, &[effort.into()], |row| row.int(0))?.unwrap_or(0))
}

fn recount(db: &mut dyn Db, effort: i64) -> Result<(), DbError> {
    db.execute(
        "update efforts set n_pending =
           (select count(*) from effort_pending p where p.effort = efforts.id and p.told_ms is null)
         where id = $1",
        &[effort.into()],
    )?;
    Ok(())
}

/// Claims a message for the answer to this request.
pub(crate) fn claim(
    db: &mut dyn Db,
    id: i64,
    request: RequestId,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update effort_pending set claim = $2, claimed_ms = $3 where id = $1 and told_ms is null",
        &[id.into(), request.to_string().as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// The same for a window's payload.
pub(crate) fn claim_payload(
    db: &mut dyn Db,
    effort: i64,
    request: RequestId,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update efforts set payload_claim = $2, payload_claimed_ms = $3 where id = $1 and payload_told_ms is null",
        &[effort.into(), request.to_string().as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// The answer reached the client, so what it claimed counts as told.
pub(crate) fn told(db: &mut dyn Db, request: RequestId, now: Timestamp) -> Result<(), DbError> {
    let claim = request.to_string();
    let mut efforts = db.rows(
        "update effort_pending set told_ms = $2 where claim = $1 and claim is not null and told_ms is null
         returning effort",
        &[claim.as_str().into(), now.0.into()],
        |row| row.int(0),
    )?;
    efforts.dedup();
    for effort in efforts {
        recount(db, effort)?;
    }
    db.execute(
        "update efforts set payload_told_ms = $2
         where payload_claim = $1 and payload_claim is not null and payload_told_ms is null",
        &[claim.as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// The answer was lost, so what it claimed is free at once.
pub(crate) fn released(db: &mut dyn Db, request: RequestId) -> Result<(), DbError> {
    let claim = request.to_string();
    db.execute(
        "update effort_pending set claimed_ms = null
         where claim = $1 and claim is not null and told_ms is null",
        &[claim.as_str().into()],
    )?;
    db.execute(
        "update efforts set payload_claimed_ms = null
         where payload_claim = $1 and payload_claim is not null and payload_told_ms is null",
        &[claim.as_str().into()],
    )?;
    Ok(())
}

/// Leaves a payload for the effort's next window.
pub(crate) fn leave(
    db: &mut dyn Db,
    effort: i64,
    payload: &str,
    window: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update efforts set payload = $2, payload_by = $3, payload_ms = $4, payload_claim = null,
           payload_claimed_ms = null, payload_told_ms = null
         where id = $1",
        &[effort.into(), payload.into(), window.into(), now.0.into()],
    )?;
    Ok(())
}

/// Makes the payload due again, for another agent that goes on with the effort.
pub(crate) fn tell_again(db: &mut dyn Db, effort: i64) -> Result<(), DbError> {
    db.execute(
        "update efforts set payload_claim = null, payload_claimed_ms = null, payload_told_ms = null where id = $1",
        &[effort.into()],
    )?;
    Ok(())
}

pub(crate) fn say(
    db: &mut dyn Db,
    effort: i64,
    who: &str,
    kind: &str,
    body: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into effort_messages (effort, who, kind, body, at_ms) values ($1, $2, $3, $4, $5)",
        &[effort.into(), who.into(), kind.into(), body.into(), now.0.into()],
    )?;
    Ok(())
}

/// The latest messages, the oldest of them first. An empty `kind` means every kind.
pub(crate) fn said(
    db: &mut dyn Db,
    effort: i64,
    kind: &str,
    limit: i64,
) -> Result<Vec<Message>, DbError> {
    let mut out = db.rows(
        "select who, kind, body, at_ms from effort_messages
         where effort = $1 and ($2 = '' or kind = $2) order by id desc limit $3",
        &[effort.into(), kind.into(), limit.into()],
        |row| {
            Ok(Message {
                who: row.text(0)?,
                kind: row.text(1)?,
                body: row.text(2)?,
                at: Timestamp(row.int(3)?),
            })
        },
    )?;
    out.reverse();
    Ok(out)
}
