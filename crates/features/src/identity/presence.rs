//! Who is there: active within five minutes or waiting, idle within half an hour, else offline.

use substrate_core::{Db, DbError, Timestamp, World};

use super::processes;

const ACTIVE_MS: i64 = 5 * 60_000;

/// After so long without a sign somebody is offline.
pub(super) const IDLE_MS: i64 = 30 * 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Active,
    Idle,
    Offline,
}

impl Status {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Offline => "offline",
        }
    }
}

/// A session, and whether somebody is there.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) session: String,
    pub(super) project: String,
    pub(super) cwd: String,
    pub(super) client: String,
    pub(super) started: Timestamp,
    pub(super) last: Timestamp,
    pub(super) has_stopped: bool,
    pub(super) has_ended: bool,
    pub(super) is_waiting: bool,
    /// Its client's process is known, and there: it may be silent for long, but it is somebody.
    pub(super) is_running: bool,
    pub(super) process: Process,
    pub(super) status: Status,
}

/// The newest sessions of a project, at most 500.
pub(super) fn in_project(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    project: &str,
) -> Result<Vec<Present>, DbError> {
    sessions(db, world, now, "s.project = $1", project.into())
}

/// The newest sessions of an agent, at most 500.
pub(super) fn of_agent(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<Vec<Present>, DbError> {
    sessions(db, world, now, "s.agent = $1", agent.into())
}

/// The newest sessions that have not ended, at most 500.
pub(super) fn open(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<Present>, DbError> {
    sessions(db, world, now, "s.ended_ms is null and s.last_ms >= $1", 0_i64.into())
}

/// The newest sessions of all agents, at most 500.
pub(super) fn all(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<Present>, DbError> {
    sessions(db, world, now, "s.last_ms >= $1", 0_i64.into())
}

fn sessions(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    condition: &'static str,
    param: substrate_core::Param<'_>,
) -> Result<Vec<Present>, DbError> {
    let sql = format!(
        "select s.agent, a.name, s.session, s.project, s.cwd, s.started_ms, s.last_ms, s.stopped_ms,
           s.ended_ms, s.client_pid, s.client_began, s.client
         from agent_sessions s join agents a on a.id = s.agent
         where {condition} and a.deleted_ms is null order by s.last_ms desc limit 500"
    );
    let mut out = db.rows(&sql, &[param], |row| {
        let session = row.text(2)?;
        let last = Timestamp(row.int(6)?);
        let has_stopped = row.opt_int(7)?.is_some();
        let is_waiting = world.is_waiting(&session, has_stopped);
        let ended = row.opt_int(8)?.is_some();
        let process = Process { pid: row.opt_int(9)?, began: row.opt_int(10)? };
        Ok(Present {
            agent: row.int(0)?,
            name: row.text(1)?,
            project: row.text(3)?,
            cwd: row.text(4)?,
            client: row.text(11)?,
            started: Timestamp(row.int(5)?),
            last,
            has_stopped,
            has_ended: ended,
            is_waiting,
            is_running: !ended && process.is_there(world),
            process,
            status: status(now, last, ended, is_waiting, process.is_gone(world)),
            session,
        })
    })?;
    for one in out.iter_mut().filter(|one| !one.has_ended && one.process.is_gone(world)) {
        // It may be open in a second terminal, which was silent since.
        if let Some(process) = processes::living(db, world, &one.session, None)? {
            one.process = process;
            one.is_running = true;
            one.status = status(now, one.last, false, one.is_waiting, false);
        }
    }
    Ok(out)
}

/// The client's process as it was when the session was heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Option<i64>,
    pub(super) began: Option<i64>,
}

impl Process {
    /// Nobody says.
    pub(super) const UNKNOWN: Self = Self { pid: None, began: None };

    /// The process of that id as it is now.
    pub(super) fn now(world: &dyn World, pid: Option<u32>) -> Self {
        Self { pid: pid.map(i64::from), began: pid.and_then(|pid| world.process_began(pid)) }
    }

    /// Known, and no longer there. A process that was never known is not gone.
    pub(super) fn is_gone(self, world: &dyn World) -> bool {
        self.pid.is_some() && self.began.is_some() && !self.is_there(world)
    }

    /// Known, and there: the same one, not another that was given its number.
    pub(super) fn is_there(self, world: &dyn World) -> bool {
        let (Some(pid), Some(began)) = (self.pid, self.began) else { return false };
        u32::try_from(pid).ok().and_then(|pid| world.process_began(pid)) == Some(began)
    }
}

pub(super) fn status(
    now: Timestamp,
    last: Timestamp,
    ended: bool,
    is_waiting: bool,
    is_gone: bool,
) -> Status {
    let silent = now.since(last);
    if ended || is_gone {
        Status::Offline
    } else if is_waiting || silent <= ACTIVE_MS {
        Status::Active
    } else if silent <= IDLE_MS {
        Status::Idle
    } else {
        Status::Offline
    }
}
