//! Who an event comes from. A new session gets an agent, and a new subagent gets a name.
//!
//! This runs at every event of every agent. It costs one point select (two for a subagent), and writes only if
//! something changed or 15 seconds have passed.

use substrate_core::{
    Activity, Actor, Asking, Caller, Cx, DbError, Detail, Event, EventKind, FeatureError, SafeId,
    StartSource, Timestamp, Who,
};

use super::ops::{self, KnownSession, NewSession};
use super::presence::Process;
use super::{actors, book, caller, processes, record};

/// How old the stored time of the last event may become.
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
    // Our own waiter may start before its session is known, and may outlive it. Then it has no identity.
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
                    resumed_agent(cx, &new, (known.agent, known.name))?
                }
                _ => (known.agent, known.name),
            };
            (agent, name, has_stopped)
        }
        None => {
            let (agent, name) = agent_of_event(cx, event, &new_session(cx, event, session))?;
            (agent, name, false)
        }
    };
    let sub = match &event.actor {
        Actor::Main { .. } => String::new(),
        Actor::Subagent { id, kind } => subagent(cx, session, agent, id.as_str(), kind)?,
    };
    Ok(Some(Who { agent, name, sub, session: Some(session.clone()), has_stopped, is_shared }))
}

/// Who an activity file is about. `None` if a newer event contradicts it, or its process never had the session open.
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
    let KnownSession { agent, name, has_stopped, .. } = known;
    let (sub, session) = (String::new(), Some(session.clone()));
    Ok(Some(Who { agent, name, sub, session, has_stopped, is_shared: false }))
}

/// Whether another live client has the session open while one starts or ends it.
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

