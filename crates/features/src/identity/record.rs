//! What came of an event: turns that ended, sessions that ended, shell calls that began and ended.

use substrate_core::text::cut;
use substrate_core::verdict::Permission;
use substrate_core::{
    Activity, Actor, Cx, DbError, Detail, Event, EventKind, FeatureError, Outcome, SafeId,
    StartSource, ToolCall, ToolClass, Who,
};

use super::shells::{self, MAX_COMMAND};
use super::{actors, ops, processes};

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(session) = &event.session else { return Ok(()) };
    match event.kind {
        EventKind::Stop => stopped(cx, event, session, outcome)?,
        EventKind::SessionStart if !is_compaction(event) && !is_shared(cx) => {
            // Nobody has asked for anything yet.
            ops::set_stopped(cx.db, session, cx.now)?;
        }
        EventKind::SubagentStop if outcome.verdict.block.is_none() => {
            actors::end(cx.db, session, event.actor.key(), cx.now)?;
        }
        EventKind::Notification => idle(cx, event, session)?,
        EventKind::Activity => turn_ended(cx, event, session)?,
        EventKind::SessionEnd => ended(cx, event, session)?,
        EventKind::ClientLeft => client_left(cx, event, session)?,
        EventKind::PreToolUse | EventKind::PostToolUse | EventKind::PostToolUseFailure => {
            shell_call(cx, event, session, outcome)?;
        }
        _ => {}
    }
    Ok(())
}

/// A turn has ended when nothing holds it. One that is held goes on, however it began.
fn stopped(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    outcome: &Outcome,
) -> Result<(), DbError> {
    let Some(Who { has_stopped, .. }) = cx.who else { return Ok(()) };
    if !matches!(event.actor, Actor::Main { .. }) {
        return Ok(());
    }
    let is_held = outcome.verdict.block.is_some() || outcome.verdict.wait.is_some();
    match (is_held, has_stopped) {
        (false, _) => ops::set_stopped(cx.db, session, cx.now),
        (true, true) => ops::begin_turn(cx.db, session, cx.now),
        (true, false) => Ok(()),
    }
}

fn is_compaction(event: &Event) -> bool {
    matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. })
}

/// The client waits for a person. Usually a Stop came before; where none did, this is how we know that the turn is over.
fn idle(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<(), DbError> {
    let is_idle =
        matches!(&event.detail, Detail::Notification { kind, .. } if kind == "idle_prompt");
    let Some(Who { agent, has_stopped, .. }) = cx.who else { return Ok(()) };
    if is_idle {
        if !has_stopped {
            ops::set_stopped(cx.db, session, cx.now)?;
        }
        cx.wake(agent);
    }
    Ok(())
}

/// A turn that ended without a Stop: a person interrupted it, or refused what it asked for. It can be woken now.
fn turn_ended(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<(), DbError> {
    let Some(Who { agent, has_stopped: false, .. }) = cx.who else { return Ok(()) };
    if matches!(event.activity(), Some(Activity::Idle { .. })) {
        ops::set_stopped(cx.db, session, cx.now)?;
        actors::end_calls(cx.db, session, event.actor.key(), cx.now)?;
        cx.wake(agent);
    }
    Ok(())
}

/// Whether no event has said that the turn is over.
pub(super) fn is_news(cx: &mut Cx<'_>, event: &Event) -> Result<bool, FeatureError> {
    let is_idle = matches!(event.activity(), Some(Activity::Idle { .. }));
    Ok(is_idle && cx.who.as_ref().is_some_and(|who| !who.has_stopped))
}

fn is_shared(cx: &Cx<'_>) -> bool {
    cx.who.as_ref().is_some_and(|who| who.is_shared)
}

/// One of several clients is gone; the session is where the others are.
fn client_left(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<(), DbError> {
    let Some(pid) = event.client_pid else { return Ok(()) };
    processes::leave(cx.db, session, pid, cx.now)?;
    if let Some(process) = processes::living(cx.db, cx.world, session.as_str(), None)? {
        ops::moved_to(cx.db, session, process)?;
    }
    Ok(())
}

fn ended(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<(), DbError> {
    let why = match &event.detail {
        Detail::Because { word } => cut(word, 40),
        _ => "",
    };
    ops::set_ended(cx.db, session, Some((cx.now, why)))?;
    processes::leave_all(cx.db, session, cx.now)?;
    actors::end_all(cx.db, session, cx.now)
}

/// Notes the shell calls of subagents, and those of the main thread that may run one of our commands: so that a
/// command can be told whose it is.
fn shell_call(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    outcome: &Outcome,
) -> Result<(), DbError> {
    let Some((call, command)) = noted(event) else { return Ok(()) };
    let actor = event.actor.key();
    // A client that gives its calls no ids runs one call at a time.
    let use_id = call.use_id.as_deref().unwrap_or(actor);
    match &event.detail {
        Detail::ToolBefore { .. } => {
            if matches!(outcome.verdict.permission, Some(Permission::Deny { .. })) {
                return Ok(());
            }
            let new = actors::NewCall {
                use_id,
                actor,
                mark: &shells::mark(cut(command, MAX_COMMAND)),
                is_background: call.in_background || shells::is_background(command),
            };
            actors::begin_call(cx.db, session, &new, cx.now)
        }
        // The client moves a command that takes too long into the background.
        Detail::ToolAfter { .. } => {
            actors::end_call(cx.db, session, use_id, call.in_background, cx.now)
        }
        _ => actors::end_call(cx.db, session, use_id, false, cx.now),
    }
}

fn noted(event: &Event) -> Option<(&ToolCall, &str)> {
    let call = event.tool().filter(|call| call.class == ToolClass::Shell)?;
    let command = call.command.as_deref()?;
    let is_noted = match &event.actor {
        Actor::Subagent { kind, .. } => !kind.is_empty(),
        Actor::Main { .. } => shells::mentions_us(command),
    };
    is_noted.then_some((call, command))
}
