//! Mailboxes: what is new, what is unread, what was kept, and the marks that their owner makes.
//!
//! Every list has a limit and every count ends, so that a full mailbox costs no more than a small one.

use serde::Serialize;
use substrate_core::{Db, DbError, Param, Row, Timestamp};

use super::message::Priority;
use super::ops::Mailbox;
use super::words::{Count, MAX_COUNT};

pub(super) use substrate_core::wish::CLAIM_MS;

/// A row of a mailbox.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) id: i64,
    pub(super) sender: i64,
    pub(super) sender_sub: String,
    pub(super) subject: String,
    pub(super) priority: Priority,
    pub(super) was_for: Option<String>,
    pub(super) sent_ms: i64,
    pub(super) deadline_ms: Option<i64>,
    pub(super) thread: i64,
    pub(super) box_name: String,
    pub(super) seen_ms: Option<i64>,
    pub(super) read_ms: Option<i64>,
    pub(super) acked_ms: Option<i64>,
    pub(super) starred: bool,
    pub(super) replaced_by: Option<i64>,
    pub(super) injected_ms: Option<i64>,
    /// How many stops it held in vain.
    pub(super) n_held: i64,
}

impl Open {
    /// It is, or was, in an answer that reached its client.
    pub(super) const fn is_told(&self) -> bool {
        self.injected_ms.is_some() || self.seen_ms.is_some()
    }
}

/// The whole way of one delivery.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Delivery {
    #[serde(skip)]
    pub(super) agent: i64,
    #[serde(skip)]
    pub(super) sub: String,
    pub(super) was_for: Option<String>,
    #[serde(rename = "box")]
    pub(super) box_name: String,
    pub(super) queued_ms: i64,
    pub(super) injected_ms: Option<i64>,
    pub(super) channel: Option<String>,
    pub(super) seen_ms: Option<i64>,
    pub(super) read_ms: Option<i64>,
    pub(super) acked_ms: Option<i64>,
    pub(super) snooze_ms: Option<i64>,
    pub(super) replaced_by: Option<i64>,
    pub(super) overdue_told_ms: Option<i64>,
    pub(super) deadline_ms: Option<i64>,
}

macro_rules! columns {
    () => {
        "m.id, m.sender, m.sender_sub, m.subject, m.priority, d.was_for, m.sent_ms, m.deadline_ms, m.thread, d.box,
         d.seen_ms, d.read_ms, d.acked_ms, d.starred, d.replaced_by, d.injected_ms, d.n_held"
    };
}

/// Not told to anybody yet, and in nobody's answer right now: as the index `deliveries_pending` has it.
macro_rules! pending {
    () => {
        "d.agent = $1 and d.sub = $2 and d.priority >= $4 and d.seen_ms is null and d.injected_ms is null
         and d.replaced_by is null and d.box = 'inbox' and d.snooze_ms is null
         and (d.claimed_ms is null or d.claimed_ms <= $3)"
    };
}

/// Not read yet: as the index `deliveries_unread` has it.
macro_rules! unread {
    () => {
        "d.agent = $1 and d.sub = $2 and d.read_ms is null and d.replaced_by is null and d.box = 'inbox'
         and d.snooze_ms is null and (d.claimed_ms is null or d.claimed_ms <= $3 or d.injected_ms is not null)"
    };
}

pub(super) const PENDING: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    pending!(),
    " order by d.priority desc, d.message limit $5"
);

/// The same for a subagent that is about to end: what no subagent was shown before.
pub(super) const PENDING_FOR_SUBS: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    pending!(),
    " and d.shown_to_sub_ms is null order by d.priority desc, d.message limit $5"
);

pub(super) const UNREAD: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    unread!(),
    " order by d.priority desc, d.message limit $4"
);

/// What was only announced, and that once.
pub(super) const ANNOUNCED: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    unread!(),
    " and d.seen_ms is not null and d.again_ms is null order by d.priority desc, d.message limit $4"
);

pub(super) const N_UNREAD: &str = concat!(
    "select count(*) from (select 1 from deliveries d where ",
    unread!(),
    " limit $4) as few"
);

pub(super) const KEPT: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message
     where d.agent = $1 and d.sub = $2 and d.box <> 'trash' and d.message < $3
     order by d.message desc limit $4"
);

/// What is new, the urgent first, then the oldest.
pub(super) fn pending(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    at_least: Priority,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    new_ones(db, PENDING, of, at_least, now, limit)
}

/// What is new to an agent and was not shown to any of its subagents.
pub(super) fn pending_for_subs(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    new_ones(db, PENDING_FOR_SUBS, of, Priority::Low, now, limit)
}

fn new_ones(
    db: &mut dyn Db,
    sql: &str,
    of: Mailbox<'_>,
    at_least: Priority,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    let params =
        [of.agent.into(), of.sub.into(), free.into(), at_least.number().into(), limit.into()];
    db.rows(sql, &params, open)
}

/// What was not read, the urgent first, then the oldest.
pub(super) fn unread(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    db.rows(UNREAD, &[of.agent.into(), of.sub.into(), free.into(), limit.into()], open)
}

/// What was announced once, and not read since.
pub(super) fn announced(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    db.rows(ANNOUNCED, &[of.agent.into(), of.sub.into(), free.into(), limit.into()], open)
}

