//! The SQL of sessions.

use substrate_core::{Db, DbError, Memorable, Row, SafeId, Timestamp, World};

use super::presence::{self, Process, SessionPresence, Status};
use super::processes;

/// What every event needs to know about its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownSession {
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) last: Timestamp,
    pub(super) has_stopped: bool,
    pub(super) has_ended: bool,
    pub(super) pid: Option<i64>,
    /// When its latest turn began, if that was seen.
    pub(super) turn: Option<Timestamp>,
}

const SESSION: Memorable =
    Memorable { name: "identity session", tables: &["agent_sessions", "agents"] };

pub(super) fn session(db: &mut dyn Db, session: &SafeId) -> Result<Option<KnownSession>, DbError> {
    let known = db.remembered(SESSION, [session.as_str(), ""], |db| read_session(db, session))?;
    Ok((*known).clone())
}

fn read_session(db: &mut dyn Db, session: &SafeId) -> Result<Option<KnownSession>, DbError> {
    db.first(
        "select s.agent, a.name, s.last_ms, s.stopped_ms, s.ended_ms, s.client_pid, s.turn_ms
         from agent_sessions s join agents a on a.id = s.agent where s.session = $1",
        &[session.as_str().into()],
        |row| {
            Ok(KnownSession {
                agent: row.int(0)?,
                name: row.text(1)?,
                last: Timestamp(row.int(2)?),
                has_stopped: row.opt_int(3)?.is_some(),
                has_ended: row.opt_int(4)?.is_some(),
                pid: row.opt_int(5)?,
                turn: row.opt_int(6)?.map(Timestamp),
            })
        },
    )
}

/// A session that is about to be added.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewSession<'a> {
    pub(super) session: &'a SafeId,
    pub(super) client: &'a str,
    pub(super) project: &'a str,
    pub(super) cwd: &'a str,
    pub(super) process: Process,
    pub(super) attended: Option<bool>,
}

pub(super) fn add_session(
    db: &mut dyn Db,
    new: &NewSession<'_>,
    agent: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into agent_sessions (session, agent, client, project, cwd, client_pid, client_began, attended,
           started_ms, last_ms) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)",
        &[
            new.session.as_str().into(),
            agent.into(),
            new.client.into(),
            new.project.into(),
            new.cwd.into(),
            new.process.pid.into(),
            new.process.began.into(),
            new.attended.map(i64::from).into(),
            now.0.into(),
        ],
    )?;
    processes::note(db, new.session, new.process, now)
}

/// Notes a sign of life of the session.
pub(super) fn renew(db: &mut dyn Db, session: &SafeId, now: Timestamp) -> Result<(), DbError> {
    let params = [session.as_str().into(), now.0.into()];
    db.execute("update agent_sessions set last_ms = $2 where session = $1", &params)?;
    Ok(())
}

/// Notes where the session runs now. Unknown values keep the old ones.
pub(super) fn moved(db: &mut dyn Db, new: &NewSession<'_>, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update agent_sessions set client_pid = $2, client_began = $3,
           cwd = case when $4 = '' then cwd else $4 end,
           project = case when $5 = '' then project else $5 end,
           attended = coalesce($6, attended) where session = $1",
        &[
            new.session.as_str().into(),
            new.process.pid.into(),
            new.process.began.into(),
            new.cwd.into(),
            new.project.into(),
            new.attended.map(i64::from).into(),
        ],
    )?;
    processes::note(db, new.session, new.process, now)
}

/// Moves the session to another process.
pub(super) fn moved_to(db: &mut dyn Db, session: &SafeId, process: Process) -> Result<(), DbError> {
    db.execute(
        "update agent_sessions set client_pid = $2, client_began = $3 where session = $1",
        &[session.as_str().into(), process.pid.into(), process.began.into()],
    )?;
    Ok(())
}

/// Gives the session another agent.
pub(super) fn set_agent(db: &mut dyn Db, session: &SafeId, agent: i64) -> Result<(), DbError> {
    db.execute(
        "update agent_sessions set agent = $2 where session = $1",
        &[session.as_str().into(), agent.into()],
    )?;
    Ok(())
}

/// Ends the main thread's turn.
pub(super) fn set_stopped(db: &mut dyn Db, session: &SafeId, at: Timestamp) -> Result<(), DbError> {
    let params = [session.as_str().into(), at.0.into()];
    db.execute("update agent_sessions set stopped_ms = $2 where session = $1", &params)?;
    Ok(())
}

