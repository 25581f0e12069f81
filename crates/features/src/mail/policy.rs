//! When mail is told, and how it is known that it arrived.

use substrate_core::wish::{Block, Cause, Insists};
use substrate_core::{
    Cx, DbError, Detail, Event, EventKind, FeatureError, Outcome, Part, RequestId, StartSource,
    Who, Wish,
};

use super::message::{Line, Priority};
use super::ops::Mailbox;
use super::ops_box::{self, Open};
use super::ops_ledger::{self, Claim};
use super::settle::{Settled, settled};
use super::words::{self, Count, Introduction, MAX_LINES};
use super::{NAME, ops_topics};
use crate::identity::book;

/// Rows that an introduction can show.
const N_SHOWN: i64 = MAX_LINES as i64;

/// What is told at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// The whole open mailbox, to a conversation that knows nothing of it.
    Open,
    /// The same words, but only what nobody was told.
    OpenNew,
    /// What has come since, at least so important.
    New(Priority),
    /// It may not stop before it knows.
    Hold,
    /// The same for a subagent, which also learns of its agent's mail.
    HoldSub,
}

/// The parts of an introduction: messages to the actor itself,
const OWN: &str = "message";
/// and messages to a subagent's agent, which still gets them itself.
const OF_PARENT: &str = "message of the parent";

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    settle(cx, event)?;
    let Some((who, occasion)) = occasion(cx, event) else { return Ok(Vec::new()) };
    if !matches!(occasion, Occasion::New(Priority::Urgent)) {
        ops_ledger::end_snoozes(cx.db, who.agent, cx.now)?;
    }
    let wish = introduction(cx, &who, occasion)?;
    Ok(wish.map_or_else(Vec::new, |wish| vec![wish, Wish::Receipt]))
}

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    claim(cx, event, outcome)?;
    if event.kind == EventKind::SubagentStop
        && outcome.verdict.block.is_none()
        && outcome.verdict.wait.is_none()
    {
        sub_ended(cx, event)?;
    }
    Ok(())
}

/// Claims the messages that are in the answer for it.
fn claim(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    let mut told = outcome.told(NAME).peekable();
    let (Some(_), Some(who)) = (told.peek(), &cx.who) else { return Ok(()) };
    let claim = Claim {
        request: outcome.request,
        channel: event.kind.name(),
        session: event.session.as_ref().map(substrate_core::SafeId::as_str),
        actor: event.actor.key(),
        at: cx.now,
    };
    for part in told {
        if part.what == OF_PARENT {
            ops_ledger::shown_to_sub(cx.db, who.agent, part.id, cx.now)?;
        } else {
            let mailbox = Mailbox { agent: who.agent, sub: &who.sub };
            ops_ledger::claim(cx.db, mailbox, part.id, &claim)?;
        }
    }
    Ok(())
}

/// Whether an answer reached the client's pipe.
pub(super) fn printed(
    cx: &mut Cx<'_>,
    request: RequestId,
    reached: bool,
) -> Result<(), FeatureError> {
    if reached {
        ops_ledger::injected(cx.db, request, cx.now)?;
        return Ok(());
    }
    for agent in ops_ledger::release(cx.db, request)? {
        cx.wake(agent);
    }
    Ok(())
}

/// What this event proves about introductions that are in flight.
fn settle(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    // An event that is looked at again, because it waits, proves nothing that it did not prove at first.
    let (Some(session), None) = (&event.session, event.waiting_since) else { return Ok(()) };
    for row in ops_ledger::flying(cx.db, session.as_str(), event.actor.key())? {
        match settled(&row.channel, event) {
            Settled::Seen => ops_ledger::seen(cx.db, &row, cx.now)?,
            Settled::Lost => ops_ledger::lost(cx.db, &row)?,
            Settled::InFlight => {}
        }
    }
    let begins = event.kind == EventKind::SessionStart && !is_compact(event);
    if !begins && event.kind != EventKind::SessionEnd {
        return Ok(());
    }
    let Some(agent) = cx.who.as_ref().map(|who| who.agent) else { return Ok(()) };
    if begins {
        ops_ledger::lost_elsewhere(cx.db, agent)?;
    }
    // No subagent outlives its session, and not every one says goodbye.
    for sub in ops_ledger::waiting_subs(cx.db, agent)? {
        ops_ledger::forward(cx.db, agent, &sub)?;
    }
    Ok(())
}

