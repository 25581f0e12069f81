//! Notifications: whether the last one was told.

use substrate_core::time::Ago;
use substrate_core::{Settings, Timestamp};
use substrate_features::notify::{Sent, is_on, latest, wrong_hours};
use substrate_store::Database as Store;

use super::database::{Database, State};
use super::finding::{Area, Finding};
use crate::error::AppError;

/// What the settings and the last notification say. Nothing, if notifications are off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifications {
    pub(super) wrong_hours: Option<String>,
    pub(super) last: Option<Sent>,
}

pub(super) fn look(settings: &Settings, database: &Database) -> Option<Notifications> {
    if !is_on(settings) {
        return None;
    }
    let is_readable = matches!(database.state, State::Intact { n_missing_steps: 0 });
    let read = || Store::at(&database.path).read(|db| latest(db).map_err(AppError::from)).ok();
    let last = is_readable.then(read).flatten().flatten();
    Some(Notifications { wrong_hours: wrong_hours(settings), last })
}

pub(super) fn judge(found: Option<&Notifications>, now: Timestamp, out: &mut Vec<Finding>) {
    let Some(Notifications { wrong_hours, last }) = found else { return };
    if let Some(wrong) = wrong_hours {
        let next = "`substrate config set notify.quiet 22:00-07:00`";
        out.push(Area::Settings.warning("notify-hours", wrong.clone()).next(next));
    }
    let Some(Sent { at, error, .. }) = last else { return };
    let ago = Ago(now.since(*at));
    out.push(match error {
        Some(error) => Area::Features
            .warning("notify-failed", format!("the last notification, {ago} ago, failed: {error}"))
            .next("`substrate notify test`"),
        None => Area::Features.ok("notify-fine", format!("the last notification came {ago} ago")),
    });
}
