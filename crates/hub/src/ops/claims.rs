//! Named resources: one holder in the whole team.
//!
//! A claim is compare-and-swap on one row. Its epoch grows with every new holder and is at least the database's clock, so a
//! database that failed over and forgot a grant does not give its epoch away again.

use substrate_core::{Db, DbError, Row};

use super::{label, uid};
use crate::wire::{Answer, ClaimInfo, Label, Uid};

const MAX_TTL_MS: i64 = 24 * 3_600_000;

/// Who wants what for how long.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub name: &'a Label,
    pub machine: &'a Uid,
    pub agent: &'a Uid,
    pub holder: &'a Label,
    pub note: &'a Label,
    pub ttl_ms: i64,
}

/// Takes a resource that is free, or goes on holding one's own.
pub fn claim(db: &mut dyn Db, wanted: Wanted<'_>) -> Result<Answer, DbError> {
    let ttl_ms = wanted.ttl_ms.clamp(1, MAX_TTL_MS);
    let epoch = db.first(
        "insert into claims (name, machine, agent, holder, note, epoch, granted_ms, expires_ms)
         values ($1, $2, $3, $4, $5, now_ms(), now_ms(), now_ms() + $6)
         on conflict (name) do update set machine = excluded.machine, agent = excluded.agent,
           holder = excluded.holder, note = excluded.note,
           epoch = case
             when claims.expires_ms > now_ms() then claims.epoch
             when claims.epoch >= excluded.epoch then claims.epoch + 1
             else excluded.epoch end,
           granted_ms = case when claims.expires_ms > now_ms() then claims.granted_ms else excluded.granted_ms end,
           expires_ms = excluded.expires_ms
         where claims.expires_ms <= now_ms() or (claims.machine = $2 and claims.agent = $3)
         returning epoch",
        &[
            wanted.name.as_str().into(),
            wanted.machine.as_str().into(),
            wanted.agent.as_str().into(),
            wanted.holder.as_str().into(),
            wanted.note.as_str().into(),
            ttl_ms.into(),
        ],
        |row| row.int(0),
    )?;
    if let Some(epoch) = epoch {
        return Ok(Answer::Held { epoch, ttl_ms });
    }
    let sql = format!("{INFO} where name = $1");
    let by = db.first(&sql, &[wanted.name.as_str().into()], info)?;
    Ok(by.map_or(Answer::Lost, |by| Answer::Taken { by }))
}

/// Goes on holding a resource, only if it is still that hold and has not run out.
pub fn renew(
    db: &mut dyn Db,
    name: &Label,
    machine: &Uid,
    agent: &Uid,
    epoch: i64,
    ttl_ms: i64,
) -> Result<Answer, DbError> {
    let ttl_ms = ttl_ms.clamp(1, MAX_TTL_MS);
    let renewed = db.execute(
        "update claims set expires_ms = now_ms() + $5
         where name = $1 and machine = $2 and agent = $3 and epoch = $4 and expires_ms > now_ms()",
        &[
            name.as_str().into(),
            machine.as_str().into(),
            agent.as_str().into(),
            epoch.into(),
            ttl_ms.into(),
        ],
    )?;
    Ok(if renewed == 1 { Answer::Held { epoch, ttl_ms } } else { Answer::Lost })
}

/// Lets go. The row stays, for its epoch.
pub fn release(
    db: &mut dyn Db,
    name: &Label,
    machine: &Uid,
    agent: &Uid,
    epoch: i64,
) -> Result<Answer, DbError> {
    let released = db.execute(
        "update claims set expires_ms = 0
         where name = $1 and machine = $2 and agent = $3 and epoch = $4 and expires_ms > now_ms()",
        &[name.as_str().into(), machine.as_str().into(), agent.as_str().into(), epoch.into()],
    )?;
    Ok(if released == 1 { Answer::Released } else { Answer::Lost })
}

const INFO: &str =
    "select name, machine, agent, holder, note, epoch, now_ms() - granted_ms, expires_ms - now_ms()
                    from claims";

/// Everything that is held now.
pub fn all(db: &mut dyn Db) -> Result<Vec<ClaimInfo>, DbError> {
    db.rows(&format!("{INFO} where expires_ms > now_ms() order by name limit 1000"), &[], info)
}

fn info(row: &dyn Row) -> Result<ClaimInfo, DbError> {
    Ok(ClaimInfo {
        name: label(row, 0)?,
        machine: uid(row, 1)?,
        agent: uid(row, 2)?,
        holder: label(row, 3)?,
        note: label(row, 4)?,
        epoch: row.int(5)?,
        held_ms: row.int(6)?.max(0),
        left_ms: row.int(7)?.max(0),
    })
}