fn occasion(cx: &Cx<'_>, event: &Event) -> Option<(Who, Occasion)> {
    let who = cx.who.as_ref()?;
    let is_main = who.sub.is_empty();
    let occasion = match (event.kind, &event.detail) {
        (EventKind::SessionStart, Detail::SessionStart { source: StartSource::Resume, .. }) => {
            Occasion::OpenNew
        }
        (EventKind::SessionStart, _) => Occasion::Open,
        (EventKind::UserPromptSubmit, _) => Occasion::New(Priority::Low),
        (EventKind::PostToolUse | EventKind::PostToolUseFailure, _) => {
            Occasion::New(Priority::Urgent)
        }
        (EventKind::Stop, _) if is_main => Occasion::Hold,
        (EventKind::Waiter, _) if is_main && who.has_stopped => Occasion::Hold,
        (EventKind::SubagentStop, Detail::Stop { again: false, .. })
            if !is_main && !event.actor.is_compaction_fork() =>
        {
            Occasion::HoldSub
        }
        _ => return None,
    };
    Some((who.clone(), occasion))
}

/// What shall be told now, if anything. Changes nothing.
fn introduction(
    cx: &mut Cx<'_>,
    who: &Who,
    occasion: Occasion,
) -> Result<Option<Wish>, FeatureError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let least = if let Occasion::New(least) = occasion { least } else { Priority::Low };
    let open = match occasion {
        Occasion::Open => ops_box::unread(cx.db, of, cx.now, N_SHOWN)?,
        _ => ops_box::pending(cx.db, of, least, cx.now, N_SHOWN)?,
    };
    let mut n_rows = Count(i64::try_from(open.len()).unwrap_or(N_SHOWN));
    if n_rows.0 >= N_SHOWN {
        n_rows = match occasion {
            Occasion::Open => ops_box::n_unread(cx.db, of, cx.now)?,
            _ => ops_box::n_pending(cx.db, of, least, cx.now)?,
        };
    }
    let mut all = lines(cx, &open)?;
    if occasion == Occasion::HoldSub {
        let room = N_SHOWN - i64::try_from(open.len()).unwrap_or(N_SHOWN);
        let parent = Mailbox { agent: who.agent, sub: "" };
        let theirs = ops_box::pending_for_subs(cx.db, parent, cx.now, room)?;
        for line in lines(cx, &theirs)? {
            all.push(Line { for_parent: Some(who.name.clone()), ..line });
        }
        n_rows.0 += i64::try_from(theirs.len()).unwrap_or(0);
    }
    if all.is_empty() {
        return Ok(None);
    }
    let Introduction { text, ends } = match occasion {
        Occasion::Open | Occasion::OpenNew => words::open_mail(n_rows, &all),
        Occasion::New(_) => words::new_mail(n_rows, &all),
        Occasion::Hold | Occasion::HoldSub => words::reason(n_rows, &all),
    };
    let part = |(line, end): (&Line, usize)| {
        let what = if line.for_parent.is_some() { OF_PARENT } else { OWN };
        Part { what: what.into(), id: line.id, end }
    };
    let parts = all.iter().zip(ends).map(part).collect();
    Ok(Some(match occasion {
        Occasion::Hold | Occasion::HoldSub => Wish::Block(Block {
            cause: Cause::Mail,
            reason: text,
            insists: Insists::WhileItLasts,
            parts,
        }),
        Occasion::Open | Occasion::OpenNew | Occasion::New(_) => {
            Wish::Context { text, more: Some("substrate inbox".to_owned()), parts }
        }
    }))
}

/// The rows as they are told, with their senders' names.
pub(super) fn lines(cx: &mut Cx<'_>, rows: &[Open]) -> Result<Vec<Line>, DbError> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        out.push(Line {
            id: row.id,
            from: address(cx, row.sender, &row.sender_sub)?,
            subject: row.subject.clone(),
            priority: row.priority,
            was_for: row.was_for.clone(),
            for_parent: None,
        });
    }
    Ok(out)
}

/// A name as mail is sent to it.
pub(super) fn address(cx: &mut Cx<'_>, agent: i64, sub: &str) -> Result<String, DbError> {
    let name = book::name_of(cx.db, agent)?;
    Ok(if sub.is_empty() { name } else { format!("{name}/{sub}") })
}

/// A subagent ends. What it never saw is its agent's.
fn sub_ended(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    let Some(who) = cx.who.clone() else { return Ok(()) };
    if who.sub.is_empty() || event.actor.is_compaction_fork() {
        return Ok(());
    }
    ops_topics::forget_sub(cx.db, who.agent, &who.sub)?;
    if ops_ledger::forward(cx.db, who.agent, &who.sub)? > 0 {
        cx.wake(who.agent);
    }
    Ok(())
}

fn is_compact(event: &Event) -> bool {
    matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. })
}
