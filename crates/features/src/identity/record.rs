//! What an event leaves behind: turns and sessions that ended, shell calls, and the session's identity file.

use serde_json::json;
use substrate_core::text::cut;
use substrate_core::verdict::Permission;
use substrate_core::{
    Activity, Actor, Cx, DbError, Detail, Effect, Event, EventKind, FeatureError, Outcome, SafeId,
    StartSource, Timestamp, ToolCall, ToolClass, Who, Wish,
};

use super::ops::{self, IdentityFile};
use super::shells::{self, MAX_COMMAND};
use super::{actors, processes};

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(session) = &event.session else { return Ok(()) };
    match event.kind {
        EventKind::Stop => stopped(cx, event, session, outcome)?,
        EventKind::SessionStart if !is_compaction(event) && !is_shared(cx) => {
            // No turn has begun yet.
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

/// A Stop ends the turn unless it is blocked or waits. A turn that is held goes on.
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

/// The client waits for a person. Usually a Stop came before; if not, this is how we learn that the turn is over.
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

/// A turn ended without a Stop: a person interrupted it or refused a request. The agent can be woken now.
fn turn_ended(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<(), DbError> {
    let Some(Who { agent, has_stopped: false, .. }) = cx.who else { return Ok(()) };
    if matches!(event.activity(), Some(Activity::Idle { .. })) {
        ops::set_stopped(cx.db, session, cx.now)?;
        shells::end_calls(cx.db, session, event.actor.key(), cx.now)?;
        cx.wake(agent);
    }
    Ok(())
}

/// Whether an activity file is the first to report the end of a turn.
pub(super) fn is_news(cx: &mut Cx<'_>, event: &Event) -> Result<bool, FeatureError> {
    let is_idle = matches!(event.activity(), Some(Activity::Idle { .. }));
    Ok(is_idle && cx.who.as_ref().is_some_and(|who| !who.has_stopped))
}

fn is_shared(cx: &Cx<'_>) -> bool {
    cx.who.as_ref().is_some_and(|who| who.is_shared)
}

/// One of several clients is gone. The session moves to one that still runs.
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

/// Notes the shell calls of subagents, those of the main thread that may run our commands, and calls of our own tools,
/// to find out later who runs a command.
fn shell_call(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    outcome: &Outcome,
) -> Result<(), DbError> {
    let Some((call, command)) = noted(event) else { return Ok(()) };
    let actor = event.actor.key();
    // A client whose calls have no ids runs one call at a time.
    let use_id = call.use_id.as_deref().unwrap_or(actor);
    match &event.detail {
        Detail::ToolBefore { .. } => {
            if matches!(outcome.verdict.permission, Some(Permission::Deny { .. })) {
                return Ok(());
            }
            let new = shells::NewShellCall {
                use_id,
                actor,
                mark: &mark(command),
                is_background: call.in_background || shells::is_background(command),
            };
            shells::begin_call(cx.db, session, &new, cx.now)
        }
        // The client moves slow commands into the background.
        Detail::ToolAfter { .. } => {
            shells::end_call(cx.db, session, use_id, call.in_background, cx.now)
        }
        _ => shells::end_call(cx.db, session, use_id, false, cx.now),
    }
}

fn mark(command: &str) -> String {
    if command.is_empty() { String::new() } else { shells::mark(cut(command, MAX_COMMAND)) }
}

fn noted(event: &Event) -> Option<(&ToolCall, &str)> {
    let call = event.tool()?;
    let command = match call.class {
        ToolClass::Shell => call.command.as_deref()?,
        // No command line fits an empty mark: its id alone tells who calls.
        ToolClass::Other if shells::mentions_us(&call.name) && call.use_id.is_some() => {
            return (!event.actor.is_compaction_fork()).then_some((call, ""));
        }
        _ => return None,
    };
    let is_noted = match &event.actor {
        Actor::Subagent { kind, .. } => !kind.is_empty(),
        Actor::Main { .. } => shells::mentions_us(command),
    };
    is_noted.then_some((call, command))
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !matches!(event.kind, EventKind::SessionStart | EventKind::PreCompact) {
        return Ok(Vec::new());
    }
    let Some(who) = cx.who.clone().filter(|who| who.sub.is_empty()) else { return Ok(Vec::new()) };
    let Some(session) = &who.session else { return Ok(Vec::new()) };
    if event.kind == EventKind::PreCompact {
        keep_file(cx, session)?;
        return Ok(Vec::new());
    }
    let export =
        |name: &str, value: &str| Wish::Export { name: name.to_owned(), value: value.to_owned() };
    let own = event.dialect.session_variable.map(|name| export(name, session.as_str()));
    Ok(own.into_iter().chain([export("AGENT_ID", &who.name)]).collect())
}

/// Writes the session's identity file, with which a hook can name itself when the database can't be asked.
pub(super) fn keep_file(cx: &mut Cx<'_>, session: &SafeId) -> Result<(), DbError> {
    if let Some(kept) = ops::kept(cx.db, session)? {
        let effect = effect(&kept, cx.now);
        cx.effects.push(effect);
    }
    Ok(())
}

/// Writes the identity files of all sessions of an agent.
pub(super) fn keep_files(cx: &mut Cx<'_>, agent: i64) -> Result<(), DbError> {
    for kept in ops::kept_of_agent(cx.db, agent)? {
        let effect = effect(&kept, cx.now);
        cx.effects.push(effect);
    }
    Ok(())
}

/// Forgets a session and its file.
pub(super) fn forget_session(cx: &mut Cx<'_>, session: &str) -> Result<(), DbError> {
    ops::forget(cx.db, session)?;
    cx.effects.push(Effect::Forget { path: file_path(session) });
    Ok(())
}

/// The path below the state home. Session ids are safe file names.
pub(super) fn file_path(session: &str) -> String {
    format!("identities/by-session/{session}.json")
}

fn effect(kept: &IdentityFile, now: Timestamp) -> Effect {
    let json = json!({
        "session_id": kept.session,
        "agent": kept.name,
        "agent_id": kept.agent,
        "project": kept.project,
        "client": kept.client,
        "created_at": rfc3339(kept.started),
        "updated_at": rfc3339(now),
    });
    Effect::Keep { path: file_path(&kept.session), text: format!("{json:#}\n") }
}

/// A time in UTC.
fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |time| time.to_string())
}

const DAY_MS: i64 = 86_400_000;

/// How long a silent session is kept.
const KEPT_MS: i64 = 30 * DAY_MS;

/// Rows removed per round.
const STEP: i64 = 200;

/// Forgets sessions that won't come back. Agents are durable and stay. `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let step = usize::try_from(STEP).unwrap_or(usize::MAX);
    let mut n_forgotten = 0;
    for (session, process) in ops::silent_since(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)? {
        // It has been silent for long, but it may still be running.
        if !cx.world.is_waiting(&session, true)
            && !process.is_there(cx.world)
            && processes::living(cx.db, cx.world, &session, None)?.is_none()
        {
            forget_session(cx, &session)?;
            n_forgotten += 1;
        }
    }
    let is_more = shells::CALLS.tick(cx, DAY_MS)?;
    processes::forget(cx, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(n_forgotten == step || is_more)
}
