//! Work that was left unfinished, for a session that has none.

use substrate_core::{Cx, DbError, Event, StartSource};

use super::ops::{self, Effort};
use super::wanted;

/// What a new session does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adopt {
    /// It is told of the effort, and of the command that takes it.
    Offer,
    /// It takes it at once.
    Auto,
    Off,
}

/// The settings, for a session that was started for nothing in particular: no agent and no effort is named for it, and it
/// begins from nothing.
pub(super) fn adopt(word: &str, event: &Event, source: StartSource) -> Adopt {
    let is_new = matches!(source, StartSource::Startup | StartSource::Other);
    let is_plain = event.wanted_agent.is_none() && event.wanted_effort.is_none();
    match word {
        _ if !is_new || !is_plain => Adopt::Off,
        "offer" => Adopt::Offer,
        "auto" => Adopt::Auto,
        _ => Adopt::Off,
    }
}

/// The effort of the project that was used last, among those whose agents are gone.
pub(super) fn left(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Effort>, DbError> {
    let Some(me) = cx.who.as_ref().map(|who| who.agent) else { return Ok(None) };
    for (id, owner) in ops::unfinished(cx.db, &event.project, None)? {
        if owner != me && wanted::is_free(cx, owner, me)? {
            return ops::one(cx.db, id);
        }
    }
    Ok(None)
}
