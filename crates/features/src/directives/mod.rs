//! Directions that lie beside the files an agent touches.
//!
//! When an actor reads or edits a file, it is told what `AGENTS.md`, the client's own file and `.directives/*.md` say, in the file's
//! folder and in those above. Files that the client loads itself are left out.
//!
//! # Invariants
//!
//! * An actor is told each file once per effort, or once per session without an effort.
//! * A file that the actor has just read or written itself is not told.
//! * Directions follow a touched file. A search, which only names folders, brings none.
//! * A subagent begins with the directions that its effort has met.
//! * Text is quoted line by line, without secrets, and bounded. The agent reads the rest itself.
//!
//! # Example
//!
//! After a read of `src/api/login.rs`:
//!
//! ```text
//! Directions of the project for `src/api/login.rs` and the files beside it:
//! From `/repo/src/api/AGENTS.md`:
//! > Every handler checks the session first.
//! ```

mod policy;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Db, DbError, Feature, Migration, Timestamp};

use crate::retention::Expiring;

/// The scope under which an effort's directions are noted.
fn scope(effort: i64) -> String {
    format!("effort {effort}")
}

const NAME: &str = "directives";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Tells an agent the directions beside the files it touches, once",
    migrations: MIGRATIONS,
    keys: &[Key {
        name: "directives.on",
        kind: Kind::Bool,
        default: "false",
        about: "Tell an agent that reads or edits a file what `AGENTS.md` and `.directives/*.md` in its folder and above say: once, and only what the client does not load itself.",
        project: ProjectMay::TurnOn,
        profiles: &[("engine", "true")],
    }],
    gather: Some(policy::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    tick: Some(policy::tick),
    ..Feature::NOTHING
};

/// Known directions: told to an actor of an effort (or of a session without one), or loaded by the client.
const MIGRATIONS: &[Migration] = &[Migration {
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

const KNOWN: &str = "select path from directives_told where scope = $1 and actor = $2 limit 2000";

fn known(db: &mut dyn Db, scope: &str, actor: &str) -> Result<Vec<String>, DbError> {
    db.rows(KNOWN, &[scope.into(), actor.into()], |row| row.text(0))
}

fn learnt(
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
const TOLD: Expiring =
    Expiring { table: "directives_told", key: "scope, actor, path", when: "at_ms < $1" };

/// What other features may ask about directions.
pub(crate) mod face {
    use substrate_core::{Db, DbError};

    use crate::identity::book::MAIN;

    /// The directions that an effort's main thread was told, in any session.
    pub(crate) fn told(db: &mut dyn Db, effort: i64) -> Result<Vec<String>, DbError> {
        super::known(db, &super::scope(effort), MAIN)
    }
}
