//! The SQL of which agents worked in a session.

use substrate_core::{Db, DbError, Migration, Row, SafeId, Timestamp};

use super::whereabouts::{COORDINATOR, EGO};
use crate::identity::book::MAIN;
use crate::retention::Expiring;

/// The table of the agents that worked in a session.
pub(super) const MIGRATIONS: &[Migration] = &[TABLE, UNHEARD];

const TABLE: Migration = Migration {
    about: "who worked in a session, since when, and whether its scratchpad was seen",
    sql: "create table scratchpad_actors (
            session text not null,
            actor text not null,
            folder text not null,
            root text not null,
            started_ms bigint not null,
            wrote bigint not null default 0,
            primary key (session, actor)
          );",
};

const UNHEARD: Migration = Migration {
    about: "why a subagent was let go without a look at its scratchpad, until the person is told",
    sql: "alter table scratchpad_actors add column unheard text not null default '';",
};

/// More types of subagents than any session has.
const MAX_KINDS: i64 = 64;

/// An agent that works in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    /// The folder of its scratchpads.
    pub(super) folder: String,
    /// The project; empty if unknown.
    pub(super) root: String,
    pub(super) started: Timestamp,
}

/// All subagents of one type in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delegates {
    pub(super) folder: String,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// The scratchpad of one of them was there when it ended.
    pub(super) wrote: bool,
    /// Why one of them ended unchecked, until the person is told.
    pub(super) unheard: String,
}

/// A subagent starts, perhaps again.
pub(super) fn begin(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    worker: &Worker,
) -> Result<(), DbError> {
    db.execute(
        "insert into scratchpad_actors (session, actor, folder, root, started_ms) values ($1, $2, $3, $4, $5)
         on conflict (session, actor) do update
         set folder = excluded.folder, root = excluded.root, started_ms = excluded.started_ms",
        &params(session, actor, worker),
    )?;
    Ok(())
}

/// The main thread starts. A resumed one keeps its first start.
pub(super) fn begin_main(
    db: &mut dyn Db,
    session: &SafeId,
    worker: &Worker,
) -> Result<(), DbError> {
    db.execute(
        "insert into scratchpad_actors (session, actor, folder, root, started_ms) values ($1, $2, $3, $4, $5)
         on conflict (session, actor) do nothing",
        &params(session, MAIN, worker),
    )?;
    Ok(())
}

fn params<'a>(
    session: &'a SafeId,
    actor: &'a str,
    worker: &'a Worker,
) -> [substrate_core::Param<'a>; 5] {
    [
        session.as_str().into(),
        actor.into(),
        worker.folder.as_str().into(),
        worker.root.as_str().into(),
        worker.started.0.into(),
    ]
}

pub(super) fn worker(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Worker>, DbError> {
    db.first(
        "select folder, root, started_ms from scratchpad_actors where session = $1 and actor = $2",
        &[session.into(), actor.into()],
        |row: &dyn Row| {
            Ok(Worker { folder: row.text(0)?, root: row.text(1)?, started: Timestamp(row.int(2)?) })
        },
    )
}

/// The actor's scratchpad was there.
pub(super) fn wrote(db: &mut dyn Db, session: &SafeId, actor: &str) -> Result<(), DbError> {
    db.execute(
        "update scratchpad_actors set wrote = 1 where session = $1 and actor = $2 and wrote = 0",
        &[session.as_str().into(), actor.into()],
    )?;
    Ok(())
}

/// The actor ended without its scratchpad being checked, for this reason.
pub(super) fn note_unheard(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    why: &str,
) -> Result<(), DbError> {
    db.execute(
        "update scratchpad_actors set unheard = $3 where session = $1 and actor = $2 and unheard <> $3",
        &[session.as_str().into(), actor.into(), why.into()],
    )?;
    Ok(())
}

/// The person was told.
pub(super) fn heard(db: &mut dyn Db, session: &SafeId) -> Result<(), DbError> {
    db.execute(
        "update scratchpad_actors set unheard = '' where session = $1 and unheard <> ''",
        &[session.as_str().into()],
    )?;
    Ok(())
}

/// When the latest subagent began that writes into this folder of the project.
pub(super) fn latest_start(
    db: &mut dyn Db,
    root: &str,
    folder: &str,
) -> Result<Option<Timestamp>, DbError> {
    let latest = db.first(
        "select started_ms from scratchpad_actors where folder = $1 and root = $2
         order by started_ms desc limit 1",
        &[folder.into(), root.into()],
        |row| row.int(0),
    )?;
    Ok(latest.map(Timestamp))
}

/// The subagents a session has delegated to. The coordinator and the ego don't count.
pub(super) fn delegates(db: &mut dyn Db, session: &SafeId) -> Result<Vec<Delegates>, DbError> {
    let mut all = db.rows(
        "select folder, min(started_ms), max(started_ms), max(wrote), max(unheard) from scratchpad_actors
         where session = $1 and actor <> $2 group by folder limit $3",
        &[session.as_str().into(), MAIN.into(), MAX_KINDS.into()],
        |row| {
            Ok(Delegates {
                folder: row.text(0)?,
                first: Timestamp(row.int(1)?),
                last: Timestamp(row.int(2)?),
                wrote: row.int(3)? != 0,
                unheard: row.text(4)?,
            })
        },
    )?;
    let is_own =
        |folder: &str| [COORDINATOR, EGO].iter().any(|own| folder.eq_ignore_ascii_case(own));
    all.retain(|kind| !is_own(&kind.folder));
    Ok(all)
}

/// An actor of a session that has, or had, a scratchpad to write.
#[derive(Clone, Debug)]
pub(super) struct Author {
    pub(super) actor: String,
    pub(super) folder: String,
    pub(super) started: Timestamp,
    pub(super) wrote: bool,
    pub(super) unheard: String,
}

/// The latest of a session.
pub(super) fn of_session(
    db: &mut dyn Db,
    session: &str,
    limit: i64,
) -> Result<Vec<Author>, DbError> {
    db.rows(
        "select actor, folder, started_ms, wrote, unheard from scratchpad_actors where session = $1
         order by started_ms desc limit $2",
        &[session.into(), limit.into()],
        |row| {
            Ok(Author {
                actor: row.text(0)?,
                folder: row.text(1)?,
                started: Timestamp(row.int(2)?),
                wrote: row.int(3)? != 0,
                unheard: row.text(4)?,
            })
        },
    )
}

/// Agents that started long ago.
pub(super) const WORKERS: Expiring =
    Expiring { table: "scratchpad_actors", key: "session, actor", when: "started_ms < $1" };
