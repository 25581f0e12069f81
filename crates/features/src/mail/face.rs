//! What other features may ask about mail.

use substrate_core::{Db, DbError, Timestamp};

use super::ops_ledger;

/// When mail comes back by itself: the end of the agent's earliest snooze, also if that has passed.
pub(crate) fn next_due(
    db: &mut dyn Db,
    agent: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, DbError> {
    Ok(ops_ledger::next_snooze(db, agent)?.map(|due| due.max(now)))
}
