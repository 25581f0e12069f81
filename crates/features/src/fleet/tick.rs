//! Panes whose clients are gone get their own colours back, and rows that nobody needs are forgotten.

use substrate_core::{Cx, DbError, Effect, FeatureError, Pane};

use super::ops::Kept;
use super::{ops, paint};
use crate::identity::book;

const DAY_MS: i64 = 86_400_000;

/// Rows in one go, so that no hook waits.
const STEP: i64 = 500;

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let servers = ops::servers(cx.db)?;
    let mut panes: Vec<Pane> = Vec::new();
    for kept in ops::with_panes(cx.db, STEP)? {
        let Some(pane) = kept.pane.clone() else { continue };
        // Somebody else may work there now: then it is painted, and otherwise given back.
        if is_over(cx, &kept)? {
            ops::leave_pane(cx.db, &kept.session)?;
        }
        if servers.contains(&pane.socket) && !panes.contains(&pane) {
            panes.push(pane);
        }
    }
    for pane in panes {
        let look = paint::status_in(cx, &pane)?.map(|status| paint::look(cx.settings, status));
        cx.effects.push(Effect::Paint { pane, look });
    }
    for kept in ops::oldest(cx.db, cx.now.plus_ms(-DAY_MS), STEP)? {
        if is_over(cx, &kept)? {
            ops::forget(cx.db, &kept.session, &kept.actor)?;
        }
    }
    Ok(false)
}

fn is_over(cx: &mut Cx<'_>, kept: &Kept) -> Result<bool, DbError> {
    let pulse = book::pulse(cx.db, cx.world, &kept.session, &kept.actor)?;
    Ok(pulse.is_none_or(|pulse| pulse.is_over))
}
