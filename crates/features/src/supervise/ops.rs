//! The SQL of supervisors.

use substrate_core::{Db, DbError, Row, SafeId, Timestamp, World};

/// A process: its number, and when it began. `None` if it was gone when it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) began: Option<i64>,
}

impl Process {
    pub(super) fn now(world: &dyn World, pid: u32) -> Self {
        Self { pid, began: world.process_began(pid) }
    }

    /// It is there, and no other that was given its number.
    pub(super) fn is_there(self, world: &dyn World) -> bool {
        self.began.is_some() && world.process_began(self.pid) == self.began
    }
}

/// A supervisor and the client that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Supervisor {
    pub(super) token: String,
    pub(super) own: Process,
    pub(super) child: Process,
    pub(super) n_restarts: i64,
    pub(super) since: Timestamp,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// Since when it shall start its child anew, and why.
    pub(super) wanted: Option<(Timestamp, String)>,
}

impl Supervisor {
    pub(super) fn is_there(&self, world: &dyn World) -> bool {
        self.own.is_there(world) && self.child.is_there(world)
    }

    /// What the supervisor waits for.
    pub(super) fn wake_key(&self) -> String {
        wake_key(&self.token)
    }
}

pub(super) fn wake_key(token: &str) -> String {
    format!("run {token}")
}

/// Notes a supervisor's new child; what was wanted of the one before is over.
pub(super) fn note(
    db: &mut dyn Db,
    token: &SafeId,
    (own, child): (Process, Process),
    n_restarts: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into supervisors
           (token, pid, began, child, child_began, n_restarts, since_ms, session, agent, wanted_ms, why)
         values ($1, $2, $3, $4, $5, $6, $7, null, null, null, null)
         on conflict (token) do update set pid = excluded.pid, began = excluded.began,
           child = excluded.child, child_began = excluded.child_began,
           n_restarts = excluded.n_restarts, since_ms = excluded.since_ms,
           session = null, agent = null, wanted_ms = null, why = null",
        &[
            token.as_str().into(),
            i64::from(own.pid).into(),
            own.began.into(),
            i64::from(child.pid).into(),
            child.began.into(),
            n_restarts.into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// Which session runs in the child.
pub(super) fn heard_of(
    db: &mut dyn Db,
    token: &str,
    session: &SafeId,
    agent: Option<&str>,
) -> Result<(), DbError> {
    db.execute(
        "update supervisors set session = $2, agent = $3 where token = $1",
        &[token.into(), session.as_str().into(), agent.into()],
    )?;
    Ok(())
}

pub(super) fn want(db: &mut dyn Db, token: &str, why: &str, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update supervisors set wanted_ms = $2, why = $3 where token = $1",
        &[token.into(), now.0.into(), why.into()],
    )?;
    Ok(())
}

pub(super) const OF_CHILD: &str =
    "select token, pid, began, child, child_began, n_restarts, since_ms, session, agent, wanted_ms, why
     from supervisors where child = $1";

/// The supervisor of that very process, if both are there.
pub(super) fn of_child(
    db: &mut dyn Db,
    world: &dyn World,
    child: u32,
) -> Result<Option<Supervisor>, DbError> {
    let found = db.rows(OF_CHILD, &[i64::from(child).into()], read)?;
    Ok(found.into_iter().find(|one| one.is_there(world)))
}

pub(super) fn one(db: &mut dyn Db, token: &SafeId) -> Result<Option<Supervisor>, DbError> {
    db.first(
        "select token, pid, began, child, child_began, n_restarts, since_ms, session, agent, wanted_ms, why
         from supervisors where token = $1",
        &[token.as_str().into()],
        read,
    )
}

/// The newest ones.
pub(super) fn all(db: &mut dyn Db, limit: i64) -> Result<Vec<Supervisor>, DbError> {
    db.rows(
        "select token, pid, began, child, child_began, n_restarts, since_ms, session, agent, wanted_ms, why
         from supervisors order by since_ms desc, token limit $1",
        &[limit.into()],
        read,
    )
}

pub(super) fn forget(db: &mut dyn Db, token: &str) -> Result<(), DbError> {
    db.execute("delete from supervisors where token = $1", &[token.into()])?;
    Ok(())
}

fn read(row: &dyn Row) -> Result<Supervisor, DbError> {
    let process = |pid: i64, began| Process { pid: u32::try_from(pid).unwrap_or(0), began };
    let wanted = row.opt_int(9)?.map(Timestamp);
    Ok(Supervisor {
        token: row.text(0)?,
        own: process(row.int(1)?, row.opt_int(2)?),
        child: process(row.int(3)?, row.opt_int(4)?),
        n_restarts: row.int(5)?,
        since: Timestamp(row.int(6)?),
        session: row.opt_text(7)?,
        agent: row.opt_text(8)?,
        wanted: wanted.zip(row.opt_text(10)?),
    })
}
