//! What scratchpads know of an agent's story: which subagents and coordinators had to write one, and whether they did.

use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Cx, FeatureError};

use super::ops;
use super::whereabouts::BASE;
use crate::identity::book::MAIN;

/// The sessions that are looked at.
const MAX_SESSIONS: usize = 20;

pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let mut out = Vec::new();
    for session in of.sessions.iter().take(MAX_SESSIONS) {
        for one in ops::of_session(cx.db, session, of.limit)? {
            let (wrote, unheard) = (one.wrote, one.unheard.as_str());
            // The main thread only writes one if it delegated.
            if !of.covers(one.started.0, one.started.0) || (one.actor == MAIN && !wrote) {
                continue;
            }
            let title = match (wrote, unheard.is_empty()) {
                (true, _) => "Scratchpad written",
                (false, false) => "Ended without a look at its scratchpad",
                (false, true) => "Has a scratchpad to write",
            };
            out.push(Moment {
                at_ms: one.started.0,
                kind: MomentKind::Scratchpad,
                actor: one.actor,
                title: title.to_owned(),
                text: match unheard {
                    "" => format!("{BASE}/{}", one.folder),
                    why => format!("{BASE}/{}: {why}", one.folder),
                },
                ..Moment::default()
            });
        }
    }
    Ok(out)
}
