//! Retention: by age, then by size; a little at a time, so that no hook waits for it.

use substrate_core::{Cx, FeatureError};

use super::{ops, project_logs};

/// Rows removed in one go.
const STEP: i64 = 2_000;

/// `true`: there is more to remove.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let oldest_kept = cx.now.plus_ms(-cx.settings.int("journal.max_age"));
    let too_old = ops::id_before(cx.db, oldest_kept)?;
    let mut removed = ops::remove_up_to(cx.db, too_old, STEP)?;
    if removed == 0 && cx.db.size_bytes()? > cx.settings.int("journal.max_size") {
        removed = ops::remove_up_to(cx.db, i64::MAX, STEP)?;
    }
    project_logs::forget(cx.db, oldest_kept)?;
    Ok(removed > 0)
}
