//! Which agent a session is that was never heard of.

use substrate_core::{Cx, DbError, Detail, Event, SafeId, StartSource};

use super::ops::{self, NewSession};
use super::{book, files, names};

/// How soon after `/clear` the new session speaks for the first time.
const CLEARED_MS: i64 = 60_000;

/// Makes the session of an event, and says which agent it is.
pub(super) fn of_event(
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
    make(cx, new, chosen)
}

/// Makes a session that only a command speaks of.
pub(super) fn of_command(
    cx: &mut Cx<'_>,
    wanted_agent: Option<&str>,
    new: &NewSession<'_>,
) -> Result<(i64, String), DbError> {
    let chosen = wanted(cx, wanted_agent, new)?;
    make(cx, new, chosen)
}

/// Makes the session, of a new agent if none was chosen, and keeps its file.
pub(super) fn make(
    cx: &mut Cx<'_>,
    new: &NewSession<'_>,
    chosen: Option<(i64, String)>,
) -> Result<(i64, String), DbError> {
    let (agent, name) = match chosen {
        Some(chosen) => chosen,
        None => new_agent(cx, new)?,
    };
    ops::add_session(cx.db, new, agent, cx.now)?;
    files::keep(cx, new.session)?;
    Ok((agent, name))
}

/// The agent that a `/clear` in the same process has just left. The client says so at the start of the new session;
/// where another event comes first, the end of the old one said it.
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

/// A session that comes back while its agent lives on elsewhere (it was cleared, or another session took the name) is
/// another agent from now on.
pub(super) fn of_resumed(
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
    files::keep(cx, new.session)?;
    Ok((agent, name))
}

/// The agent that the session's surroundings ask for, unless it is live elsewhere: a nested client inherits the wish.
fn wanted(
    cx: &mut Cx<'_>,
    wanted: Option<&str>,
    new: &NewSession<'_>,
) -> Result<Option<(i64, String)>, DbError> {
    let Some(name) = wanted.filter(|name| names::is_valid(name)) else { return Ok(None) };
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
            let agent = ops::add_agent(cx.db, name, new.project, cx.now)?;
            Ok(agent.map(|agent| (agent, name.to_owned())))
        }
    }
}

/// The agent of that name, in any case; never the person, nor ourselves.
pub(super) fn agent_named(cx: &mut Cx<'_>, name: &str) -> Result<Option<(i64, String)>, DbError> {
    let found = book::agent(cx.db, name)?;
    Ok(found.filter(|(agent, _)| ![book::USER, book::SUBSTRATE].contains(agent)))
}

fn new_agent(cx: &mut Cx<'_>, new: &NewSession<'_>) -> Result<(i64, String), DbError> {
    for name in names::candidates(new.session.as_str()) {
        if let Some(agent) = ops::add_agent(cx.db, &name, new.project, cx.now)? {
            return Ok((agent, name));
        }
    }
    Err(DbError::Other { detail: "there is no name left".to_owned() })
}

/// A session as a command describes it.
pub(super) fn described<'a>(
    session: &'a SafeId,
    caller: &'a substrate_core::Caller,
) -> NewSession<'a> {
    NewSession {
        session,
        client: "command",
        project: &caller.project,
        cwd: &caller.cwd,
        process: super::presence::Process { pid: None, began: None },
        attended: None,
    }
}
