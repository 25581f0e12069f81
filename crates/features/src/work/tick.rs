//! What those had who are gone comes back, and what was done long ago is forgotten.

use substrate_core::{Cx, DbError, FeatureError, Timestamp};

use super::claim::{Lives, Standing};
use super::ops::{self, Item};
use crate::mail::face;

const DAY_MS: i64 = 86_400_000;

/// How long it is remembered what was done.
const KEPT_MS: i64 = 30 * DAY_MS;

/// Rows in one go, so that no hook waits.
const STEP: i64 = 200;

/// Claims that are looked at in one go.
const CLAIMS: i64 = 500;

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    take_back(cx, None)?;
    let n = ops::forget(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(is_full(n, STEP))
}

fn is_full(n: usize, step: i64) -> bool {
    usize::try_from(step).is_ok_and(|step| n >= step)
}

/// Queues everything again whose claim does not hold; of one project, or of all. How many there were.
pub(super) fn take_back(cx: &mut Cx<'_>, project: Option<&str>) -> Result<usize, DbError> {
    let mut lives = Lives::default();
    let (mut n, mut from) = (0, Timestamp(0));
    loop {
        let items = ops::claimed(cx.db, from, CLAIMS)?;
        for item in &items {
            if project.is_none_or(|project| project == item.project) {
                n += usize::from(take_back_one(cx, &mut lives, item)?);
            }
        }
        let next = items.last().and_then(|item| item.claim.as_ref()).map(|claim| claim.at);
        match next {
            // More than that of one very moment is looked at the next time.
            Some(next) if is_full(items.len(), CLAIMS) && next > from => from = next,
            _ => return Ok(n),
        }
    }
}

/// Queues one item again if its claim does not hold. A claimant that is there is told.
pub(super) fn take_back_one(
    cx: &mut Cx<'_>,
    lives: &mut Lives,
    item: &Item,
) -> Result<bool, DbError> {
    let Some(claim) = &item.claim else { return Ok(false) };
    let standing = lives.standing(cx, claim)?;
    let by = claim.by.address(cx)?;
    let note = match standing {
        Standing::Holds { .. } => return Ok(false),
        Standing::Gone => format!("came back from {by}, who is gone"),
        Standing::Lapsed => format!("came back from {by}, who was silent for too long"),
    };
    let is_back = ops::put_back(cx.db, item.id, &note)?;
    if is_back && standing == Standing::Lapsed {
        let id = item.id;
        let subject = format!("Work #{id} is no longer yours: you were silent for too long");
        let body = format!(
            "It is queued again. If you still work on it: `substrate work claim {id}`; if that says that somebody else has it, leave it to them."
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
