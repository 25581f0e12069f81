//! The ledger of a delivery: queued, claimed by an answer, injected when the answer was printed, seen when the model
//! was asked since; or lost, and then queued again. Snoozes, deadlines and old trash change here too.

use std::rc::Rc;

use substrate_core::{Db, DbError, Memorable, RequestId, Timestamp};

use super::{GIVEN_KEY, Mailbox};

/// In which answer a message goes out.
#[derive(Clone, Copy, Debug)]
pub(in crate::mail) struct MailClaim<'a> {
    pub(in crate::mail) request: RequestId,
    pub(in crate::mail) channel: &'a str,
    pub(in crate::mail) session: Option<&'a str>,
    pub(in crate::mail) actor: &'a str,
    pub(in crate::mail) at: Timestamp,
}

/// Something that was printed, but may not have been seen by the model yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mail) struct InFlight {
    pub(in crate::mail) message: i64,
    pub(in crate::mail) agent: i64,
    pub(in crate::mail) sub: String,
    pub(in crate::mail) channel: String,
}

pub(in crate::mail) const FLYING: &str = "select message, agent, sub, channel from deliveries
     where in_session = $1 and in_actor = $2 and injected_ms is not null and seen_ms is null limit 500";

pub(in crate::mail) const INJECTED: &str = "update deliveries set injected_ms = $2 where claim = $1 and claim is not null and injected_ms is null";

pub(in crate::mail) const LOST_ELSEWHERE: &str =
    "update deliveries set injected_ms = null, channel = null, claim = null, claimed_ms = null,
           in_session = null, in_actor = null, whole = 0
         where agent = $1 and sub = '' and injected_ms is not null and seen_ms is null";

pub(in crate::mail) const NEXT_SNOOZE: &str =
    "select min(snooze_ms) from deliveries where agent = $1 and snooze_ms is not null";

pub(in crate::mail) const OVERDUE: &str = "select message, agent, sub from deliveries
         where deadline_ms is not null and deadline_ms <= $1 and acked_ms is null and overdue_told_ms is null
           and replaced_by is null
         order by deadline_ms limit $2";

pub(in crate::mail) const FORWARD: &str = "update deliveries set sub = '', was_for = sub, claim = null, claimed_ms = null, injected_ms = null,
           channel = null, in_session = null, in_actor = null, whole = 0, n_held = 0
         where agent = $1 and sub = $2 and sub <> '' and seen_ms is null and replaced_by is null";

/// Claims a message for an answer, which has its `whole` body or only announces it.
pub(in crate::mail) fn claim(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    message: i64,
    claim: &MailClaim<'_>,
    whole: bool,
) -> Result<(), DbError> {
    db.execute(
        "update deliveries set claim = $4, claimed_ms = $5, channel = $6, in_session = $7, in_actor = $8, whole = $9
         where message = $1 and agent = $2 and sub = $3 and seen_ms is null and injected_ms is null",
        &[
            message.into(),
            of.agent.into(),
            of.sub.into(),
            claim.request.to_string().as_str().into(),
            claim.at.0.into(),
            claim.channel.into(),
            claim.session.into(),
            claim.actor.into(),
            i64::from(whole).into(),
        ],
    )?;
    Ok(())
}

/// Notes that a message that was announced before is in an answer again.
pub(in crate::mail) fn announced_again(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    message: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update deliveries set again_ms = $4 where message = $1 and agent = $2 and sub = $3",
        &[message.into(), of.agent.into(), of.sub.into(), now.0.into()],
    )?;
    Ok(())
}

/// The answer reached the client.
pub(in crate::mail) fn injected(
    db: &mut dyn Db,
    request: RequestId,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(INJECTED, &[request.to_string().as_str().into(), now.0.into()])?;
    Ok(())
}

/// The answer did not arrive, so its messages are free at once. If it did arrive after all, the claim still finds them.
/// The same where the hook printed it and was then killed: its client ignores it. The agents that they are for.
pub(in crate::mail) fn release(db: &mut dyn Db, request: RequestId) -> Result<Vec<i64>, DbError> {
    let request = request.to_string();
    let mut agents = db.rows(
        "update deliveries set claimed_ms = null where claim = $1 and claim is not null and injected_ms is null
         returning agent",
        &[request.as_str().into()],
        |row| row.int(0),
    )?;
    agents.extend(db.rows(
        "update deliveries set injected_ms = null, channel = null, claim = null, claimed_ms = null,
           in_session = null, in_actor = null, whole = 0
         where claim = $1 and injected_ms is not null and seen_ms is null returning agent",
        &[request.as_str().into()],
        |row| row.int(0),
    )?);
    Ok(agents)
}

