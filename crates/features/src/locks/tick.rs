//! Leases whose owners are gone are removed, so that those who wait learn of it, and old history is forgotten.

use substrate_core::{Cx, FeatureError};

use super::life::Lives;
use super::ops_history::{self, What};
use super::{lending, notes, ops, ops_globs, release};
use crate::identity::book;

const DAY_MS: i64 = 86_400_000;
const HISTORY_MS: i64 = 30 * DAY_MS;

/// Rows in one go, so that no hook waits.
const STEP: i64 = 200;

/// `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let full = usize::try_from(STEP).unwrap_or(usize::MAX);
    owners_gone(cx)?;
    let late = ops::expired(cx.db, cx.now, STEP)?;
    let mut lives = Lives::default();
    for lease in &late {
        match lives.until(cx, &lease.claim)? {
            // Its owner was heard of: the written time follows, so that the next round looks at others.
            Some(until) => ops::prolong(cx.db, &lease.path, until)?,
            None => {
                release::these(cx, std::slice::from_ref(lease), &[], What::Expired)?;
            }
        }
    }
    for glob in ops_globs::all(cx.db, 10_000)? {
        if glob.claim.expires <= cx.now && lives.until(cx, &glob.claim)?.is_none() {
            release::these(cx, &[], &[glob], What::Expired)?;
        }
    }
    let (old, older) = (cx.now.plus_ms(-DAY_MS), cx.now.plus_ms(-HISTORY_MS));
    let n_forgotten = ops_history::forget(cx.db, older, old, STEP)?;
    let n_calls = lending::forget(cx.db, old, STEP)?;
    let n_notes = notes::OLD.delete(cx.db, old, full)?;
    Ok(late.len() >= full || n_forgotten.max(n_calls).max(n_notes) >= full)
}

/// Whoever has ended, or lost its process, holds nothing.
fn owners_gone(cx: &mut Cx<'_>) -> Result<(), FeatureError> {
    for (session, actor) in ops::owners(cx.db)? {
        let pulse = book::pulse(cx.db, cx.world, &session, &actor)?;
        let is_person = session.starts_with('(');
        if !is_person && pulse.is_none_or(|pulse| pulse.is_over) {
            release::of_actor(cx, &session, &actor, What::Expired)?;
        }
    }
    Ok(())
}
