//! What comes from other machines: each message once, in the order of its sender.

use substrate_core::text::one_line;
use substrate_core::{Arrival, Cx, DbError, VerbError, arrival};

use super::ops::{self, FarRow, Side};
use super::{FarLetter, FarReceipt, out, receipts};
use crate::identity::book::{self, Address, Lookup};
use crate::mail::ops::{self as messages, Letter};
use crate::mail::post::{self, Recipient};
use crate::team::face;

/// A message whose earlier ones do not come is handed over after this long.
const HELD_MS: i64 = 5 * 60_000;

/// A message as the link hands it over. The hub proved which machine it is from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) uid: String,
    pub(crate) machine: String,
    pub(crate) n: i64,
    pub(crate) kind: String,
    /// The agent that sent it.
    pub(crate) agent: String,
    /// `None`: it was sealed for another key, or changed on the way.
    pub(crate) body: Option<String>,
}

/// Takes a message, in one transaction with everything that it changes.
pub(crate) fn arrived(cx: &mut Cx<'_>, one: &Incoming) -> Result<(), DbError> {
    match one.kind.as_str() {
        "mail" => mail(cx, one),
        "receipt" => receipt(cx, one),
        // A newer program may send more kinds. This one can do nothing about them.
        _ => Ok(()),
    }
}

fn mail(cx: &mut Cx<'_>, one: &Incoming) -> Result<(), DbError> {
    let is_known = ops::is_known(cx.db, &one.machine, &one.uid)?;
    let next = ops::next(cx.db, &one.machine)?;
    let row = FarRow {
        uid: one.uid.clone(),
        machine: one.machine.clone(),
        kind: one.kind.clone(),
        n: one.n,
        sender: one.agent.clone(),
        ..FarRow::default()
    };
    match arrival(next, one.n, is_known) {
        Arrival::Duplicate => Ok(()),
        Arrival::Hold => {
            let body = one.body.clone().unwrap_or_default();
            ops::insert(cx.db, &FarRow { body, ..row }, Side::Held, cx.now)
        }
        Arrival::Deliver => {
            let placed = hand_over(cx, &row, one.body.as_deref().unwrap_or_default())?;
            let (side, row) = match placed {
                Some((message, to)) => (
                    Side::Theirs,
                    FarRow { message: Some(message), agent: Some(to.agent), sub: to.sub, ..row },
                ),
                None => (Side::Done, row),
            };
            ops::insert(cx.db, &row, side, cx.now)?;
            if one.n > 0 {
                follow(cx, &one.machine, one.n + 1)?;
            }
            Ok(())
        }
    }
}

/// Hands over what was held for this number, and what follows it.
fn follow(cx: &mut Cx<'_>, machine: &str, mut next: i64) -> Result<(), DbError> {
    while let Some(row) = ops::held(cx.db, machine, next)? {
        let placed = hand_over(cx, &row, &row.body)?;
        let placed = placed.as_ref().map(|(message, to)| (*message, to.agent, to.sub.as_str()));
        ops::settle_held(cx.db, row.serial, placed)?;
        next += 1;
    }
    ops::expect(cx.db, machine, next)
}

/// Hands over what has been held for long. What is missing is lost: its sender was restored from a backup.
pub(crate) fn release_late(cx: &mut Cx<'_>) -> Result<(), DbError> {
    for row in ops::held_long(cx.db, cx.now.plus_ms(-HELD_MS))? {
        follow(cx, &row.machine, row.n)?;
    }
    Ok(())
}

/// Posts the message to its recipient here. `None` if that can't be: the sender gets to know why.
fn hand_over(cx: &mut Cx<'_>, row: &FarRow, body: &str) -> Result<Option<(i64, Address)>, DbError> {
    let why = match letter(cx, row, body) {
        Ok((letter, to)) => {
            let posted = post::post(cx, &letter, std::slice::from_ref(&to))?;
            return Ok(Some((posted.id, to.to)));
        }
        Err(VerbError::Db(error)) => return Err(error),
        Err(VerbError::User { message, .. } | VerbError::Unsure { message, .. }) => message,
    };
    receipts::refuse(cx, row, &why)?;
    Ok(None)
}

/// The message as `send` would make it. The same checks apply.
fn letter(cx: &mut Cx<'_>, row: &FarRow, body: &str) -> Result<(Letter, Recipient), VerbError> {
    let wrong = |what: &str| VerbError::user(what, "");
    let far: FarLetter = serde_json::from_str(body)
        .map_err(|_| wrong("the message could not be opened or read there"))?;
    let name = face::machine_name(cx.db, &row.machine)?;
    let sender = book::far_agent(cx.db, (&row.machine, &name), &row.sender, cx.now)?
        .ok_or_else(|| wrong("its sender has no valid name"))?;
    let whole = match far.to_sub.as_str() {
        "" => far.to.clone(),
        sub => format!("{}/{sub}", far.to),
    };
    let to = match book::find(cx.db, &whole)? {
        Lookup::Found(to) if to.machine.is_none() && to.agent != book::SUBSTRATE => {
            Recipient { to, was_for: None }
        }
        Lookup::Ended(gone) => {
            let was_for = Some(gone.sub.clone());
            Recipient { to: Address { sub: String::new(), ..gone }, was_for }
        }
        _ => {
            let name = one_line(&whole, 60).replace('`', "'");
            return Err(wrong(&format!("no agent there is called `{name}`")));
        }
    };
    let deadline_ms = far.deadline_in_ms.map(|span| cx.now.0.saturating_add(span));
    let answered = |cx: &mut Cx<'_>, uid: Option<&String>| match uid {
        Some(uid) => ops::message_of(cx.db, &row.machine, uid),
        None => Ok(None),
    };
    let reply_to = answered(cx, far.reply_to.as_ref())?;
    let first = answered(cx, far.thread.as_ref())?.or(reply_to);
    let thread = match first {
        Some(id) => messages::whole(cx.db, id)?.map(|(found, _)| found.thread),
        None => None,
    };
    let letter = Letter {
        sender: sender.agent,
        sender_sub: book::far_sub(&far.from_sub),
        subject: post::subject(&far.subject)?,
        body: post::body(&far.body)?,
        priority: far.priority,
        deadline_ms,
        thread,
        reply_to,
        replace_key: far.replace_key.filter(|key| !key.is_empty() && key.len() <= 200),
        idem_key: Some(format!("far {}", row.uid)),
        ..Letter::default()
    };
    Ok((letter, to))
}

/// How far one of our messages has come.
fn receipt(cx: &mut Cx<'_>, one: &Incoming) -> Result<(), DbError> {
    let Some(receipt) = one.body.as_deref().and_then(|text| serde_json::from_str(text).ok()) else {
        return Ok(());
    };
    let receipt: FarReceipt = receipt;
    // A machine may only tell about what was sent to it.
    let ours = ops::ours(cx.db, &receipt.of)?.filter(|row| row.machine == one.machine);
    let Some(row) = ours else { return Ok(()) };
    match &receipt.failed {
        Some(why) => {
            let why = one_line(why, 200);
            out::failed(cx, &row, &why)
        }
        None => ops::apply(cx.db, &row, &receipt),
    }
}
