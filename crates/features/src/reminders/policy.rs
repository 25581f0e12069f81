//! Which agent is reminded of what, and when it counts as told.

use substrate_core::wish::{Block, Cause, Insists, Receipt};
use substrate_core::{
    Actor, Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Outcome, Part, SafeId,
    Settings, Wish,
};

use super::source::{Addressee, Reminder, is_exempt};
use super::{NAME, ops};
use crate::journal;

/// How long a told reminder is remembered.
const KEPT_MS: i64 = 30 * 86_400_000;

/// An actor that may be reminded now.
#[derive(Clone, Copy, Debug)]
struct Stopping<'a> {
    /// The subagent's type; `None` is the main thread.
    kind: Option<&'a str>,
    /// It was already held in this turn.
    again: bool,
    /// The session in which told reminders are remembered. The main thread's turns need no memory, because the client says
    /// which stop is the first.
    memory: Option<&'a SafeId>,
}

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let Some(stopping) = stopping(event, settings) else { return Vec::new() };
    let dirs = dirs(event);
    let needs = |reminder: &Reminder| reminder.needs(&dirs, stopping.kind);
    next(stopping.kind.is_none(), stopping.again, &[]).iter().flat_map(needs).collect()
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let Some(stopping) = stopping(event, cx.settings) else { return Ok(Vec::new()) };
    // A turn without tools left nothing to look back on. Answering a question is not a piece of work.
    if !has_worked(cx, event)? {
        return Ok(Vec::new());
    }
    let Some(wish) = due(cx, event, stopping)? else { return Ok(Vec::new()) };
    // With a receipt, a reminder that can't be remembered is not told. Otherwise it would come again and again.
    let receipt = stopping.memory.map(|_| Wish::Receipt);
    Ok([Some(wish), receipt].into_iter().flatten().collect())
}

fn has_worked(cx: &mut Cx<'_>, event: &Event) -> Result<bool, DbError> {
    let Some(session) = &event.session else { return Ok(false) };
    journal::face::has_used_tools(cx.db, session.as_str(), event.actor.key())
}

/// Notes the reminders in the answer as told.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    for part in outcome.told(NAME) {
        if let Some(reminder) = Reminder::named(&part.what)
            && let Some(session) = stopping(event, cx.settings).and_then(|stopping| stopping.memory)
        {
            ops::tell(cx.db, session, event.actor.key(), reminder, outcome.request, cx.now)?;
        }
    }
    Ok(())
}

/// A reminder that never reached the client is told again.
pub(super) fn printed(cx: &mut Cx<'_>, receipt: Receipt) -> Result<(), FeatureError> {
    if !receipt.reached {
        ops::take_back(cx.db, receipt.request)?;
    }
    Ok(())
}

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    ops::TOLD.tick(cx, KEPT_MS)
}

/// The reminders that may come now; the first one with words does. A subagent that was told the second is done. One that
/// was held for any reason is past the first.
pub(super) fn next(is_main: bool, again: bool, told: &[Reminder]) -> &'static [Reminder] {
    const BOTH: &[Reminder] = &[Reminder::Validate, Reminder::Reflexion];
    match (is_main, again) {
        (true, false) if !told.contains(&Reminder::Reflect) => &[Reminder::Reflect],
        (true, _) => &[],
        (false, _) if told.contains(&Reminder::Reflexion) => &[],
        (false, false) if !told.contains(&Reminder::Validate) => BOTH,
        (false, _) => &[Reminder::Reflexion],
    }
}

/// The actor that wants to stop, if it is reminded at all.
fn stopping<'a>(event: &'a Event, settings: &Settings) -> Option<Stopping<'a>> {
    let Detail::Stop { again, n_background_tasks, .. } = event.detail else { return None };
    if !settings.on("reminders.on") {
        return None;
    }
    match (event.kind, &event.actor) {
        // A session with background tasks only waits for them; another Stop comes when they are done.
        (EventKind::Stop, Actor::Main { .. }) if !again && n_background_tasks == 0 => {
            let memory = match settings.word("reminders.stop") {
                "turn" => None,
                "session" => Some(event.session.as_ref()?),
                _ => return None,
            };
            Some(Stopping { kind: None, again, memory })
        }
        (EventKind::SubagentStop, Actor::Subagent { kind, .. })
            if !event.actor.is_compaction_fork()
                && settings.on("reminders.subagents")
                && !is_exempt(kind, settings) =>
        {
            Some(Stopping { kind: Some(kind), again, memory: Some(event.session.as_ref()?) })
        }
        _ => None,
    }
}

/// The next reminder, if one is left. Changes nothing.
fn due(cx: &mut Cx<'_>, event: &Event, stopping: Stopping<'_>) -> Result<Option<Wish>, DbError> {
    let told = match stopping.memory {
        Some(session) => ops::told(cx.db, session, event.actor.key())?,
        None => Vec::new(),
    };
    let dirs = dirs(event);
    let to = Addressee { kind: stopping.kind, last_counts: event.attended == Some(false) };
    let words = |reminder: &Reminder| {
        let reason = reminder.find(&dirs, to, cx.facts, cx.settings).text?;
        // Our own memory, or the client's word that this is the first stop, decides. The words don't matter.
        let insists = if stopping.kind.is_none() { Insists::Once } else { Insists::WhenNew };
        let parts = vec![Part { what: reminder.name().into(), id: 0, end: reason.len() }];
        Some(Wish::Block(Block { cause: Cause::Reminders, reason, insists, parts }))
    };
    Ok(next(stopping.kind.is_none(), stopping.again, &told).iter().find_map(words))
}

/// The folders that may hold a team's files, nearest first. A client that names no project is inside it.
fn dirs(event: &Event) -> Vec<String> {
    let near = event.project_dir.as_deref().unwrap_or(&event.cwd);
    let mut out: Vec<String> = Vec::new();
    for dir in [near, &event.project] {
        if !dir.is_empty() && !out.iter().any(|known| known == dir) {
            out.push(dir.to_owned());
        }
    }
    out
}
