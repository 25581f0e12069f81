//! The colours of a pane, by the strongest status in it.

use substrate_core::{Cx, DbError, Effect, FeatureError, Look, Pane, Settings};

use super::ops::{self, StatusRow};
use super::status::Status;
use crate::identity::book;

/// Paints a pane, or restores it, if its server shows colours at all.
pub(super) fn pane(cx: &mut Cx<'_>, pane: &Pane) -> Result<(), DbError> {
    if ops::is_on(cx.db, &pane.socket)? {
        let status = status_in(cx, pane)?;
        let look = status.map(|status| look(cx.settings, status));
        cx.effects.push(Effect::Paint { pane: pane.clone(), look });
    }
    Ok(())
}

/// The strongest status in a pane, if an actor is still there.
pub(super) fn status_in(cx: &mut Cx<'_>, pane: &Pane) -> Result<Option<Status>, DbError> {
    let mut strongest = None;
    for kept in ops::in_pane(cx.db, pane)? {
        if !is_over(cx, &kept)? {
            strongest = strongest.max(Some(kept.shown()));
        }
    }
    Ok(strongest)
}

/// A pane in which work goes on keeps its own background; the tab alone shows it.
pub(super) fn look(settings: &Settings, status: Status) -> Look {
    let tab = settings.text(&format!("fleet.{}_colour", status.name())).to_owned();
    let pane = if status == Status::Working { String::new() } else { tab.clone() };
    Look { status: status.name().to_owned(), rank: status.rank(), pane, tab }
}

const DAY_MS: i64 = 86_400_000;

/// Rows per step, so that no hook waits.
const STEP: i64 = 500;

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let servers = ops::servers(cx.db)?;
    let mut panes: Vec<Pane> = Vec::new();
    for kept in ops::with_panes(cx.db, STEP)? {
        let Some(pane) = kept.pane.clone() else { continue };
        // Another agent may work there now. Then the pane is painted, otherwise it gets its own colours back.
        if is_over(cx, &kept)? {
            ops::leave_pane(cx.db, &kept.session)?;
        }
        if servers.contains(&pane.socket) && !panes.contains(&pane) {
            panes.push(pane);
        }
    }
    for pane in panes {
        let look = status_in(cx, &pane)?.map(|status| look(cx.settings, status));
        cx.effects.push(Effect::Paint { pane, look });
    }
    for kept in ops::oldest(cx.db, cx.now.plus_ms(-DAY_MS), STEP)? {
        if is_over(cx, &kept)? {
            ops::forget(cx.db, &kept.session, &kept.actor)?;
        }
    }
    Ok(false)
}

fn is_over(cx: &mut Cx<'_>, kept: &StatusRow) -> Result<bool, DbError> {
    let pulse = book::pulse(cx.db, cx.world, &kept.session, &kept.actor)?;
    Ok(pulse.is_none_or(|pulse| pulse.is_over))
}
