//! What happens to mail as time passes: missed deadlines, ended snoozes, old trash.

use substrate_core::text::one_line;
use substrate_core::{Cx, FeatureError};

use super::ops::ledger::{self, Overdue};
use super::ops::mailbox;
use super::ops::{self, Letter};
use super::policy::address;
use super::post::{self, Recipient};
use super::{far, render, search, words};
use crate::identity::book;

/// Rows per step, so that no hook waits.
const STEP: i64 = 100;

/// Trash is kept for so long.
const TRASH_MS: i64 = 30 * 86_400_000;

/// `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    for agent in ledger::agents_to_wake(cx.db, cx.now)? {
        ledger::end_snoozes(cx.db, agent, cx.now)?;
        cx.wake(agent);
    }
    far::release_late(cx)?;
    far::close_old(cx)?;
    let late = ledger::overdue(cx.db, cx.now, STEP)?;
    for one in &late {
        ledger::overdue_told(cx.db, one, cx.now)?;
        tell_sender(cx, one)?;
    }
    let (n_removed, gone) = ledger::empty_trash(cx.db, cx.now.plus_ms(-TRASH_MS), STEP)?;
    for message in gone {
        search::forget(cx.db, message)?;
    }
    let full = usize::try_from(STEP).unwrap_or(usize::MAX);
    Ok(late.len() >= full || n_removed >= full)
}

/// One message to the agent that set the deadline.
fn tell_sender(cx: &mut Cx<'_>, late: &Overdue) -> Result<(), FeatureError> {
    let recipient = address(cx, late.agent, &late.sub)?;
    let found = mailbox::deliveries(cx.db, late.message)?;
    let delivery = found.iter().find(|one| one.agent == late.agent && one.sub == late.sub);
    let Some(message) = ops::visible(cx.db, late.message, late.agent)? else { return Ok(()) };
    let (Some(delivery), true) = (delivery, message.sender != book::SUBSTRATE) else {
        return Ok(());
    };
    // The machine of the sender has the same deadline, and tells it there.
    if book::machine_of(cx.db, message.sender)?.is_some() {
        return Ok(());
    }
    let deadline = words::moment(message.deadline_ms.unwrap_or(cx.now.0), 0);
    let body = format!(
        "#{} \"{}\" had to be acknowledged by {recipient} until {deadline} UTC, and was not.\n\
         So far: {}.\n`substrate status {}` shows the latest.",
        message.id,
        words::subject(&message.subject),
        render::way(delivery, 0),
        message.id,
    );
    let letter = Letter {
        sender: book::SUBSTRATE,
        subject: one_line(
            &format!("No ack from {recipient}: \"{}\"", words::subject(&message.subject)),
            post::MAX_SUBJECT - 1,
        ),
        body,
        thread: Some(message.thread),
        ..Letter::default()
    };
    let to = match post::resolve(cx, message.sender, &message.sender_sub)? {
        Some(to) => to,
        None => Recipient::of_agent(message.sender, String::new()),
    };
    post::post(cx, &letter, &[to])?;
    Ok(())
}
