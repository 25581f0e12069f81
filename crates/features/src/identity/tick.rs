//! Forgets sessions that nobody will come back to. Agents stay: they are durable.

use substrate_core::{Cx, FeatureError};

use super::{actors, files, ops, processes};

const DAY_MS: i64 = 86_400_000;

/// How long a session is remembered after it was last heard of.
const KEPT_MS: i64 = 30 * DAY_MS;

/// Rows removed in one go.
const STEP: i64 = 200;

/// `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let step = usize::try_from(STEP).unwrap_or(usize::MAX);
    let mut n_forgotten = 0;
    for (session, process) in ops::silent_since(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)? {
        // Silent for long, but somebody may still speak to it.
        if !cx.world.is_waiting(&session, true)
            && !process.is_there(cx.world)
            && processes::living(cx.db, cx.world, &session, None)?.is_none()
        {
            files::forget(cx, &session)?;
            n_forgotten += 1;
        }
    }
    let n_calls = actors::forget_calls(cx.db, cx.now.plus_ms(-DAY_MS), STEP)?;
    processes::forget(cx, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(n_forgotten == step || n_calls == step)
}
