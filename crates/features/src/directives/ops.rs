//! The SQL of known directions.

use substrate_core::{Db, DbError, Migration, Timestamp};

use crate::retention::Expiring;

/// Known directions: told to an actor of an effort (or of a session without one), or loaded by the client.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "directions that were told or loaded",
    sql: "create table directives_told (
            scope text not null,
            actor text not null,
            path text not null,
            at_ms bigint not null,
            primary key (scope, actor, path)
          );
          create index directives_told_at on directives_told (at_ms);",
}];

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
