//! Who is there and how to reach them.
//!
//! A session is active while it waits for mail or was heard of within five minutes, idle within half an hour, and else
//! offline.

use substrate_core::{Db, DbError, Timestamp, World};

use super::book::{self, MAIN};
use super::processes;

const ACTIVE_MS: i64 = 5 * 60_000;

/// A session that stays silent this long is offline.
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

/// A session, and whether its client is there.
#[derive(Clone, Debug)]
pub(super) struct SessionPresence {
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
    /// Its client's process is known and runs, however long it has been silent.
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
) -> Result<Vec<SessionPresence>, DbError> {
    sessions(db, world, now, "s.project = $1", project.into())
}

/// The newest sessions of an agent, at most 500.
pub(super) fn of_agent(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<Vec<SessionPresence>, DbError> {
    sessions(db, world, now, "s.agent = $1", agent.into())
}

/// The newest sessions that have not ended, at most 500.
pub(super) fn open(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<SessionPresence>, DbError> {
    sessions(db, world, now, "s.ended_ms is null and s.last_ms >= $1", 0_i64.into())
}

/// The newest sessions of all agents, at most 500.
pub(super) fn all(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<SessionPresence>, DbError> {
    sessions(db, world, now, "s.last_ms >= $1", 0_i64.into())
}

fn sessions(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    condition: &'static str,
    param: substrate_core::Param<'_>,
) -> Result<Vec<SessionPresence>, DbError> {
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
        Ok(SessionPresence {
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
        // It may still be open in a second terminal.
        if let Some(process) = processes::living(db, world, &one.session, None)? {
            one.process = process;
            one.is_running = true;
            one.status = status(now, one.last, false, one.is_waiting, false);
        }
    }
    Ok(out)
}

/// A client's process, identified by pid and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Option<i64>,
    pub(crate) began: Option<i64>,
}

impl Process {
    /// The process is not known.
    pub(super) const UNKNOWN: Self = Self { pid: None, began: None };

    pub(crate) const fn is_known(self) -> bool {
        self.pid.is_some() && self.began.is_some()
    }

    /// The process that has this pid now.
    pub(super) fn now(world: &dyn World, pid: Option<u32>) -> Self {
        Self { pid: pid.map(i64::from), began: pid.and_then(|pid| world.process_began(pid)) }
    }

    /// It is known and has ended. An unknown process is never gone.
    pub(super) fn is_gone(self, world: &dyn World) -> bool {
        self.is_known() && !self.is_there(world)
    }

    /// It is known and runs, and its pid was not recycled.
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

/// How an agent can be reached right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A person, who reads mail when it suits.
    Person,
    /// A waiter runs beside its session and delivers at once.
    Waiting,
    /// In the middle of a turn.
    Working,
    /// There, but its turn has ended and no waiter runs.
    Stopped,
    Offline,
}

impl Reach {
    /// What a sender is told. An urgent message interrupts a turn.
    pub(crate) const fn words(self, is_urgent: bool) -> &'static str {
        match self {
            Self::Person => "reads with `substrate inbox`",
            Self::Waiting => "waiting: it is told now",
            Self::Working if is_urgent => "working: after its next tool call",
            Self::Working => "working: when its turn ends",
            Self::Stopped => "idle: at its next prompt",
            Self::Offline => "offline: at its next start",
        }
    }
}

pub(crate) fn reach(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<Reach, DbError> {
    if agent == book::USER {
        return Ok(Reach::Person);
    }
    let sessions = of_agent(db, world, now, agent)?;
    let there = || sessions.iter().filter(|one| one.status != Status::Offline);
    Ok(if there().any(|one| one.is_waiting) {
        Reach::Waiting
    } else if there().any(|one| !one.has_stopped) {
        Reach::Working
    } else if there().next().is_some() {
        Reach::Stopped
    } else {
        Reach::Offline
    })
}

/// One actor of one session, and whether it is there.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) agent: i64,
    pub(crate) name: String,
    /// The subagent's own name; empty for the main thread.
    pub(crate) sub: String,
    pub(crate) session: String,
    pub(crate) actor: String,
    pub(crate) project: String,
    /// The folder and the client that it ran in.
    pub(crate) cwd: String,
    pub(crate) client: String,
    pub(crate) last: Timestamp,
    /// Its turn has ended.
    pub(crate) has_stopped: bool,
    /// The client reported the end of the session.
    pub(crate) has_ended: bool,
    /// It can be reached at once.
    pub(crate) is_waiting: bool,
    /// Its client runs, or was heard of lately if its process is not known.
    pub(crate) is_there: bool,
}

/// The newest sessions, at most 500, each with its subagents.
pub(crate) fn roster(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<Seat>, DbError> {
    let sessions = all(db, world, now)?;
    seats(db, sessions)
}

/// The same of one agent: what is there, or else its last session.
pub(crate) fn seats_of(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<Vec<Seat>, DbError> {
    let mut sessions = of_agent(db, world, now, agent)?;
    let is_there = |one: &SessionPresence| one.is_running || one.status != Status::Offline;
    match sessions.iter().any(is_there) {
        true => sessions.retain(is_there),
        false => sessions.truncate(1),
    }
    seats(db, sessions)
}

fn seats(db: &mut dyn Db, sessions: Vec<SessionPresence>) -> Result<Vec<Seat>, DbError> {
    let mut out = Vec::new();
    for one in sessions {
        let main = Seat {
            agent: one.agent,
            name: one.name,
            sub: String::new(),
            session: one.session,
            actor: MAIN.to_owned(),
            project: one.project,
            cwd: one.cwd,
            client: one.client,
            last: one.last,
            has_stopped: one.has_stopped,
            has_ended: one.has_ended,
            is_waiting: one.is_waiting,
            is_there: one.is_running || one.status != Status::Offline,
        };
        let subs = if main.is_there { subagents(db, &main)? } else { Vec::new() };
        out.push(main);
        out.extend(subs);
    }
    Ok(out)
}

fn subagents(db: &mut dyn Db, main: &Seat) -> Result<Vec<Seat>, DbError> {
    db.rows(
        "select actor, name, last_ms from agent_actors
         where session = $1 and ended_ms is null order by started_ms limit 200",
        &[main.session.as_str().into()],
        |row| {
            Ok(Seat {
                actor: row.text(0)?,
                sub: row.text(1)?,
                last: Timestamp(row.int(2)?),
                has_stopped: false,
                is_waiting: false,
                ..main.clone()
            })
        },
    )
}
