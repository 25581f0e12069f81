//! Claims on items: whether they still hold, and how items return to the queue.
//!
//! A claim lives as long as its claimant, and `ttl_ms` longer when the claimant falls silent. Claims are checked when a
//! claimant finds nothing queued or asks for that item, and in the daemon's tick.

use substrate_core::{Cx, DbError, FeatureError, Timestamp};

use super::items::{self, Item};
use crate::identity::holder::{Holder, Liveness, Pulses, Term};
use crate::mail::face;

/// A claim on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkClaim {
    pub(super) by: Holder,
    pub(super) at: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) ttl_ms: i64,
}

impl WorkClaim {
    pub(super) fn liveness(
        &self,
        cx: &mut Cx<'_>,
        pulses: &mut Pulses,
    ) -> Result<Liveness, DbError> {
        let term = Term { expires: self.expires, ttl_ms: Some(self.ttl_ms) };
        pulses.liveness(cx, &self.by, term)
    }
}

const DAY_MS: i64 = 86_400_000;

/// How long finished items are kept.
const KEPT_MS: i64 = 30 * DAY_MS;

/// Claims checked per query.
const CLAIMS: i64 = 500;

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    take_back(cx, None)?;
    items::FINISHED.tick(cx, KEPT_MS)
}

/// Returns items to the queue whose claims no longer hold, in one project or in all, and counts them.
pub(super) fn take_back(cx: &mut Cx<'_>, project: Option<&str>) -> Result<usize, DbError> {
    let mut pulses = Pulses::default();
    let (mut n, mut from) = (0, Timestamp(0));
    loop {
        let items = items::claimed(cx.db, from, CLAIMS)?;
        for item in &items {
            if project.is_none_or(|project| project == item.project) {
                n += usize::from(take_back_one(cx, &mut pulses, item)?);
            }
        }
        let is_full = i64::try_from(items.len()).is_ok_and(|n| n >= CLAIMS);
        let next = items.last().and_then(|item| item.claim.as_ref()).map(|claim| claim.at);
        match next {
            // Claims beyond the limit that share one timestamp wait for the next round.
            Some(next) if is_full && next > from => from = next,
            _ => return Ok(n),
        }
    }
}

/// Returns one item to the queue if its claim no longer holds. A claimant that is still there gets mail about it.
pub(super) fn take_back_one(
    cx: &mut Cx<'_>,
    pulses: &mut Pulses,
    item: &Item,
) -> Result<bool, DbError> {
    let Some(claim) = &item.claim else { return Ok(false) };
    let liveness = claim.liveness(cx, pulses)?;
    let by = claim.by.address(cx)?;
    let note = match liveness {
        Liveness::Held { .. } => return Ok(false),
        Liveness::Gone => format!("came back from {by}, who is gone"),
        Liveness::Lapsed => format!("came back from {by}, who was silent for too long"),
    };
    let is_back = items::put_back(cx.db, item.id, &note)?;
    if is_back && liveness == Liveness::Lapsed {
        let id = item.id;
        let subject = format!("Work #{id} is no longer yours: you were silent for too long");
        let body = format!(
            "It is queued again. If you are still working on it, run `substrate work claim {id}`. If another agent has claimed it, leave it to them."
        );
        face::note(
            cx,
            (claim.by.agent, &claim.by.sub),
            &subject,
            body,
            Some(format!("work {id}")),
        )?;
    }
    Ok(is_back)
}
