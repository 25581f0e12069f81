//! What goes to other machines: queued with its message, read by the link, done when the far machine has it.

use substrate_core::text::one_line;
use substrate_core::{Cx, DbError, VerbError};

use super::ops::{self, FarRow, Side, Step};
use super::{FarLetter, uid};
use crate::identity::book::{self, Address};
use crate::mail::ops::{self as messages, Letter};
use crate::mail::post::{self, Recipient};
use crate::mail::words;

/// A message as the hub takes it has at most 2 MiB, sealed and in JSON.
const MAX_WIRE: usize = 1_900_000;

/// How many messages, and about how many bytes, the link reads at once.
const BATCH: i64 = 200;
const BATCH_BYTES: usize = 4 << 20;

/// A message for the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) serial: i64,
    pub(crate) uid: String,
    pub(crate) machine: String,
    pub(crate) n: i64,
    pub(crate) kind: String,
    /// The agent that sends it.
    pub(crate) agent: String,
    pub(crate) body: String,
}

/// Refuses what no hub would take: it would be sent again for ever.
pub(in crate::mail) fn check_size(letter: &Letter, to: &[Recipient]) -> Result<(), VerbError> {
    let is_far = to.iter().any(|one| one.to.machine.is_some());
    // Quotes, breaks and control characters grow in JSON.
    let n_bytes = || serde_json::to_string(&letter.body).map_or(usize::MAX, |text| text.len());
    if is_far && n_bytes() > MAX_WIRE {
        return Err(VerbError::user(
            "the text is too long for another machine",
            "send a shorter one, or the name of a branch that has it",
        ));
    }
    Ok(())
}

/// Puts a message into the outbox, in the transaction that writes it.
pub(in crate::mail) fn queue(
    cx: &mut Cx<'_>,
    message: i64,
    to: &Address,
    machine: &str,
    letter: &Letter,
) -> Result<(), DbError> {
    let n = ops::count_sent(cx.db, machine)?;
    let key = letter.idem_key.as_deref().unwrap_or_default();
    let seed = format!("{message} {} {} {n} {} {key}", to.agent, to.sub, cx.now.0);
    let one = FarRow {
        uid: uid(cx.now, &seed),
        machine: machine.to_owned(),
        kind: "mail".to_owned(),
        n,
        message: Some(message),
        agent: Some(to.agent),
        sub: to.sub.clone(),
        ..FarRow::default()
    };
    ops::insert(cx.db, &one, Side::Ours, cx.now)
}

/// What the link has not read yet, oldest first; or these again, which the hub forgot.
pub(crate) fn outgoing(
    cx: &mut Cx<'_>,
    after: i64,
    again: &[String],
) -> Result<Vec<Outgoing>, DbError> {
    let mut rows = Vec::new();
    for uid in again {
        rows.extend(ops::ours(cx.db, uid)?);
    }
    rows.extend(ops::out(cx.db, after, BATCH)?);
    let (mut out, mut n_bytes) = (Vec::new(), 0);
    for row in rows {
        let Some(one) = written(cx, row)? else { continue };
        n_bytes += one.body.len();
        out.push(one);
        if n_bytes > BATCH_BYTES {
            break;
        }
    }
    Ok(out)
}

/// A row as it travels. `None` if its message is gone.
fn written(cx: &mut Cx<'_>, row: FarRow) -> Result<Option<Outgoing>, DbError> {
    let FarRow { serial, uid, machine, kind, n, message, agent, sub, sender, body, .. } = row;
    let (Some(message), Some(agent)) = (message, agent) else {
        return Ok(Some(Outgoing { serial, uid, machine, n, kind, agent: sender, body }));
    };
    let Some((found, replace_key)) = messages::whole(cx.db, message)? else { return Ok(None) };
    let to = book::name_of(cx.db, agent)?;
    let to = to.split_once('@').map_or(to.as_str(), |(name, _)| name);
    let known = |cx: &mut Cx<'_>, id: i64| ops::uid_of(cx.db, &machine, id);
    let thread = if found.thread == message { None } else { known(cx, found.thread)? };
    let reply_to = match found.reply_to {
        Some(id) => known(cx, id)?,
        None => None,
    };
    let letter = FarLetter {
        to: to.to_owned(),
        to_sub: sub,
        from_sub: found.sender_sub,
        subject: found.subject,
        body: messages::body(cx.db, message, 0, i64::MAX)?,
        priority: found.priority,
        deadline_in_ms: found.deadline_ms.map(|at| at - cx.now.0),
        thread,
        reply_to,
        replace_key,
    };
    let body = serde_json::to_string(&letter)
        .map_err(|error| DbError::Other { detail: error.to_string() })?;
    let agent = book::name_of(cx.db, found.sender)?;
    Ok(Some(Outgoing { serial, uid, machine, n, kind, agent, body }))
}

/// What the hub says of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    AtHub,
    AtMachine,
    NoMachine,
}

pub(crate) fn fate(cx: &mut Cx<'_>, uid: &str, fate: Fate, at_ms: i64) -> Result<(), DbError> {
    let Some(row) = ops::ours(cx.db, uid)? else { return Ok(()) };
    match fate {
        Fate::AtHub => ops::step(cx.db, &row, Step::AtHub, at_ms).map(drop),
        Fate::AtMachine => {
            ops::close(cx.db, row.serial)?;
            ops::step(cx.db, &row, Step::AtMachine, at_ms).map(drop)
        }
        Fate::NoMachine => {
            ops::close(cx.db, row.serial)?;
            failed(cx, &row, "its machine has left the team")
        }
    }
}

/// Everything that the far machines do not have fails: this machine leaves its team.
pub(crate) fn give_up(cx: &mut Cx<'_>) -> Result<(), DbError> {
    let mut after = 0;
    loop {
        let rows = ops::out(cx.db, after, BATCH)?;
        let Some(last) = rows.last() else { break };
        after = last.serial;
        for row in rows {
            ops::close(cx.db, row.serial)?;
            failed(cx, &row, "this machine has left the team")?;
        }
    }
    ops::forget_counts(cx.db)
}

/// A message can't be delivered: its ledger says so, and its sender is told once.
pub(super) fn failed(cx: &mut Cx<'_>, row: &FarRow, why: &str) -> Result<(), DbError> {
    if !ops::step(cx.db, row, Step::Failed(why), cx.now.0)? {
        return Ok(());
    }
    let (Some(message), Some(agent)) = (row.message, row.agent) else { return Ok(()) };
    let Some((found, _)) = messages::whole(cx.db, message)? else { return Ok(()) };
    if found.sender == book::SUBSTRATE {
        return Ok(());
    }
    let Some(to) = post::resolve(cx, found.sender, &found.sender_sub)? else { return Ok(()) };
    let name =
        Address { sub: row.sub.clone(), ..Address::of_agent(agent, book::name_of(cx.db, agent)?) };
    let subject = words::subject(&found.subject);
    let letter = Letter {
        sender: book::SUBSTRATE,
        subject: one_line(&format!("Not delivered: \"{subject}\""), post::MAX_SUBJECT - 1),
        body: format!(
            "#{message} \"{subject}\" was not delivered to {}: {}.\n`substrate team members` shows who can be reached.",
            words::name(&name.text()),
            one_line(why, 200),
        ),
        thread: Some(found.thread),
        ..Letter::default()
    };
    post::post(cx, &letter, &[to])?;
    Ok(())
}
