//! Mailboxes: what is new, what is unread, what was kept, and the marks that their owner makes.
//!
//! Every list has a limit and every count ends, so that a full mailbox costs no more than a small one.

use serde::Serialize;
use substrate_core::{Db, DbError, Memorable, Param, Row, Timestamp};

use super::Mailbox;
use crate::mail::message::Priority;
use crate::mail::words::{Count, MAX_COUNT};

pub(in crate::mail) use substrate_core::wish::CLAIM_MS;

/// A row of a mailbox.
#[derive(Clone, Debug)]
pub(in crate::mail) struct MailboxRow {
    pub(in crate::mail) id: i64,
    pub(in crate::mail) sender: i64,
    pub(in crate::mail) sender_sub: String,
    pub(in crate::mail) subject: String,
    pub(in crate::mail) priority: Priority,
    pub(in crate::mail) was_for: Option<String>,
    pub(in crate::mail) sent_ms: i64,
    pub(in crate::mail) deadline_ms: Option<i64>,
    pub(in crate::mail) thread: i64,
    pub(in crate::mail) box_name: String,
    pub(in crate::mail) seen_ms: Option<i64>,
    pub(in crate::mail) read_ms: Option<i64>,
    pub(in crate::mail) acked_ms: Option<i64>,
    pub(in crate::mail) starred: bool,
    pub(in crate::mail) replaced_by: Option<i64>,
    pub(in crate::mail) injected_ms: Option<i64>,
    /// How many stops it blocked in vain.
    pub(in crate::mail) n_held: i64,
}

impl MailboxRow {
    /// It is, or was, in an answer that reached its client.
    pub(in crate::mail) const fn is_told(&self) -> bool {
        self.injected_ms.is_some() || self.seen_ms.is_some()
    }
}

/// The whole history of one delivery.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mail) struct Delivery {
    #[serde(skip)]
    pub(in crate::mail) agent: i64,
    #[serde(skip)]
    pub(in crate::mail) sub: String,
    pub(in crate::mail) was_for: Option<String>,
    #[serde(rename = "box")]
    pub(in crate::mail) box_name: String,
    pub(in crate::mail) queued_ms: i64,
    /// On its way to another machine: at the hub, then there, or why it never will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mail) at_hub_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mail) at_machine_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mail) failed_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mail) failed_why: Option<String>,
    pub(in crate::mail) injected_ms: Option<i64>,
    pub(in crate::mail) channel: Option<String>,
    pub(in crate::mail) seen_ms: Option<i64>,
    pub(in crate::mail) read_ms: Option<i64>,
    pub(in crate::mail) acked_ms: Option<i64>,
    pub(in crate::mail) snooze_ms: Option<i64>,
    pub(in crate::mail) replaced_by: Option<i64>,
    pub(in crate::mail) overdue_told_ms: Option<i64>,
    pub(in crate::mail) deadline_ms: Option<i64>,
}

macro_rules! columns {
    () => {
        "m.id, m.sender, m.sender_sub, m.subject, m.priority, d.was_for, m.sent_ms, m.deadline_ms, m.thread, d.box,
         d.seen_ms, d.read_ms, d.acked_ms, d.starred, d.replaced_by, d.injected_ms, d.n_held"
    };
}

/// Not shown yet and in no open answer. The index `deliveries_pending` has the same condition.
macro_rules! pending {
    () => {
        "d.agent = $1 and d.sub = $2 and d.priority >= $4 and d.seen_ms is null and d.injected_ms is null
         and d.replaced_by is null and d.box = 'inbox' and d.snooze_ms is null
         and (d.claimed_ms is null or d.claimed_ms <= $3)"
    };
}

/// Not read yet. The index `deliveries_unread` has the same condition.
macro_rules! unread {
    () => {
        "d.agent = $1 and d.sub = $2 and d.read_ms is null and d.replaced_by is null and d.box = 'inbox'
         and d.snooze_ms is null and (d.claimed_ms is null or d.claimed_ms <= $3 or d.injected_ms is not null)"
    };
}

pub(in crate::mail) const PENDING: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    pending!(),
    " order by d.priority desc, d.message limit $5"
);

