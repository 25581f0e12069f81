//! What other features may ask about mail.

use substrate_core::text::one_line;
use substrate_core::{Cx, Db, DbError, Timestamp};

use super::ops::{Letter, Mailbox};
use super::ops::{ledger, mailbox};
use super::post;
use super::words::Count;
use crate::identity::book;

/// When mail comes back by itself: the end of the agent's earliest snooze, or of a claim whose answer was not printed;
/// also if that has passed.
pub(crate) fn next_due(
    db: &mut dyn Db,
    agent: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, DbError> {
    let snooze = ledger::next_snooze(db, agent)?;
    let claim = ledger::next_free(db, Mailbox { agent, sub: "" })?;
    // A claim that has just ended counts from the next millisecond on.
    let due = snooze.into_iter().chain(claim.map(|at| at.plus_ms(1))).min();
    Ok(due.map(|due| due.max(now.plus_ms(1))))
}

/// How many messages of a mailbox were not read; counting ends at two hundred.
pub(crate) fn n_unread(
    db: &mut dyn Db,
    (agent, sub): (i64, &str),
    now: Timestamp,
) -> Result<i64, DbError> {
    Ok(mailbox::n_unread(db, Mailbox { agent, sub }, now)?.0)
}

/// Whether an agent has ever got or sent a message that was not thrown away.
pub(crate) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    mailbox::has_any(db, agent)
}

/// `2 unread messages`.
pub(crate) fn unread_words(n: i64) -> String {
    Count(n).of("unread")
}

pub(crate) use super::views::between;

/// A message from Substrate itself to an agent or one of its subagents, or to the agent if that subagent has ended.
/// Under the same `key` the newest replaces what was not seen yet.
pub(crate) fn note(
    cx: &mut Cx<'_>,
    (agent, sub): (i64, &str),
    subject: &str,
    body: String,
    key: Option<String>,
) -> Result<(), DbError> {
    let Some(to) = post::resolve(cx, agent, sub)? else { return Ok(()) };
    let letter = Letter {
        sender: book::SUBSTRATE,
        subject: one_line(subject, post::MAX_SUBJECT - 1),
        body,
        replace_key: key,
        ..Letter::default()
    };
    post::post(cx, &letter, &[to])?;
    Ok(())
}
