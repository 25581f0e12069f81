//! A window begins: with a session, with a subagent, or with the first event that finds none. Here it is decided which
//! effort the window goes on with.
//!
//! Everything is decided in the transaction of the event or command, so of two agents that want one effort only the first
//! gets it.

use substrate_core::{Actor, Cx, DbError, Event, StartSource, Who};

use super::ops::windows::{self, NewWindow, OpenWindow};
use super::ops::{self, Effort, messages};
use super::words;
use crate::identity::book::{self, MAIN};
pub(super) use crate::identity::holder::may_take as is_free;
use crate::mail;

/// Opens the window of a session that starts in any way, and ends the one before it. `None` if no agent is known. The
/// second value says why the session does not work on the effort it was started for.
pub(super) fn main(
    cx: &mut Cx<'_>,
    event: &Event,
    source: StartSource,
) -> Result<Option<(OpenWindow, Option<String>)>, DbError> {
    let (Some(session), Some(who)) = (&event.session, cx.who.clone()) else { return Ok(None) };
    let (session, why) = (session.as_str(), why(source));
    // Subagents survive a compaction of their parent's window, and nothing else.
    if source == StartSource::Compact {
        windows::end(cx.db, session, MAIN, why, cx.now)?;
    } else {
        windows::end_all(cx.db, session, why, cx.now)?;
    }
    windows::end_elsewhere(cx.db, who.agent, session, cx.now)?;
    // After `/clear` or a compaction the agent may have moved on to another effort than the one it was started for.
    let mut request = match source {
        StartSource::Compact | StartSource::Clear => EffortRequest::default(),
        _ => requested(cx, event, &who)?,
    };
    if adoption(cx.settings.word("efforts.adopt"), event, source) == Adoption::Auto
        && ops::active(cx.db, who.agent, &event.project)?.is_none()
        && let Some(left) = left_behind(cx, event)?
    {
        take(cx, &left, &who)?;
        request.granted = Some(left.id);
    }
    let window = open_main(cx, session, &who, &event.project, request.granted)?;
    Ok(window.map(|window| (window, request.why_not)))
}

/// The word that lists show for it.
pub(super) const fn why(source: StartSource) -> &'static str {
    match source {
        StartSource::Startup => "startup",
        StartSource::Resume => "resume",
        StartSource::Fork => "fork",
        StartSource::Clear => "clear",
        StartSource::Compact => "compact",
        StartSource::Other => "start",
    }
}

/// Opens the window of a session's main thread. Without a given effort, it goes on with the one that its agent worked on
/// last in the project.
pub(super) fn open_main(
    cx: &mut Cx<'_>,
    session: &str,
    who: &Who,
    project: &str,
    effort: Option<i64>,
) -> Result<Option<OpenWindow>, DbError> {
    let effort = match effort {
        Some(id) => Some(id),
        None => ops::active(cx.db, who.agent, project)?,
    };
    let new = NewWindow {
        session,
        actor: MAIN,
        kind: "",
        agent: who.agent,
        project,
        effort,
        parent: None,
    };
    windows::begin(cx.db, &new, cx.now)?;
    windows::open(cx.db, session, MAIN)
}

/// The open window of the event's actor. It begins here if there is none.
pub(super) fn ensured(cx: &mut Cx<'_>, event: &Event) -> Result<Option<OpenWindow>, DbError> {
    let Some(session) = event.session.as_ref().filter(|_| cx.who.is_some()) else {
        return Ok(None);
    };
    if let Some(found) = windows::open(cx.db, session.as_str(), event.actor.key())? {
        return Ok(Some(found));
    }
    let Some(who) = cx.who.clone() else { return Ok(None) };
    let main = match windows::open(cx.db, session.as_str(), MAIN)? {
        Some(found) => Some(found),
        None => {
            let granted = requested(cx, event, &who)?.granted;
            open_main(cx, session.as_str(), &who, &event.project, granted)?
        }
    };
    let Actor::Subagent { id, kind } = &event.actor else { return Ok(main) };
    let Some(main) = main else { return Ok(None) };
    let new = NewWindow {
        session: session.as_str(),
        actor: id.as_str(),
        kind: substrate_core::text::cut(kind, 80),
        agent: who.agent,
        project: &event.project,
        effort: main.effort.map(|effort| effort.id),
        parent: Some(main.id),
    };
    windows::begin(cx.db, &new, cx.now)?;
    windows::open(cx.db, session.as_str(), id.as_str())
}

/// What became of the effort that a session was started for (`substrate run --effort ID` puts it into the environment).
#[derive(Debug, Default)]
struct EffortRequest {
    /// The effort. It belongs to the agent from now on.
    granted: Option<i64>,
    /// Why the agent can't have it, in words for the agent.
    why_not: Option<String>,
}

/// Follows the rule of `effort resume`: an effort is taken over only from an agent that is gone. A client inside a client
/// inherits the variable, but its parent is still running.
fn requested(cx: &mut Cx<'_>, event: &Event, who: &Who) -> Result<EffortRequest, DbError> {
    let Some(id) = event.wanted_effort else { return Ok(EffortRequest::default()) };
    let not = |why: String| EffortRequest { granted: None, why_not: Some(why) };
    let Some(effort) = ops::one(cx.db, id)? else {
        return Ok(not(format!("there is no effort {id}")));
    };
    if effort.finished.is_some() {
        return Ok(not(format!("effort {id} is finished")));
    }
    if effort.project != event.project {
        return Ok(not(format!("effort {id} belongs to another project")));
    }
    if !is_free(cx, effort.agent, who.agent)? {
        let owner = book::name_of(cx.db, effort.agent)?;
        return Ok(not(words::is_busy(&owner, id)));
    }
    take(cx, &effort, who)?;
    Ok(EffortRequest { granted: Some(id), why_not: None })
}

/// Gives the effort to this agent. Mail tells the former owner, in case it comes back. The new one is told the payload,
/// even if the former owner was told it before.
pub(super) fn take(cx: &mut Cx<'_>, effort: &Effort, who: &Who) -> Result<(), DbError> {
    ops::used(cx.db, effort.id, who.agent, cx.now)?;
    if effort.agent == who.agent {
        return Ok(());
    }
    messages::tell_again(cx.db, effort.id)?;
    let (subject, body) = words::taken(effort, &who.name);
    mail::face::note(cx, (effort.agent, ""), &subject, body, Some(format!("effort {}", effort.id)))
}

/// What a new session does about an unfinished effort whose agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adoption {
    /// It is told about the effort, and which command takes it.
    Offer,
    /// It takes the effort at once.
    Auto,
    Off,
}

/// The setting, for a session that starts from nothing and for nothing in particular: neither an agent nor an effort is
/// named for it.
pub(super) fn adoption(word: &str, event: &Event, source: StartSource) -> Adoption {
    let is_new = matches!(source, StartSource::Startup | StartSource::Other);
    let is_plain = event.wanted_agent.is_none() && event.wanted_effort.is_none();
    match word {
        _ if !is_new || !is_plain => Adoption::Off,
        "offer" => Adoption::Offer,
        "auto" => Adoption::Auto,
        _ => Adoption::Off,
    }
}

/// The project's most recently used effort whose agent is gone.
pub(super) fn left_behind(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Effort>, DbError> {
    let Some(me) = cx.who.as_ref().map(|who| who.agent) else { return Ok(None) };
    for (id, owner) in ops::unfinished(cx.db, &event.project, None)? {
        if owner != me && is_free(cx, owner, me)? {
            return ops::one(cx.db, id);
        }
    }
    Ok(None)
}
