//! Messages in the database: written once, found by number, thread or sender.

pub(super) mod ledger;
pub(super) mod mailbox;
pub(super) mod topics;

use serde::Serialize;
use substrate_core::{Db, DbError, Row, Timestamp};

use crate::mail::message::Priority;

/// A message as it is stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Letter {
    pub(super) sender: i64,
    pub(super) sender_sub: String,
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) priority: Priority,
    pub(super) deadline_ms: Option<i64>,
    /// The thread that it goes on; `None` begins one.
    pub(super) thread: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) topic: Option<String>,
    pub(super) replace_key: Option<String>,
    pub(super) idem_key: Option<String>,
}

/// A message without its body.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Message {
    pub(super) id: i64,
    #[serde(skip)]
    pub(super) sender: i64,
    #[serde(skip)]
    pub(super) sender_sub: String,
    pub(super) subject: String,
    pub(super) priority: Priority,
    pub(super) sent_ms: i64,
    pub(super) deadline_ms: Option<i64>,
    pub(super) thread: i64,
    pub(super) reply_to: Option<i64>,
    pub(super) topic: Option<String>,
}

/// A mailbox: an agent's, or one of its subagents'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mailbox<'a> {
    pub(super) agent: i64,
    pub(super) sub: &'a str,
}

pub(super) fn insert(db: &mut dyn Db, letter: &Letter, now: Timestamp) -> Result<i64, DbError> {
    let id = db.first(
        "insert into messages (sender, sender_sub, subject, priority, sent_ms, deadline_ms, thread, reply_to,
           topic, replace_key, idem_key, body)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id",
        &[
            letter.sender.into(),
            letter.sender_sub.as_str().into(),
            letter.subject.as_str().into(),
            letter.priority.number().into(),
            now.0.into(),
            letter.deadline_ms.into(),
            letter.thread.unwrap_or(0).into(),
            letter.reply_to.into(),
            letter.topic.as_deref().into(),
            letter.replace_key.as_deref().into(),
            letter.idem_key.as_deref().into(),
            letter.body.as_str().into(),
        ],
        |row| row.int(0),
    )?;
    let id = id.ok_or_else(|| DbError::Other { detail: "a message got no number".to_owned() })?;
    if letter.thread.is_none() {
        db.execute("update messages set thread = id where id = $1", &[id.into()])?;
    }
    Ok(id)
}

pub(super) fn deliver(
    db: &mut dyn Db,
    message: i64,
    to: Mailbox<'_>,
    was_for: Option<&str>,
    letter: &Letter,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into deliveries (message, agent, sub, was_for, box, priority, queued_ms, deadline_ms, starred)
         values ($1, $2, $3, $4, 'inbox', $5, $6, $7, 0)",
        &[
            message.into(),
            to.agent.into(),
            to.sub.into(),
            was_for.into(),
            letter.priority.number().into(),
            now.0.into(),
            letter.deadline_ms.into(),
        ],
    )?;
    Ok(())
}

/// The newest message under a key replaces earlier ones that are still unseen.
pub(super) fn replace_earlier(
    db: &mut dyn Db,
    message: i64,
    sender: i64,
    key: &str,
    to: Mailbox<'_>,
) -> Result<usize, DbError> {
    db.execute(
        "update deliveries set replaced_by = $1
         where agent = $2 and sub = $3 and seen_ms is null and replaced_by is null and message in (
           select id from messages where sender = $4 and replace_key = $5 and id < $1 order by id desc limit 200)",
        &[message.into(), to.agent.into(), to.sub.into(), sender.into(), key.into()],
    )
}

/// The message that was sent under that key before. It may be deleted by now.
pub(super) fn sent_as(db: &mut dyn Db, sender: i64, key: &str) -> Result<Option<i64>, DbError> {
    let params = [sender.into(), key.into()];
    let here = "select id from messages where sender = $1 and idem_key = $2";
    let found = db.first(here, &params, |row| row.int(0))?;
    if found.is_some() || !key.starts_with(GIVEN_KEY) {
        return Ok(found);
    }
    let deleted = "select message from mail_keys where sender = $1 and key = $2";
    db.first(deleted, &params, |row| row.int(0))
}

/// How a key begins that the sender gave. The id of a request comes back within minutes or never, so it is not kept.
pub(super) const GIVEN_KEY: &str = "key ";

macro_rules! columns {
    () => {
        "m.id, m.sender, m.sender_sub, m.subject, m.priority, m.sent_ms, m.deadline_ms, m.thread, m.reply_to, m.topic"
    };
}

/// A select of messages `m`.
macro_rules! select {
    ($where:literal) => {
        concat!("select ", columns!(), " from messages m where ", $where)
    };
}

/// A message, if the agent or one of its subagents sent or got it. An agent never learns that others' mail exists.
pub(super) fn visible(db: &mut dyn Db, id: i64, agent: i64) -> Result<Option<Message>, DbError> {
    db.first(
        select!(
            "m.id = $1 and (m.sender = $2 or exists (
               select 1 from deliveries d where d.message = m.id and d.agent = $2))"
        ),
        &[id.into(), agent.into()],
        message,
    )
}

/// A message, without asking who may see it, and its key for replacing earlier ones.
pub(super) fn whole(
    db: &mut dyn Db,
    id: i64,
) -> Result<Option<(Message, Option<String>)>, DbError> {
    db.first(
        concat!("select ", columns!(), ", m.replace_key from messages m where m.id = $1"),
        &[id.into()],
        |row| Ok((message(row)?, row.opt_text(10)?)),
    )
}

/// What one sees of a thread, oldest first.
pub(super) fn thread(
    db: &mut dyn Db,
    thread: i64,
    agent: i64,
    limit: i64,
) -> Result<Vec<Message>, DbError> {
    db.rows(
        select!(
            "m.thread = $1 and (m.sender = $2 or exists (
               select 1 from deliveries d where d.message = m.id and d.agent = $2))
             order by m.id desc limit $3"
        ),
        &[thread.into(), agent.into(), limit.into()],
        message,
    )
}

/// The newest messages of a sender.
pub(super) fn sent(
    db: &mut dyn Db,
    from: Mailbox<'_>,
    limit: i64,
) -> Result<Vec<Message>, DbError> {
    db.rows(
        select!("m.sender = $1 and m.sender_sub = $2 order by m.id desc limit $3"),
        &[from.agent.into(), from.sub.into(), limit.into()],
        message,
    )
}

/// This many characters of a body, from an offset on.
pub(super) fn body(db: &mut dyn Db, id: i64, from: i64, n_chars: i64) -> Result<String, DbError> {
    let part = db.first(
        "select substr(body, $2, $3) from messages where id = $1",
        &[id.into(), from.saturating_add(1).into(), n_chars.into()],
        |row| row.text(0),
    )?;
    Ok(part.unwrap_or_default())
}

/// How many characters a body has.
pub(super) fn body_len(db: &mut dyn Db, id: i64) -> Result<i64, DbError> {
    let found =
        db.first("select length(body) from messages where id = $1", &[id.into()], |row| {
            row.int(0)
        })?;
    Ok(found.unwrap_or(0))
}

fn message(row: &dyn Row) -> Result<Message, DbError> {
    Ok(Message {
        id: row.int(0)?,
        sender: row.int(1)?,
        sender_sub: row.text(2)?,
        subject: row.text(3)?,
        priority: Priority::of(row.int(4)?),
        sent_ms: row.int(5)?,
        deadline_ms: row.opt_int(6)?,
        thread: row.int(7)?,
        reply_to: row.opt_int(8)?,
        topic: row.opt_text(9)?,
    })
}
