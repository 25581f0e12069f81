//! What other features may ask about context windows.

use substrate_core::{Actor, Cx, DbError, Event, Need};

use super::policy::{MAX_TAIL, transcript};
use super::{ops, window};

pub(crate) use super::window::Usage;

/// How full the window of the event's actor is; `None` where nobody knows. At a tool call that is the size of the request
/// that led to it. The status line is the better source where it is not older than the transcript.
pub(crate) fn usage(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Usage>, DbError> {
    let Some(session) = &event.session else { return Ok(None) };
    let is_sub = matches!(event.actor, Actor::Subagent { .. });
    let found = transcript(event)
        .and_then(|path| cx.facts.tail(&path, MAX_TAIL))
        .and_then(|tail| (event.dialect.latest_answer)(tail, is_sub));
    let said = ops::one(cx.db, session.as_str(), event.actor.key())?;
    let size = said.as_ref().map_or(0, |said| said.size);
    let of = |used: i64, size: i64| Some(Usage::of(used, size, cx.settings));
    let Some(found) = found else {
        return Ok(said.and_then(|said| of(said.used?, said.size)));
    };
    if let Some(said) = &said
        && let Some(used) = said.used
        && found.at.is_some_and(|at| said.at >= at)
    {
        return Ok(of(used, said.size));
    }
    let size = if size > 0 { size } else { window::guessed(&found.model, found.used) };
    Ok(of(found.used, size))
}

/// What must be looked up for `usage` to know more than what the client has said.
pub(crate) fn need(event: &Event) -> Option<Need> {
    transcript(event).map(|path| Need::Tail { path, max: MAX_TAIL })
}

/// How full a session's main window was when the client last said so: for commands, which see no transcript.
pub(crate) fn said(cx: &mut Cx<'_>, session: &str) -> Result<Option<Usage>, DbError> {
    let said = ops::one(cx.db, session, "main")?;
    Ok(said.and_then(|said| Some(Usage::of(said.used?, said.size, cx.settings))))
}