/// Whether an agent, or one of its subagents, has got or sent anything.
pub(super) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    let got = "select 1 from deliveries where agent = $1 and box <> 'trash' limit 1";
    if db.first(got, &[agent.into()], |row| row.int(0))?.is_some() {
        return Ok(true);
    }
    let sent = "select 1 from messages where sender = $1 limit 1";
    Ok(db.first(sent, &[agent.into()], |row| row.int(0))?.is_some())
}

/// How many were not read: the one count that is ever told.
pub(super) fn n_unread(db: &mut dyn Db, of: Mailbox<'_>, now: Timestamp) -> Result<Count, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    let params = [of.agent.into(), of.sub.into(), free.into(), MAX_COUNT.into()];
    Ok(Count(db.first(N_UNREAD, &params, |row| row.int(0))?.unwrap_or(0)))
}

/// Everything that was not thrown away, newest first.
pub(super) fn kept(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    before: i64,
    limit: i64,
) -> Result<Vec<Open>, DbError> {
    db.rows(KEPT, &[of.agent.into(), of.sub.into(), before.into(), limit.into()], open)
}

/// Who got a message, and how far it came with each.
pub(super) fn deliveries(db: &mut dyn Db, message: i64) -> Result<Vec<Delivery>, DbError> {
    db.rows(
        "select agent, sub, was_for, box, queued_ms, injected_ms, channel, seen_ms, read_ms, acked_ms, snooze_ms,
           replaced_by, overdue_told_ms, deadline_ms
         from deliveries where message = $1 order by agent, sub limit 500",
        &[message.into()],
        |row| {
            Ok(Delivery {
                agent: row.int(0)?,
                sub: row.text(1)?,
                was_for: row.opt_text(2)?,
                box_name: row.text(3)?,
                queued_ms: row.int(4)?,
                injected_ms: row.opt_int(5)?,
                channel: row.opt_text(6)?,
                seen_ms: row.opt_int(7)?,
                read_ms: row.opt_int(8)?,
                acked_ms: row.opt_int(9)?,
                snooze_ms: row.opt_int(10)?,
                replaced_by: row.opt_int(11)?,
                overdue_told_ms: row.opt_int(12)?,
                deadline_ms: row.opt_int(13)?,
            })
        },
    )
}

/// A mark that the owner of a mailbox makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// About to be shown by a command: out of sight for whoever else looks, for a moment.
    Claimed,
    /// The command's own output has shown it.
    Seen(&'static str),
    /// And its body.
    Read(&'static str),
    Acked,
    Starred(bool),
    Snoozed(Timestamp),
    Archived,
    Trashed,
}

/// Marks one message of a mailbox. `false`: it is not there.
pub(super) fn mark(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    message: i64,
    mark: Mark,
    now: Timestamp,
) -> Result<bool, DbError> {
    let (sql, values): (&str, &[Param<'_>]) = match mark {
        Mark::Claimed => (
            "update deliveries set claimed_ms = $4
             where message = $1 and agent = $2 and sub = $3 and seen_ms is null and injected_ms is null",
            &[now.0.into()],
        ),
        Mark::Seen(how) => (
            "update deliveries set injected_ms = coalesce(injected_ms, $4), seen_ms = coalesce(seen_ms, $4),
               channel = coalesce(channel, $5)
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), how.into()],
        ),
        Mark::Read(how) => (
            "update deliveries set injected_ms = coalesce(injected_ms, $4), seen_ms = coalesce(seen_ms, $4),
               read_ms = coalesce(read_ms, $4), channel = coalesce(channel, $5)
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), how.into()],
        ),
        Mark::Acked => (
            "update deliveries set acked_ms = coalesce(acked_ms, $4), injected_ms = coalesce(injected_ms, $4),
               seen_ms = coalesce(seen_ms, $4), read_ms = coalesce(read_ms, $4), channel = coalesce(channel, $5)
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), "ack".into()],
        ),
        Mark::Starred(on) => (
            "update deliveries set starred = $4 where message = $1 and agent = $2 and sub = $3",
            &[i64::from(on).into()],
        ),
        Mark::Snoozed(until) => (
            "update deliveries set snooze_ms = $5, box = 'inbox', boxed_ms = $4
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), until.0.into()],
        ),
        Mark::Archived => (
            "update deliveries set box = $5, boxed_ms = $4, snooze_ms = null
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), "archive".into()],
        ),
        Mark::Trashed => (
            "update deliveries set box = $5, boxed_ms = $4, snooze_ms = null
             where message = $1 and agent = $2 and sub = $3",
            &[now.0.into(), "trash".into()],
        ),
    };
    let mut params: Vec<Param<'_>> = vec![message.into(), of.agent.into(), of.sub.into()];
    params.extend_from_slice(values);
    Ok(db.execute(sql, &params)? > 0)
}

fn open(row: &dyn Row) -> Result<Open, DbError> {
    Ok(Open {
        id: row.int(0)?,
        sender: row.int(1)?,
        sender_sub: row.text(2)?,
        subject: row.text(3)?,
        priority: Priority::of(row.int(4)?),
        was_for: row.opt_text(5)?,
        sent_ms: row.int(6)?,
        deadline_ms: row.opt_int(7)?,
        thread: row.int(8)?,
        box_name: row.text(9)?,
        seen_ms: row.opt_int(10)?,
        read_ms: row.opt_int(11)?,
        acked_ms: row.opt_int(12)?,
        starred: row.int(13)? != 0,
        replaced_by: row.opt_int(14)?,
        injected_ms: row.opt_int(15)?,
        n_held: row.int(16)?,
    })
}
