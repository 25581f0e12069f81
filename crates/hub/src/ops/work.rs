//! Work for the whole team: items in queues, each with at most one claimant. What a dead agent held comes back when its
//! time is up.

use substrate_core::{Db, DbError};

use crate::wire::{Answer, Bytes, Label, MailId, Uid, WorkInfo};

const MAX_TTL_MS: i64 = 24 * 3_600_000;

/// How often a claim that another was faster at is tried.
const TRIES: usize = 20;

/// Adds an item once.
pub fn add(db: &mut dyn Db, item: &MailId, queue: &Label, text: &[u8]) -> Result<Answer, DbError> {
    db.execute(
        "insert into work (item, queue, body, added_ms, epoch, expires_ms) values ($1, $2, $3, now_ms(), 0, 0)
         on conflict (item) do nothing",
        &[item.as_str().into(), queue.as_str().into(), text.into()],
    )?;
    Ok(Answer::Added)
}

/// Takes the oldest item that no agent has. A repeated question gets the same item.
pub fn take(
    db: &mut dyn Db,
    queue: &Label,
    machine: &Uid,
    agent: &Uid,
    once: &Uid,
    ttl_ms: i64,
) -> Result<Answer, DbError> {
    let ttl_ms = ttl_ms.clamp(1, MAX_TTL_MS);
    let repeated = db.first(
        "select item, body, epoch from work
         where once = $1 and machine = $2 and agent = $3 and done_ms is null and expires_ms > now_ms()",
        &[once.as_str().into(), machine.as_str().into(), agent.as_str().into()],
        |row| Ok((row.text(0)?, row.blob(1)?, row.int(2)?)),
    )?;
    if let Some((item, body, epoch)) = repeated {
        return answer(item, queue, body, epoch, ttl_ms);
    }
    for _ in 0..TRIES {
        let open = db.first(
            "select item, body, epoch from work where queue = $1 and done_ms is null and expires_ms <= now_ms()
             order by added_ms, item limit 1",
            &[queue.as_str().into()],
            |row| Ok((row.text(0)?, row.blob(1)?, row.int(2)?)),
        )?;
        let Some((item, body, epoch)) = open else { return Ok(Answer::Nothing) };
        let taken = db.execute(
            "update work set machine = $2, agent = $3, once = $4, epoch = epoch + 1, expires_ms = now_ms() + $5
             where item = $1 and epoch = $6 and done_ms is null and expires_ms <= now_ms()",
            &[
                item.as_str().into(),
                machine.as_str().into(),
                agent.as_str().into(),
                once.as_str().into(),
                ttl_ms.into(),
                epoch.into(),
            ],
        )?;
        if taken == 1 {
            return answer(item, queue, body, epoch + 1, ttl_ms);
        }
    }
    Ok(Answer::Nothing)
}

/// Goes on with an item, or finishes it, only if it is still that claim.
pub fn settle(
    db: &mut dyn Db,
    item: &MailId,
    machine: &Uid,
    agent: &Uid,
    epoch: i64,
    renew_ms: Option<i64>,
) -> Result<Answer, DbError> {
    let ttl_ms = renew_ms.map(|ms| ms.clamp(1, MAX_TTL_MS));
    let done = db.execute(
        "update work set expires_ms = case when $5 > 0 then now_ms() + $5 else expires_ms end,
           done_ms = case when $5 > 0 then null else now_ms() end
         where item = $1 and machine = $2 and agent = $3 and epoch = $4 and done_ms is null and expires_ms > now_ms()",
        &[
            item.as_str().into(),
            machine.as_str().into(),
            agent.as_str().into(),
            epoch.into(),
            ttl_ms.unwrap_or(0).into(),
        ],
    )?;
    Ok(match (done, ttl_ms) {
        (1, Some(ttl_ms)) => Answer::Held { epoch, ttl_ms },
        (1, None) => Answer::Released,
        _ => Answer::Lost,
    })
}

fn answer(
    item: String,
    queue: &Label,
    body: Vec<u8>,
    epoch: i64,
    ttl_ms: i64,
) -> Result<Answer, DbError> {
    let item = MailId::try_from(item).map_err(|detail| DbError::Other { detail })?;
    let item = WorkInfo { item, queue: queue.clone(), text: Bytes(body), epoch, ttl_ms };
    Ok(Answer::Work { item })
}
