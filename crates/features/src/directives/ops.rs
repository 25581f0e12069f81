//! The SQL of directions that are known.

use substrate_core::{Db, DbError, Timestamp};

pub(super) const KNOWN: &str =
    "select path from directives_told where scope = $1 and actor = $2 limit 2000";

pub(super) fn known(db: &mut dyn Db, scope: &str, actor: &str) -> Result<Vec<String>, DbError> {
    db.rows(KNOWN, &[scope.into(), actor.into()], |row| row.text(0))
}

pub(super) fn learnt(
    db: &mut dyn Db,
    scope: &str,
    actor: &str,
    path: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into directives_told (scope, actor, path, at_ms) values ($1, $2, $3, $4)
         on conflict (scope, actor, path) do nothing",
        &[scope.into(), actor.into(), path.into(), now.0.into()],
    )?;
    Ok(())
}

/// Forgets what was told before then, at most `limit`. How many.
pub(super) fn forget_older(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    db.execute(
        "delete from directives_told where (scope, actor, path) in
           (select scope, actor, path from directives_told where at_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}
