//! Which messages wait for the user: unread ones, and those that were not acknowledged in time.

use std::fmt::Write as _;

use serde_json::json;
use substrate_core::need::{Action, UserNeed};
use substrate_core::{Cx, DbError, FeatureError, NeedKind};

use super::ops::mailbox::{self, MailboxRow};
use super::ops::{self, Mailbox, Message};
use super::policy::address;
use super::words;
use crate::identity::book;

const USER: Mailbox<'_> = Mailbox { agent: book::USER, sub: "" };

/// Messages that are looked at, per list.
const MAX: i64 = 100;

/// Characters of a body. The rest is a command away.
const MAX_CHARS: i64 = 16_000;

/// A missed deadline of another agent is shown for so long.
const MISSED_MS: i64 = 7 * 86_400_000;

pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let late = missed_by_others(cx)?;
    let mut rows = mailbox::unread(cx.db, USER, cx.now, MAX)?;
    let now = cx.now.0;
    let is_late = move |row: &MailboxRow| {
        row.acked_ms.is_none() && row.deadline_ms.is_some_and(|deadline| deadline <= now)
    };
    for row in mailbox::kept(cx.db, USER, i64::MAX, MAX)? {
        let is_open = row.box_name == "inbox" && row.replaced_by.is_none();
        if is_open && is_late(&row) && rows.iter().all(|known| known.id != row.id) {
            rows.push(row);
        }
    }
    // Our own note about a missed deadline would be a second row about the same thing.
    let is_note = |row: &MailboxRow| {
        row.sender == book::SUBSTRATE
            && late.iter().any(|(message, _)| message.thread == row.thread)
    };
    rows.retain(|row| !is_note(row));
    let mut out: Vec<UserNeed> = late.into_iter().map(|(_, need)| need).collect();
    for row in &rows {
        out.push(of_message(cx, row, is_late(row))?);
    }
    Ok(out)
}

fn of_message(cx: &mut Cx<'_>, row: &MailboxRow, is_late: bool) -> Result<UserNeed, DbError> {
    let id = row.id;
    let mut text = ops::body(cx.db, id, 0, MAX_CHARS)?;
    let n_more = ops::body_len(cx.db, id)? - MAX_CHARS;
    if n_more > 0 {
        let _infallible =
            write!(text, "\n({n_more} more characters: `substrate read {id} --from {MAX_CHARS}`)");
    }
    let reply = Action::new("Reply", &["reply"], json!({ "id": id }));
    let ack = Action::new("Acknowledge", &["ack"], json!({ "ids": [id] }));
    let file = Action::new("Archive", &["archive"], json!({ "ids": [id] }));
    let subject = words::subject(&row.subject);
    let (kind, reason, actions) = if is_late {
        let until = words::moment(row.deadline_ms.unwrap_or_default(), 0);
        let reason = format!("#{id} was to be acknowledged until {until} UTC: {subject}");
        (NeedKind::Deadline, reason, vec![ack.recommended(), reply, file])
    } else {
        (NeedKind::Mail, format!("#{id} {subject}"), vec![reply.recommended(), ack, file])
    };
    let need = UserNeed { kind, reason, text, actions, since_ms: row.sent_ms, ..nothing(id) };
    Ok(UserNeed {
        agent: address(cx, row.sender, &row.sender_sub)?,
        project: book::project_of(cx.db, row.sender)?,
        ..need
    })
}

/// What the user sent with a deadline, and who has let it pass.
fn missed_by_others(cx: &mut Cx<'_>) -> Result<Vec<(Message, UserNeed)>, DbError> {
    let mut out = Vec::new();
    for message in ops::sent(cx.db, USER, MAX)? {
        let Some(deadline) = message.deadline_ms else { continue };
        if !(cx.now.0 - MISSED_MS..=cx.now.0).contains(&deadline) {
            continue;
        }
        for one in mailbox::deliveries(cx.db, message.id)? {
            if one.acked_ms.is_some() || one.replaced_by.is_some() {
                continue;
            }
            let agent = address(cx, one.agent, &one.sub)?;
            let subject = words::subject(&message.subject);
            let need = UserNeed {
                id: format!("deadline:{}:{agent}", message.id),
                kind: NeedKind::Deadline,
                since_ms: deadline,
                reason: format!("did not acknowledge #{} in time: {subject}", message.id),
                text: ops::body(cx.db, message.id, 0, MAX_CHARS)?,
                project: book::project_of(cx.db, one.agent)?,
                agent,
                ..nothing(message.id)
            };
            out.push((message.clone(), need));
        }
    }
    Ok(out)
}

fn nothing(id: i64) -> UserNeed {
    UserNeed::new(format!("mail:{id}"), NeedKind::Mail)
}
