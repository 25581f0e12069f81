//! What other features may ask about leases.

use substrate_core::{Db, DbError};

use super::ops;

/// The files that an actor holds, the latest first, as they are named in their working tree.
pub(crate) fn held(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    max: usize,
) -> Result<Vec<String>, DbError> {
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let leases = ops::of_owner(db, session, actor, max)?;
    Ok(leases.into_iter().map(|lease| lease.relative).collect())
}
