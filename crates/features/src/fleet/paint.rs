//! The colours of a pane: after the strongest status of those whose client runs in it.

use substrate_core::{Cx, DbError, Effect, Look, Pane, Settings};

use super::ops::{self, Kept};
use super::status::Status;
use crate::identity::book;

/// Colours a pane as it should be now, or gives it back, if its server shows colours at all.
pub(super) fn pane(cx: &mut Cx<'_>, pane: &Pane) -> Result<(), DbError> {
    if ops::is_on(cx.db, &pane.socket)? {
        let status = status_in(cx, pane)?;
        let look = status.map(|status| look(cx.settings, status));
        cx.effects.push(Effect::Paint { pane: pane.clone(), look });
    }
    Ok(())
}

/// The strongest status in a pane; nothing when nobody is there any more.
pub(super) fn status_in(cx: &mut Cx<'_>, pane: &Pane) -> Result<Option<Status>, DbError> {
    let mut strongest = None;
    for kept in ops::in_pane(cx.db, pane)? {
        if is_there(cx, &kept)? {
            strongest = strongest.max(Some(kept.shown()));
        }
    }
    Ok(strongest)
}

fn is_there(cx: &mut Cx<'_>, kept: &Kept) -> Result<bool, DbError> {
    let pulse = book::pulse(cx.db, cx.world, &kept.session, &kept.actor)?;
    Ok(pulse.is_some_and(|pulse| !pulse.is_over))
}

/// A pane in which work goes on keeps its own background; the tab alone shows it.
pub(super) fn look(settings: &Settings, status: Status) -> Look {
    let tab = settings.text(&format!("fleet.{}_colour", status.name())).to_owned();
    let pane = if status == Status::Working { String::new() } else { tab.clone() };
    Look { status: status.name().to_owned(), rank: status.rank(), pane, tab }
}