/// The same for a subagent that is about to end: what no subagent was shown before.
pub(in crate::mail) const PENDING_FOR_SUBS: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    pending!(),
    " and d.shown_to_sub_ms is null order by d.priority desc, d.message limit $5"
);

pub(in crate::mail) const UNREAD: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    unread!(),
    " order by d.priority desc, d.message limit $4"
);

/// What was only announced, and only once.
pub(in crate::mail) const ANNOUNCED: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message where ",
    unread!(),
    " and d.seen_ms is not null and d.again_ms is null order by d.priority desc, d.message limit $4"
);

pub(in crate::mail) const N_UNREAD: &str = concat!(
    "select count(*) from (select 1 from deliveries d where ",
    unread!(),
    " limit $4) as few"
);

pub(in crate::mail) const KEPT: &str = concat!(
    "select ",
    columns!(),
    " from deliveries d join messages m on m.id = d.message
     where d.agent = $1 and d.sub = $2 and d.box <> 'trash' and d.message < $3
     order by d.message desc limit $4"
);

/// Whether anything is new at all, and whether anything is unread. Mostly nothing is, and only memory is asked.
pub(in crate::mail) const ANY_NEW: &str =
    "select 1 from deliveries d where d.agent = $1 and d.sub = $2 and d.seen_ms is null
       and d.injected_ms is null and d.replaced_by is null and d.box = 'inbox' and d.snooze_ms is null limit 1";
pub(in crate::mail) const ANY_UNREAD: &str =
    "select 1 from deliveries d where d.agent = $1 and d.sub = $2 and d.read_ms is null
       and d.replaced_by is null and d.box = 'inbox' and d.snooze_ms is null limit 1";

const HAS_NEW: Memorable = Memorable { name: "new mail", tables: &["deliveries"] };
const HAS_UNREAD: Memorable = Memorable { name: "unread mail", tables: &["deliveries"] };

fn has(db: &mut dyn Db, what: Memorable, sql: &str, of: Mailbox<'_>) -> Result<bool, DbError> {
    let read = |db: &mut (dyn Db + '_)| {
        Ok(db.first(sql, &[of.agent.into(), of.sub.into()], |row| row.int(0))?.is_some())
    };
    Ok(*db.remembered(what, [&of.agent.to_string(), of.sub], read)?)
}

/// What is new: urgent first, then oldest first.
pub(in crate::mail) fn pending(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    at_least: Priority,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    new_ones(db, PENDING, of, at_least, now, limit)
}

/// What is new to an agent and was not shown to any of its subagents.
pub(in crate::mail) fn pending_for_subs(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    new_ones(db, PENDING_FOR_SUBS, of, Priority::Low, now, limit)
}

fn new_ones(
    db: &mut dyn Db,
    sql: &str,
    of: Mailbox<'_>,
    at_least: Priority,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    if !has(db, HAS_NEW, ANY_NEW, of)? {
        return Ok(Vec::new());
    }
    let free = now.plus_ms(-CLAIM_MS).0;
    let params =
        [of.agent.into(), of.sub.into(), free.into(), at_least.number().into(), limit.into()];
    db.rows(sql, &params, open)
}

/// What is unread: urgent first, then oldest first.
pub(in crate::mail) fn unread(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    not_read(db, UNREAD, of, now, limit)
}

/// What was announced once, and not read since.
pub(in crate::mail) fn announced(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    not_read(db, ANNOUNCED, of, now, limit)
}

fn not_read(
    db: &mut dyn Db,
    sql: &str,
    of: Mailbox<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    if !has(db, HAS_UNREAD, ANY_UNREAD, of)? {
        return Ok(Vec::new());
    }
    let free = now.plus_ms(-CLAIM_MS).0;
    db.rows(sql, &[of.agent.into(), of.sub.into(), free.into(), limit.into()], open)
}