/// Begins a turn of the main thread.
pub(super) fn begin_turn(db: &mut dyn Db, session: &SafeId, now: Timestamp) -> Result<(), DbError> {
    let params = [session.as_str().into(), now.0.into()];
    db.execute(
        "update agent_sessions set stopped_ms = null, turn_ms = $2 where session = $1",
        &params,
    )?;
    Ok(())
}

/// Ends the session with a reason, or revokes its end (`None`).
pub(super) fn set_ended(
    db: &mut dyn Db,
    session: &SafeId,
    ended: Option<(Timestamp, &str)>,
) -> Result<(), DbError> {
    let (at, why) = (ended.map(|(at, _)| at.0), ended.map(|(_, why)| why));
    db.execute(
        "update agent_sessions set ended_ms = $2, ended_why = $3 where session = $1",
        &[session.as_str().into(), at.into(), why.into()],
    )?;
    Ok(())
}

/// The newest other session of a client's process.
pub(super) struct PriorSession {
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) began: Option<i64>,
    pub(super) ended: Option<Timestamp>,
    pub(super) why: Option<String>,
}

pub(super) fn sibling(
    db: &mut dyn Db,
    client: &str,
    pid: i64,
) -> Result<Option<PriorSession>, DbError> {
    db.first(
        "select s.agent, a.name, s.client_began, s.ended_ms, s.ended_why
         from agent_sessions s join agents a on a.id = s.agent
         where s.client_pid = $1 and s.client = $2 order by s.last_ms desc, s.started_ms desc limit 1",
        &[pid.into(), client.into()],
        |row| {
            Ok(PriorSession {
                agent: row.int(0)?,
                name: row.text(1)?,
                began: row.opt_int(2)?,
                ended: row.opt_int(3)?.map(Timestamp),
                why: row.opt_text(4)?,
            })
        },
    )
}

/// Whether the agent is live in another session.
pub(super) fn is_live_elsewhere(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
    except: Option<&SafeId>,
    process: Process,
) -> Result<bool, DbError> {
    let sessions = presence::of_agent(db, world, now, agent)?;
    // An earlier session of the same process is not another one.
    let is_same = |one: &SessionPresence| process.pid.is_some() && one.process == process;
    let is_other = |one: &SessionPresence| {
        except.is_none_or(|session| session.as_str() != one.session) && !is_same(one)
    };
    Ok(sessions
        .iter()
        .any(|one| is_other(one) && (one.status != Status::Offline || one.is_running)))
}

/// The content of an identity file.
pub(super) struct IdentityFile {
    pub(super) session: String,
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) project: String,
    pub(super) client: String,
    pub(super) started: Timestamp,
}

pub(super) fn kept(db: &mut dyn Db, session: &SafeId) -> Result<Option<IdentityFile>, DbError> {
    db.first(
        "select s.session, s.agent, a.name, s.project, s.client, s.started_ms
         from agent_sessions s join agents a on a.id = s.agent where s.session = $1",
        &[session.as_str().into()],
        one_kept,
    )
}

/// The files of all sessions of an agent, newest first.
pub(super) fn kept_of_agent(db: &mut dyn Db, agent: i64) -> Result<Vec<IdentityFile>, DbError> {
    db.rows(
        "select s.session, s.agent, a.name, s.project, s.client, s.started_ms
         from agent_sessions s join agents a on a.id = s.agent where s.agent = $1 order by s.last_ms desc",
        &[agent.into()],
        one_kept,
    )
}

fn one_kept(row: &dyn Row) -> Result<IdentityFile, DbError> {
    Ok(IdentityFile {
        session: row.text(0)?,
        agent: row.int(1)?,
        name: row.text(2)?,
        project: row.text(3)?,
        client: row.text(4)?,
        started: Timestamp(row.int(5)?),
    })
}

/// Sessions not heard of since `before`, oldest first, each with the process it ran in.
pub(super) fn silent_since(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(String, Process)>, DbError> {
    db.rows(
        "select session, client_pid, client_began from agent_sessions
         where last_ms < $1 and (ended_ms is null or ended_ms < $1) order by last_ms limit $2",
        &[before.0.into(), limit.into()],
        |row| Ok((row.text(0)?, Process { pid: row.opt_int(1)?, began: row.opt_int(2)? })),
    )
}

/// Forgets a session with its subagents and shell calls.
pub(super) fn forget(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute("delete from shell_calls where session = $1", &[session.into()])?;
    db.execute("delete from agent_actors where session = $1", &[session.into()])?;
    db.execute("delete from agent_sessions where session = $1", &[session.into()])?;
    Ok(())
}

pub(super) fn projects(db: &mut dyn Db, max: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select project from agent_sessions where project <> '' group by project
         order by max(last_ms) desc limit $1",
        &[max.into()],
        |row| row.text(0),
    )
}
