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

pub(crate) const N_HELD: &str =
    "select count(*) from leases where session = $1 and actor = $2 and confirmed_ms is not null";

/// How many files an actor holds.
pub(crate) fn n_held(db: &mut dyn Db, session: &str, actor: &str) -> Result<i64, DbError> {
    let found = db.first(N_HELD, &[session.into(), actor.into()], |row| row.int(0))?;
    Ok(found.unwrap_or(0))
}
