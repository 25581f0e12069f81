//! What other features may ask about usage.

use substrate_core::{Db, DbError, Timestamp};

use super::ops;

/// How many tokens the context of an agent's main thread had at its latest answers since then, oldest first.
pub(crate) fn context(
    db: &mut dyn Db,
    agent: &str,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(i64, i64)>, DbError> {
    ops::context(db, agent, since, limit)
}

/// The same at one moment.
pub(crate) fn context_at(
    db: &mut dyn Db,
    agent: &str,
    at: Timestamp,
) -> Result<Option<i64>, DbError> {
    ops::context_at(db, agent, at)
}
