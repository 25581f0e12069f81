//! Whose event it is. A session that was never heard of gets an agent; a subagent gets a name.
//!
//! This runs at every event of every agent: one point select (two for a subagent), and no write unless something
//! changed or a quarter of a minute has passed.

use substrate_core::{
    Activity, Actor, Asking, Cx, DbError, Detail, Event, EventKind, FeatureError, SafeId,
    StartSource, Timestamp, Who,
};

use super::ops::{self, Known, NewSession};
use super::presence::Process;
use super::{actors, caller, choose, names, processes};

/// How fresh the time of the last event is kept.
const FRESH_MS: i64 = 15_000;

pub(super) fn identify(cx: &mut Cx<'_>, asking: Asking<'_>) -> Result<Option<Who>, FeatureError> {
    match asking {
        Asking::Event(event) => Ok(of_event(cx, event)?),
        Asking::Caller(caller) => caller::of_caller(cx, caller),
    }
}

fn of_event(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Who>, DbError> {
    let Some(session) = &event.session else { return Ok(None) };
    if event.actor.is_compaction_fork() {
        return Ok(None);
    }
    if let Detail::Activity { now, since } = event.detail {
        return shown(cx, session, event.client_pid, now, since);
    }
    // Our own waiter may come before the event that makes its session known, and outlive the session: it is nobody then.
    let is_waiter = event.kind == EventKind::Waiter;
    let is_shared = is_shared(cx, event, session)?;
    if let (EventKind::SessionStart, Some(pid)) = (event.kind, event.client_pid) {
        processes::leave_others(cx.db, session, pid, cx.now)?;
    }
    let (agent, name, has_stopped) = match ops::session(cx.db, session)? {
        Some(known) if is_waiter && known.has_ended => return Ok(None),
        None if is_waiter => return Ok(None),
        Some(known) => {
            let has_stopped = heard_again(cx, event, session, &known, is_shared)?;
            let (agent, name) = match event.detail {
                Detail::SessionStart { source: StartSource::Resume, .. } => {
                    let new = new_session(cx, event, session);
                    choose::of_resumed(cx, &new, (known.agent, known.name))?
                }
                _ => (known.agent, known.name),
            };
            (agent, name, has_stopped)
        }
        None => {
            let (agent, name) = choose::of_event(cx, event, &new_session(cx, event, session))?;
            (agent, name, false)
        }
    };
    let sub = match &event.actor {
        Actor::Main { .. } => String::new(),
        Actor::Subagent { id, kind } => subagent(cx, session, agent, id.as_str(), kind)?,
    };
    Ok(Some(Who { agent, name, sub, session: Some(session.clone()), has_stopped, is_shared }))
}

/// Whose file it is. Nobody's where it says less than the events have said since, or is of a process whose hooks never spoke
/// of the session.
fn shown(
    cx: &mut Cx<'_>,
    session: &SafeId,
    pid: Option<u32>,
    now: Activity,
    since: Timestamp,
) -> Result<Option<Who>, DbError> {
    let Some(known) = ops::session(cx.db, session)?.filter(|known| !known.has_ended) else {
        return Ok(None);
    };
    if pid.is_some() && !processes::has_open(cx.db, session, Process::now(cx.world, pid))? {
        return Ok(None);
    }
    let is_idle = matches!(now, Activity::Idle { .. });
    if is_idle && known.turn.is_some_and(|turn| turn > since) {
        return Ok(None);
    }
    let Known { agent, name, has_stopped, .. } = known;
    let (sub, session) = (String::new(), Some(session.clone()));
    Ok(Some(Who { agent, name, sub, session, has_stopped, is_shared: false }))
}

/// Whether another client that lives has the session open, where one begins or ends.
fn is_shared(cx: &mut Cx<'_>, event: &Event, session: &SafeId) -> Result<bool, DbError> {
    if !matches!(event.kind, EventKind::SessionStart | EventKind::SessionEnd) {
        return Ok(false);
    }
    let Some(pid) = event.client_pid else { return Ok(false) };
    let other = processes::living(cx.db, cx.world, session.as_str(), Some(i64::from(pid)))?;
    Ok(other.is_some())
}

fn new_session<'a>(cx: &Cx<'_>, event: &'a Event, session: &'a SafeId) -> NewSession<'a> {
    NewSession {
        session,
        client: event.client,
        project: &event.project,
        cwd: &event.cwd,
        process: Process::now(cx.world, event.client_pid),
        attended: event.attended,
    }
}

/// Notes what an event of a known session changes. Whether its main thread still has stopped.
fn heard_again(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    known: &Known,
    is_shared: bool,
) -> Result<bool, DbError> {
    let is_start = event.kind == EventKind::SessionStart;
    let pid = event.client_pid.map(i64::from);
    // A process that leaves a session is not where it runs. All processes left one that had ended.
    let is_elsewhere = pid.is_some() && (pid != known.pid || known.has_ended);
    let has_moved = is_elsewhere && event.kind != EventKind::SessionEnd;
    if is_start || has_moved {
        let mut new = new_session(cx, event, session);
        if pid.is_none() {
            // The client does not say: what was known of its process still holds.
            new.process = Process::now(cx.world, known.pid.and_then(|pid| u32::try_from(pid).ok()));
        }
        ops::moved(cx.db, &new, cx.now)?;
    }
    // Our own waiter outlives its session, and the end itself is no sign of life.
    let is_alive = !matches!(event.kind, EventKind::Waiter | EventKind::SessionEnd);
    if known.has_ended && is_alive {
        ops::set_ended(cx.db, session, None)?;
    }
    // A start is always noted: the session that began last in a process is the one that `/clear` leaves.
    if is_start || (is_alive && cx.now.since(known.last) > FRESH_MS) {
        ops::renew(cx.db, session, cx.now)?;
    }
    // A second terminal says nothing about the turn in the first.
    let works = works_again(event) && !(is_start && is_shared);
    if known.has_stopped && works {
        ops::begin_turn(cx.db, session, cx.now)?;
    }
    Ok(known.has_stopped && !works)
}

/// Whether the event shows that the main thread is in a turn.
fn works_again(event: &Event) -> bool {
    matches!(event.actor, Actor::Main { .. })
        && matches!(
            event.kind,
            EventKind::UserPromptSubmit
                | EventKind::PreToolUse
                | EventKind::PostToolUse
                | EventKind::PostToolUseFailure
                | EventKind::SessionStart
        )
}

/// The subagent's own name; made at its first sign.
fn subagent(
    cx: &mut Cx<'_>,
    session: &SafeId,
    agent: i64,
    actor: &str,
    kind: &str,
) -> Result<String, DbError> {
    let Some(known) = actors::one(cx.db, session, actor)? else {
        return actors::add(cx.db, session, actor, agent, &names::kind(kind), cx.now);
    };
    // Whoever is heard of goes on; a stop that is let go ends it again when that is recorded.
    if known.has_ended || cx.now.since(known.last) > FRESH_MS {
        actors::renew(cx.db, session, actor, cx.now)?;
    }
    Ok(known.name)
}