/// Whether an agent, or one of its subagents, has got or sent anything.
pub(in crate::mail) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    let got = "select 1 from deliveries where agent = $1 and box <> 'trash' limit 1";
    if db.first(got, &[agent.into()], |row| row.int(0))?.is_some() {
        return Ok(true);
    }
    let sent = "select 1 from messages where sender = $1 limit 1";
    Ok(db.first(sent, &[agent.into()], |row| row.int(0))?.is_some())
}

/// How many are unread: the only count that is shown.
pub(in crate::mail) fn n_unread(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    now: Timestamp,
) -> Result<Count, DbError> {
    let free = now.plus_ms(-CLAIM_MS).0;
    let params = [of.agent.into(), of.sub.into(), free.into(), MAX_COUNT.into()];
    Ok(Count(db.first(N_UNREAD, &params, |row| row.int(0))?.unwrap_or(0)))
}

/// Everything that was not thrown away, newest first.
pub(in crate::mail) fn kept(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    before: i64,
    limit: i64,
) -> Result<Vec<MailboxRow>, DbError> {
    db.rows(KEPT, &[of.agent.into(), of.sub.into(), before.into(), limit.into()], open)
}

/// Who got a message, and how far each delivery has got.
pub(in crate::mail) fn deliveries(db: &mut dyn Db, message: i64) -> Result<Vec<Delivery>, DbError> {
    db.rows(
        "select agent, sub, was_for, box, queued_ms, injected_ms, channel, seen_ms, read_ms, acked_ms, snooze_ms,
           replaced_by, overdue_told_ms, deadline_ms, at_hub_ms, at_machine_ms, failed_ms, failed_why
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
                at_hub_ms: row.opt_int(14)?,
                at_machine_ms: row.opt_int(15)?,
                failed_ms: row.opt_int(16)?,
                failed_why: row.opt_text(17)?,
            })
        },
    )
}

/// A mark that the owner of a mailbox makes.
#[derive(Clone, Copy, Debug)]
pub(in crate::mail) enum Mark {
    /// About to be shown by a command: hidden from others for a moment.
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
pub(in crate::mail) fn mark(
    db: &mut dyn Db,
    of: Mailbox<'_>,
    message: i64,
    mark: Mark,
    now: Timestamp,
) -> Result<bool, DbError> {
    const SHOWN: &str = "injected_ms = coalesce(injected_ms, $4), seen_ms = coalesce(seen_ms, $4), channel = coalesce(channel, $5)";
    const READ: &str = "read_ms = coalesce(read_ms, $4)";
    const BOXED: &str = "box = $5, boxed_ms = $4, snooze_ms = null";
    let (set, values): (String, &[Param<'_>]) = match mark {
        Mark::Claimed => ("claimed_ms = $4".to_owned(), &[now.0.into()]),
        Mark::Seen(how) => (SHOWN.to_owned(), &[now.0.into(), how.into()]),
        Mark::Read(how) => (format!("{SHOWN}, {READ}"), &[now.0.into(), how.into()]),
        Mark::Acked => (
            format!("{SHOWN}, {READ}, acked_ms = coalesce(acked_ms, $4)"),
            &[now.0.into(), "ack".into()],
        ),
        Mark::Starred(on) => ("starred = $4".to_owned(), &[i64::from(on).into()]),
        Mark::Snoozed(until) => (
            "snooze_ms = $5, box = 'inbox', boxed_ms = $4".to_owned(),
            &[now.0.into(), until.0.into()],
        ),
        Mark::Archived => (BOXED.to_owned(), &[now.0.into(), "archive".into()]),
        Mark::Trashed => (BOXED.to_owned(), &[now.0.into(), "trash".into()]),
    };
    // A claim is only for what no answer has shown yet.
    let also = match mark {
        Mark::Claimed => " and seen_ms is null and injected_ms is null",
        _ => "",
    };
    let sql =
        format!("update deliveries set {set} where message = $1 and agent = $2 and sub = $3{also}");
    let mut params: Vec<Param<'_>> = vec![message.into(), of.agent.into(), of.sub.into()];
    params.extend_from_slice(values);
    Ok(db.execute(&sql, &params)? > 0)
}

fn open(row: &dyn Row) -> Result<MailboxRow, DbError> {
    Ok(MailboxRow {
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