/// What this actor was sent and may have seen. Every event asks for it.
pub(in crate::mail) fn flying(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Rc<Vec<InFlight>>, DbError> {
    const IN_FLIGHT: Memorable = Memorable { name: "mail in flight", tables: &["deliveries"] };
    let read = |db: &mut (dyn Db + '_)| {
        db.rows(FLYING, &[session.into(), actor.into()], |row| {
            Ok(InFlight {
                message: row.int(0)?,
                agent: row.int(1)?,
                sub: row.text(2)?,
                channel: row.opt_text(3)?.unwrap_or_default(),
            })
        })
    };
    db.remembered(IN_FLIGHT, [session, actor], read)
}

/// The model was asked since. If it had the whole body, the message counts as read too.
pub(in crate::mail) fn seen(db: &mut dyn Db, of: &InFlight, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update deliveries set seen_ms = $4,
           read_ms = case when whole = 1 then coalesce(read_ms, $4) else read_ms end
         where message = $1 and agent = $2 and sub = $3",
        &[of.message.into(), of.agent.into(), of.sub.as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// It never arrived, so it is queued again. A stop that it could not block is counted.
pub(in crate::mail) fn lost(db: &mut dyn Db, of: &InFlight) -> Result<(), DbError> {
    let has_held = matches!(of.channel.as_str(), "Stop" | "SubagentStop");
    db.execute(
        "update deliveries set injected_ms = null, channel = null, claim = null, claimed_ms = null,
           in_session = null, in_actor = null, whole = 0, n_held = n_held + $4
         where message = $1 and agent = $2 and sub = $3",
        &[of.message.into(), of.agent.into(), of.sub.as_str().into(), i64::from(has_held).into()],
    )?;
    Ok(())
}

/// A conversation begins. Mail that an earlier one may not have seen is shown again.
pub(in crate::mail) fn lost_elsewhere(db: &mut dyn Db, agent: i64) -> Result<(), DbError> {
    db.execute(LOST_ELSEWHERE, &[agent.into()])?;
    Ok(())
}

/// The subagents of an agent with mail that they never saw.
pub(in crate::mail) fn waiting_subs(db: &mut dyn Db, agent: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select distinct sub from deliveries
         where agent = $1 and sub <> '' and seen_ms is null and replaced_by is null limit 500",
        &[agent.into()],
        |row| row.text(0),
    )
}

/// Moves what an ended subagent never saw to its agent. Returns how many messages.
pub(in crate::mail) fn forward(db: &mut dyn Db, agent: i64, sub: &str) -> Result<usize, DbError> {
    // Where the agent got the same message, its own copy is enough.
    db.execute(
        "update deliveries set replaced_by = message
         where agent = $1 and sub = $2 and sub <> '' and seen_ms is null and replaced_by is null and exists (
           select 1 from deliveries o where o.message = deliveries.message and o.agent = $1 and o.sub = '')",
        &[agent.into(), sub.into()],
    )?;
    db.execute(FORWARD, &[agent.into(), sub.into()])
}

/// A subagent was shown its agent's mail.
pub(in crate::mail) fn shown_to_sub(
    db: &mut dyn Db,
    agent: i64,
    message: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update deliveries set shown_to_sub_ms = $3 where message = $1 and agent = $2 and sub = ''",
        &[message.into(), agent.into(), now.0.into()],
    )?;
    Ok(())
}

/// When the next snooze of an agent ends.
pub(in crate::mail) fn next_snooze(
    db: &mut dyn Db,
    agent: i64,
) -> Result<Option<Timestamp>, DbError> {
    const SNOOZED: Memorable = Memorable { name: "snoozed mail", tables: &["deliveries"] };
    let read = |db: &mut (dyn Db + '_)| {
        let first = db.first(NEXT_SNOOZE, &[agent.into()], |row| row.opt_int(0))?;
        Ok(first.flatten().map(Timestamp))
    };
    Ok(*db.remembered(SNOOZED, [&agent.to_string(), ""], read)?)
}

/// Agents whose snoozes have ended.
pub(in crate::mail) fn agents_to_wake(
    db: &mut dyn Db,
    now: Timestamp,
) -> Result<Vec<i64>, DbError> {
    db.rows(
        "select distinct agent from deliveries where snooze_ms is not null and snooze_ms <= $1 limit 500",
        &[now.0.into()],
        |row| row.int(0),
    )
}

/// What an agent had put off until now is new again. `true`: there was something.
pub(in crate::mail) fn end_snoozes(
    db: &mut dyn Db,
    agent: i64,
    now: Timestamp,
) -> Result<bool, DbError> {
    if next_snooze(db, agent)?.is_none_or(|due| due > now) {
        return Ok(false);
    }
    let n = db.execute(
        "update deliveries set snooze_ms = null, seen_ms = null, read_ms = null, injected_ms = null,
           channel = null, claim = null, claimed_ms = null, in_session = null, in_actor = null, whole = 0,
           n_held = 0, again_ms = null
         where agent = $1 and snooze_ms is not null and snooze_ms <= $2",
        &[agent.into(), now.0.into()],
    )?;
    Ok(n > 0)
}

/// A deadline that has passed without an ack.
#[derive(Clone, Debug)]
pub(in crate::mail) struct Overdue {
    pub(in crate::mail) message: i64,
    pub(in crate::mail) agent: i64,
    pub(in crate::mail) sub: String,
}

pub(in crate::mail) fn overdue(
    db: &mut dyn Db,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Overdue>, DbError> {
    db.rows(OVERDUE, &[now.0.into(), limit.into()], |row| {
        Ok(Overdue { message: row.int(0)?, agent: row.int(1)?, sub: row.text(2)? })
    })
}

/// The sender knows: once is enough.
pub(in crate::mail) fn overdue_told(
    db: &mut dyn Db,
    of: &Overdue,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update deliveries set overdue_told_ms = $4 where message = $1 and agent = $2 and sub = $3",
        &[of.message.into(), of.agent.into(), of.sub.as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// Deletes copies that were moved to the trash before then. Returns how many rows, and the messages that no mailbox has
/// any more.
pub(in crate::mail) fn empty_trash(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<(usize, Vec<i64>), DbError> {
    let old = db.rows(
        "select message, agent, sub from deliveries where box = 'trash' and boxed_ms < $1
         order by boxed_ms limit $2",
        &[before.0.into(), limit.into()],
        |row| Ok((row.int(0)?, row.int(1)?, row.text(2)?)),
    )?;
    let mut gone = Vec::new();
    for (message, agent, sub) in &old {
        db.execute(
            "insert into mail_keys (sender, key, message)
               select sender, idem_key, id from messages where id = $1 and substr(idem_key, 1, 4) = $2
               on conflict (sender, key) do nothing",
            &[(*message).into(), GIVEN_KEY.into()],
        )?;
        db.execute(
            "delete from deliveries where message = $1 and agent = $2 and sub = $3",
            &[(*message).into(), (*agent).into(), sub.as_str().into()],
        )?;
        // The newest number is kept, so that none is used twice.
        let n = db.execute(
            "delete from messages where id = $1 and id < (select max(id) from messages)
               and not exists (select 1 from deliveries where message = $1)",
            &[(*message).into()],
        )?;
        if n > 0 {
            gone.push(*message);
        }
    }
    Ok((old.len(), gone))
}

/// When the first claim on a mailbox runs out, if one is open.
pub(in crate::mail) fn next_free(
    db: &mut dyn Db,
    of: Mailbox<'_>,
) -> Result<Option<Timestamp>, DbError> {
    let first = db.first(
        "select min(claimed_ms) from (select claimed_ms from deliveries
           where agent = $1 and sub = $2 and seen_ms is null and injected_ms is null and replaced_by is null
             and box = 'inbox' and snooze_ms is null limit 200) as few",
        &[of.agent.into(), of.sub.into()],
        |row| row.opt_int(0),
    )?;
    Ok(first.flatten().map(|at| Timestamp(at).plus_ms(super::mailbox::CLAIM_MS)))
}
