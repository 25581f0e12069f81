//! Windows begin: with a session, with a subagent, or with the first tool call that finds none.

use substrate_core::{Actor, Cx, DbError, Event, StartSource, Who};

use super::offer::{self, Adopt};
use super::ops;
use super::ops_windows::{self, New, Standing};
use super::wanted::{self, Wanted};
use crate::identity::book::MAIN;

/// A session starts, in whatever way: its window begins, and is never an earlier one. `None` where nobody is known. With it
/// comes why it does not work on what it was meant to.
pub(super) fn main(
    cx: &mut Cx<'_>,
    event: &Event,
    source: StartSource,
) -> Result<Option<(Standing, Option<String>)>, DbError> {
    let (Some(session), Some(who)) = (&event.session, cx.who.clone()) else { return Ok(None) };
    let (session, why) = (session.as_str(), why(source));
    // Subagents don't outlive what happened to their parent's window, except for a compaction.
    if source == StartSource::Compact {
        ops_windows::end(cx.db, session, MAIN, why, cx.now)?;
    } else {
        ops_windows::end_all(cx.db, session, why, cx.now)?;
    }
    ops_windows::end_elsewhere(cx.db, who.agent, session, cx.now)?;
    // In a conversation that goes on its agent may have begun something else since.
    let mut wanted = match source {
        StartSource::Compact | StartSource::Clear => Wanted::default(),
        _ => wanted::find(cx, event, &who)?,
    };
    let adopts = offer::adopt(cx.settings.word("efforts.adopt"), event, source) == Adopt::Auto;
    if adopts
        && ops::active(cx.db, who.agent, &event.project)?.is_none()
        && let Some(left) = offer::left(cx, event)?
    {
        wanted::take(cx, &left, &who)?;
        wanted.effort = Some(left.id);
    }
    let standing = open_main(cx, session, &who, &event.project, wanted.effort)?;
    Ok(standing.map(|standing| (standing, wanted.why_not)))
}

/// The word for it in lists.
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

/// The window of a session's main thread; unless it is told otherwise, it goes on with what its agent worked on last in the
/// project.
pub(super) fn open_main(
    cx: &mut Cx<'_>,
    session: &str,
    who: &Who,
    project: &str,
    wanted: Option<i64>,
) -> Result<Option<Standing>, DbError> {
    let effort = match wanted {
        Some(id) => Some(id),
        None => ops::active(cx.db, who.agent, project)?,
    };
    let new =
        New { session, actor: MAIN, kind: "", agent: who.agent, project, effort, parent: None };
    ops_windows::begin(cx.db, &new, cx.now)?;
    ops_windows::standing(cx.db, session, MAIN)
}

/// The open window of the event's actor; it is begun if there is none.
pub(super) fn ensured(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Standing>, DbError> {
    let (Some(session), Some(who)) = (&event.session, cx.who.clone()) else { return Ok(None) };
    if let Some(found) = ops_windows::standing(cx.db, session.as_str(), event.actor.key())? {
        return Ok(Some(found));
    }
    let main = match ops_windows::standing(cx.db, session.as_str(), MAIN)? {
        Some(found) => Some(found),
        None => {
            let wanted = wanted::find(cx, event, &who)?.effort;
            open_main(cx, session.as_str(), &who, &event.project, wanted)?
        }
    };
    let Actor::Subagent { id, kind } = &event.actor else { return Ok(main) };
    let Some(main) = main else { return Ok(None) };
    let new = New {
        session: session.as_str(),
        actor: id.as_str(),
        kind: substrate_core::text::cut(kind, 80),
        agent: who.agent,
        project: &event.project,
        effort: main.effort.map(|effort| effort.id),
        parent: Some(main.window),
    };
    ops_windows::begin(cx.db, &new, cx.now)?;
    ops_windows::standing(cx.db, session.as_str(), id.as_str())
}
