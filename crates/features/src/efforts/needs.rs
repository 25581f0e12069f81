//! Efforts that were left behind: not finished, and their agent is not there.

use substrate_core::need::UserNeed;
use substrate_core::{Cx, FeatureError, NeedKind};

use super::face::need_id;
use super::ops;
use crate::identity::book;
use crate::identity::presence::{self, Reach};

/// Efforts that were used within this time are shown. Older ones are offered to new sessions all the same.
const SHOWN_MS: i64 = 24 * 3_600_000;

/// The most that are looked at.
const MAX: i64 = 50;

pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let mut out = Vec::new();
    for effort in ops::left_open(cx.db, cx.now.plus_ms(-SHOWN_MS), MAX)? {
        if presence::reach(cx.db, cx.world, cx.now, effort.agent)? != Reach::Offline {
            continue;
        }
        let (id, agent) = (effort.id, book::name_of(cx.db, effort.agent)?);
        let phase = match effort.phase.as_str() {
            "" => String::new(),
            phase => format!(", in phase {phase}"),
        };
        let left = match effort.payload.is_some() && effort.payload_told.is_none() {
            true => " It left a note for the next session.",
            false => "",
        };
        out.push(UserNeed {
            reason: format!("is gone, and left its effort {} unfinished{phase}", effort.skill),
            text: format!(
                "The next session in this project is offered it.{left} `substrate effort show {id}` shows it, `substrate effort finish {id} --agent {agent}` ends it."
            ),
            since_ms: effort.used.0,
            project: effort.project,
            agent,
            ..UserNeed::new(need_id(id), NeedKind::Dead)
        });
    }
    Ok(out)
}
