//! When mail is shown, and how we know that it arrived.

use substrate_core::wish::{Block, Cause, Insists, Receipt};
use substrate_core::{
    Cx, DbError, Detail, Event, EventKind, FeatureError, Outcome, Part, StartSource, Who, Wish,
};

use super::NAME;
use super::introduce::{Bodies, Introduced, lines};
use super::message::Priority;
use super::ops::Mailbox;
use super::ops::ledger::{self, MailClaim};
use super::ops::mailbox;
use super::ops::topics;
use super::settle::{Settled, settled};
use super::words::{self, Introduction, MAX_LINES};
use crate::identity::book;

/// Rows that an introduction can show.
const N_SHOWN: i64 = MAX_LINES as i64;

/// What is shown at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// The whole open mailbox, for a conversation that knows nothing of it.
    Open,
    /// The same words, but only for mail that was never shown.
    OpenNew,
    /// What has come since, and what was only announced before.
    Prompt,
    /// Urgent mail, between two tool calls.
    Tool,
    /// It may not stop before it has seen it.
    Hold,
    /// The same for a subagent, which also learns of its agent's mail.
    HoldSub,
}

/// How often a message may block a stop in vain. Then it waits for the next prompt.
const MAX_HELD: i64 = 2;

/// The parts of an introduction: the line of a message to the actor itself,
const OWN: &str = "message";
/// its whole body,
const BODY: &str = "body";
/// the line of a message that was announced before,
const AGAIN: &str = "message again";
/// and that of one to a subagent's agent, which still gets it itself.
const OF_PARENT: &str = "message of the parent";

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    settle(cx, event)?;
    let Some((who, occasion)) = occasion(cx, event) else { return Ok(Vec::new()) };
    if occasion != Occasion::Tool {
        ledger::end_snoozes(cx.db, who.agent, cx.now)?;
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
    let told: Vec<&Part> = outcome.told(NAME).collect();
    let (false, Some(who)) = (told.is_empty(), &cx.who) else { return Ok(()) };
    let claim = MailClaim {
        request: outcome.request,
        channel: event.kind.name(),
        session: event.session.as_ref().map(substrate_core::SafeId::as_str),
        actor: event.actor.key(),
        at: cx.now,
    };
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    for part in &told {
        match &*part.what {
            OF_PARENT => ledger::shown_to_sub(cx.db, who.agent, part.id, cx.now)?,
            AGAIN => ledger::announced_again(cx.db, of, part.id, cx.now)?,
            OWN => {
                let whole = told.iter().any(|body| body.what == BODY && body.id == part.id);
                ledger::claim(cx.db, of, part.id, &claim, whole)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether an answer reached the client's pipe.
pub(super) fn printed(cx: &mut Cx<'_>, receipt: Receipt) -> Result<(), FeatureError> {
    if receipt.reached {
        ledger::injected(cx.db, receipt.request, cx.now)?;
        return Ok(());
    }
    for agent in ledger::release(cx.db, receipt.request)? {
        cx.wake(agent);
    }
    Ok(())
}

/// What this event proves about introductions that are in flight.
fn settle(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    // A parked event that is considered again proves nothing new.
    let (Some(session), None) = (&event.session, event.waiting_since) else { return Ok(()) };
    for row in ledger::flying(cx.db, session.as_str(), event.actor.key())?.iter() {
        match settled(&row.channel, event) {
            Settled::Seen => ledger::seen(cx.db, row, cx.now)?,
            Settled::Lost => ledger::lost(cx.db, row)?,
            Settled::InFlight => {}
        }
    }
    let begins = event.kind == EventKind::SessionStart && !is_compact(event);
    if !begins && event.kind != EventKind::SessionEnd {
        return Ok(());
    }
    let Some(agent) = cx.who.as_ref().map(|who| who.agent) else { return Ok(()) };
    if begins {
        ledger::lost_elsewhere(cx.db, agent)?;
    }
    // No subagent outlives its session, and not every one reports its end.
    for sub in ledger::waiting_subs(cx.db, agent)? {
        ledger::forward(cx.db, agent, &sub)?;
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
        (EventKind::UserPromptSubmit, _) => Occasion::Prompt,
        (EventKind::PostToolUse | EventKind::PostToolUseFailure, _) => Occasion::Tool,
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

/// What to show now, if anything. Changes nothing.
fn introduction(
    cx: &mut Cx<'_>,
    who: &Who,
    occasion: Occasion,
) -> Result<Option<Wish>, FeatureError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let least = if occasion == Occasion::Tool { Priority::Urgent } else { Priority::Low };
    let mut rows = match occasion {
        Occasion::Open => mailbox::unread(cx.db, of, cx.now, N_SHOWN)?,
        _ => mailbox::pending(cx.db, of, least, cx.now, N_SHOWN)?,
    };
    if matches!(occasion, Occasion::Hold | Occasion::HoldSub) {
        rows.retain(|row| row.n_held < MAX_HELD);
    }
    let room = |n_taken: usize| N_SHOWN - i64::try_from(n_taken).unwrap_or(N_SHOWN);
    if occasion == Occasion::Prompt {
        rows.extend(mailbox::announced(cx.db, of, cx.now, room(rows.len()))?);
    }
    let mut all = lines(cx, &rows, Bodies::OfNew)?;
    let mut n_of_parent = 0;
    if occasion == Occasion::HoldSub {
        let parent = Mailbox { agent: who.agent, sub: "" };
        let theirs = mailbox::pending_for_subs(cx.db, parent, cx.now, room(rows.len()))?;
        n_of_parent = i64::try_from(theirs.len()).unwrap_or(0);
        for line in lines(cx, &theirs, Bodies::None)? {
            all.push(Introduced { for_parent: Some(who.name.clone()), ..line });
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let mut count = mailbox::n_unread(cx.db, of, cx.now)?;
    count.0 += n_of_parent;
    let Introduction { text, ends } = match occasion {
        Occasion::Open | Occasion::OpenNew => words::open_mail(count, &all),
        Occasion::Prompt | Occasion::Tool => words::new_mail(count, &all),
        Occasion::Hold | Occasion::HoldSub => words::reason(count, &all),
    };
    let mut parts = Vec::with_capacity(2 * all.len());
    for (line, ends) in all.iter().zip(ends) {
        let what = match line {
            Introduced { for_parent: Some(_), .. } => OF_PARENT,
            Introduced { is_again: true, .. } => AGAIN,
            _ => OWN,
        };
        parts.push(Part { what: what.into(), id: line.id, end: ends.line });
        parts.extend(ends.body.map(|end| Part { what: BODY.into(), id: line.id, end }));
    }
    Ok(Some(match occasion {
        Occasion::Hold | Occasion::HoldSub => Wish::Block(Block {
            cause: Cause::Mail,
            reason: text,
            insists: Insists::WhileItLasts,
            parts,
        }),
        Occasion::Open | Occasion::OpenNew | Occasion::Prompt | Occasion::Tool => {
            Wish::Context { text, more: Some("substrate inbox".to_owned()), parts }
        }
    }))
}

/// A name as mail is sent to it.
pub(super) fn address(cx: &mut Cx<'_>, agent: i64, sub: &str) -> Result<String, DbError> {
    let name = book::name_of(cx.db, agent)?;
    Ok(if sub.is_empty() { name } else { format!("{name}/{sub}") })
}

/// A subagent ends. What it never saw goes to its agent.
fn sub_ended(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    let Some(who) = cx.who.clone() else { return Ok(()) };
    if who.sub.is_empty() || event.actor.is_compaction_fork() {
        return Ok(());
    }
    topics::forget_sub(cx.db, who.agent, &who.sub)?;
    if ledger::forward(cx.db, who.agent, &who.sub)? > 0 {
        cx.wake(who.agent);
    }
    Ok(())
}

fn is_compact(event: &Event) -> bool {
    matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. })
}
