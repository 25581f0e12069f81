//! What other features may ask here: what waits for the user, in full and as a number.

use substrate_core::{Cx, DbError};

use super::ops;
use crate::identity::holder;

pub(crate) use super::verbs::needs::all as needs;

/// Counting ends here.
const MANY: i64 = 20;

/// What has waited for longer is not counted.
const OLD_MS: i64 = 7 * 86_400_000;

/// How many actors wait for a person, for a line that is printed all the time: one select, and one more for each of them.
pub(crate) fn n_waiting(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    let mut n = 0;
    for (session, actor) in ops::waiting(cx.db, cx.now.plus_ms(-OLD_MS), MANY)? {
        let pulse = holder::pulse(cx.db, cx.world, &session, &actor)?;
        n += i64::from(pulse.is_some_and(|pulse| !pulse.is_over));
    }
    Ok(n)
}
