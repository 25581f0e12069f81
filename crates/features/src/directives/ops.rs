//! The SQL of known directions.

use substrate_core::{Db, DbError, Timestamp};

use crate::retention::Expiring;

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

/// Directions that were told long ago.
pub(super) const TOLD: Expiring =
    Expiring { table: "directives_told", key: "scope, actor, path", when: "at_ms < $1" };
