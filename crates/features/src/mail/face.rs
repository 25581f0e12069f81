//! What other features may ask about mail.

use substrate_core::{Db, DbError, Timestamp};

use super::ops::Mailbox;
use super::ops_ledger;

/// When mail comes back by itself: the end of the agent's earliest snooze, or of a claim whose answer was not printed;
/// also if that has passed.
pub(crate) fn next_due(
    db: &mut dyn Db,
    agent: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, DbError> {
    let snooze = ops_ledger::next_snooze(db, agent)?;
    let claim = ops_ledger::next_free(db, Mailbox { agent, sub: "" })?;
    // A claim that has just ended counts from the next millisecond on.
    let due = snooze.into_iter().chain(claim.map(|at| at.plus_ms(1))).min();
    Ok(due.map(|due| due.max(now.plus_ms(1))))
}