/// Notes what an event changes in a known session. Returns whether its main thread is still stopped.
fn heard_again(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    known: &KnownSession,
    is_shared: bool,
) -> Result<bool, DbError> {
    let is_start = event.kind == EventKind::SessionStart;
    let pid = event.client_pid.map(i64::from);
    // A SessionEnd does not move the session to its process. An ended session was left by all processes.
    let is_elsewhere = pid.is_some() && (pid != known.pid || known.has_ended);
    let has_moved = is_elsewhere && event.kind != EventKind::SessionEnd;
    if is_start || has_moved {
        let mut new = new_session(cx, event, session);
        if pid.is_none() {
            // The client does not report its process, so the known one is kept.
            new.process = Process::now(cx.world, known.pid.and_then(|pid| u32::try_from(pid).ok()));
        }
        ops::moved(cx.db, &new, cx.now)?;
    }
    // Neither our own waiter, which outlives its session, nor the end itself is a sign of life.
    let is_alive = !matches!(event.kind, EventKind::Waiter | EventKind::SessionEnd);
    if known.has_ended && is_alive {
        ops::set_ended(cx.db, session, None)?;
    }
    // A start is always noted: `/clear` leaves the session that began last in its process.
    if is_start || (is_alive && cx.now.since(known.last) > FRESH_MS) {
        ops::renew(cx.db, session, cx.now)?;
    }
    // A start in a second terminal says nothing about the turn in the first.
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

/// The subagent's own name, which it gets with its first event.
fn subagent(
    cx: &mut Cx<'_>,
    session: &SafeId,
    agent: i64,
    actor: &str,
    kind: &str,
) -> Result<String, DbError> {
    let Some(known) = actors::one(cx.db, session, actor)? else {
        return actors::add(cx.db, session, actor, agent, &book::kind_of_subagent(kind), cx.now);
    };
    // An event shows that it goes on. If this is a Stop that is allowed, recording it ends the subagent again.
    if known.has_ended || cx.now.since(known.last) > FRESH_MS {
        actors::renew(cx.db, session, actor, cx.now)?;
    }
    Ok(known.name)
}

/// How long after `/clear` the first event of the new session may come.
const CLEARED_MS: i64 = 60_000;

/// Adds the session of an event, and returns its agent.
fn agent_of_event(
    cx: &mut Cx<'_>,
    event: &Event,
    new: &NewSession<'_>,
) -> Result<(i64, String), DbError> {
    let source = match event.detail {
        Detail::SessionStart { source, .. } => Some(source),
        _ => None,
    };
    let chosen = match source {
        Some(StartSource::Fork) => None,
        Some(StartSource::Clear) | None => match cleared(cx, new, source.is_some())? {
            Some(agent) => Some(agent),
            None => wanted(cx, event.wanted_agent.as_deref(), new)?,
        },
        Some(
            StartSource::Startup | StartSource::Resume | StartSource::Compact | StartSource::Other,
        ) => wanted(cx, event.wanted_agent.as_deref(), new)?,
    };
    make_session(cx, new, chosen)
}

/// Adds a session that is known only from a command.
pub(super) fn agent_of_command(
    cx: &mut Cx<'_>,
    wanted_agent: Option<&str>,
    new: &NewSession<'_>,
) -> Result<(i64, String), DbError> {
    let chosen = wanted(cx, wanted_agent, new)?;
    make_session(cx, new, chosen)
}

/// Adds the session, with a new agent if none was chosen, and writes its identity file.
pub(super) fn make_session(
    cx: &mut Cx<'_>,
    new: &NewSession<'_>,
    chosen: Option<(i64, String)>,
) -> Result<(i64, String), DbError> {
    let (agent, name) = match chosen {
        Some(chosen) => chosen,
        None => new_agent(cx, new)?,
    };
    ops::add_session(cx.db, new, agent, cx.now)?;
    record::keep_file(cx, new.session)?;
    Ok((agent, name))
}

/// The agent whose session a `/clear` in the same process has just ended. The client announces this when the new session
/// starts; if another event comes first, the end of the old session shows it.
fn cleared(
    cx: &mut Cx<'_>,
    new: &NewSession<'_>,
    is_announced: bool,
) -> Result<Option<(i64, String)>, DbError> {
    let Some(pid) = new.process.pid else { return Ok(None) };
    let Some(before) = ops::sibling(cx.db, new.client, pid)? else { return Ok(None) };
    let is_same_process = before.began == new.process.began;
    let was_cleared = before.why.as_deref() == Some("clear")
        && before.ended.is_some_and(|ended| cx.now.since(ended) <= CLEARED_MS);
    Ok((is_same_process && (is_announced || was_cleared)).then_some((before.agent, before.name)))
}

/// A resumed session gets a new agent if its old one is live elsewhere, after a `/clear` or because another session
/// took the name.
fn resumed_agent(
    cx: &mut Cx<'_>,
    new: &NewSession<'_>,
    known: (i64, String),
) -> Result<(i64, String), DbError> {
    let session = Some(new.session);
    if !ops::is_live_elsewhere(cx.db, cx.world, cx.now, known.0, session, new.process)? {
        return Ok(known);
    }
    let (agent, name) = new_agent(cx, new)?;
    ops::set_agent(cx.db, new.session, agent)?;
    record::keep_file(cx, new.session)?;
    Ok((agent, name))
}

/// The agent that the environment asks for, unless it is live elsewhere: nested clients inherit the variable.
fn wanted(
    cx: &mut Cx<'_>,
    wanted: Option<&str>,
    new: &NewSession<'_>,
) -> Result<Option<(i64, String)>, DbError> {
    let Some(name) = wanted.filter(|name| book::is_valid_name(name)) else { return Ok(None) };
    match agent_named(cx, name)? {
        Some((agent, name)) => {
            let is_live = ops::is_live_elsewhere(
                cx.db,
                cx.world,
                cx.now,
                agent,
                Some(new.session),
                new.process,
            )?;
            Ok((!is_live).then_some((agent, name)))
        }
        None => {
            let agent = actors::add_agent(cx.db, name, new.project, cx.now)?;
            Ok(agent.map(|agent| (agent, name.to_owned())))
        }
    }
}

/// The agent of that name, ignoring case, but never the person or Substrate.
pub(super) fn agent_named(cx: &mut Cx<'_>, name: &str) -> Result<Option<(i64, String)>, DbError> {
    let found = book::agent(cx.db, name)?;
    Ok(found.filter(|(agent, _)| ![book::USER, book::SUBSTRATE].contains(agent)))
}

fn new_agent(cx: &mut Cx<'_>, new: &NewSession<'_>) -> Result<(i64, String), DbError> {
    for name in book::candidate_names(new.session.as_str()) {
        if let Some(agent) = actors::add_agent(cx.db, &name, new.project, cx.now)? {
            return Ok((agent, name));
        }
    }
    Err(DbError::Other { detail: "no free name is left".to_owned() })
}

/// A new session as a command describes it.
pub(super) fn described<'a>(session: &'a SafeId, caller: &'a Caller) -> NewSession<'a> {
    NewSession {
        session,
        client: "command",
        project: &caller.project,
        cwd: &caller.cwd,
        process: Process::UNKNOWN,
        attended: None,
    }
}
