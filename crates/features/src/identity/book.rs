//! The address book: what other features may ask about agents.
//!
//! This is the one face of identity; its other modules are its own business.

use substrate_core::{Db, DbError, Timestamp, Who, World};

use super::{near, presence, processes};

/// The person at the keyboard.
pub(crate) const USER: i64 = 1;

/// The sender of what Substrate itself has to say.
pub(crate) const SUBSTRATE: i64 = 2;

/// Where mail can be sent: an agent, or one of its subagents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) agent: i64,
    pub(crate) name: String,
    /// The subagent's own name; empty for the agent itself.
    pub(crate) sub: String,
}

impl Address {
    /// As it is typed: `NobleLion`, `NobleLion/reviewer-1`.
    pub(crate) fn text(&self) -> String {
        if self.sub.is_empty() { self.name.clone() } else { format!("{}/{}", self.name, self.sub) }
    }
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Found(Address),
    /// A subagent that has ended: its mail would reach nobody. Its agent is still there.
    Ended(Address),
    /// Nobody; these names are near.
    Unknown {
        nearest: Vec<String>,
    },
}

/// Looks a name up, in any case: `NobleLion`, `noblelion`, `NobleLion/reviewer-1`.
pub(crate) fn find(db: &mut dyn Db, text: &str) -> Result<Lookup, DbError> {
    let (name, sub) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
    let Some((agent, name)) = agent(db, name)? else {
        return Ok(Lookup::Unknown { nearest: near::names(db, text)? });
    };
    if sub.is_empty() {
        return Ok(Lookup::Found(Address { agent, name, sub: String::new() }));
    }
    let found = db.first(
        "select name, ended_ms from agent_actors where agent = $1 and lower(name) = $2",
        &[agent.into(), sub.to_lowercase().as_str().into()],
        |row| Ok((row.text(0)?, row.opt_int(1)?)),
    )?;
    Ok(match found {
        Some((sub, None)) => Lookup::Found(Address { agent, name, sub }),
        Some((sub, Some(_))) => Lookup::Ended(Address { agent, name, sub }),
        None => Lookup::Unknown { nearest: near::subagents(db, agent, &name)? },
    })
}

/// The agent of that name, in any case, and how the name is written.
pub(crate) fn agent(db: &mut dyn Db, name: &str) -> Result<Option<(i64, String)>, DbError> {
    db.first(
        "select id, name from agents where name_key = $1 and deleted_ms is null",
        &[name.to_lowercase().as_str().into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )
}

/// The name of an agent, also of one that was deleted.
pub(crate) fn name_of(db: &mut dyn Db, agent: i64) -> Result<String, DbError> {
    let name =
        db.first("select name from agents where id = $1", &[agent.into()], |row| row.text(0))?;
    Ok(name.unwrap_or_else(|| format!("agent {agent}")))
}

/// The agent of a session, and its name.
pub(crate) fn of_session(db: &mut dyn Db, session: &str) -> Result<Option<(i64, String)>, DbError> {
    db.first(
        "select a.id, a.name from agent_sessions s join agents a on a.id = s.agent where s.session = $1",
        &[session.into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )
}

/// The sessions of an agent, the latest first.
pub(crate) fn sessions_of(db: &mut dyn Db, agent: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select session from agent_sessions where agent = $1 order by last_ms desc limit 200",
        &[agent.into()],
        |row| row.text(0),
    )
}

/// The agents that have worked in that project and are not offline, but for `except`.
pub(crate) fn reachable_in(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    project: &str,
    except: i64,
) -> Result<Vec<Address>, DbError> {
    let found = presence::in_project(db, world, now, project)?;
    let mut out: Vec<Address> = Vec::new();
    for one in found {
        let is_new = one.agent != except && out.iter().all(|other| other.agent != one.agent);
        if is_new && one.status != presence::Status::Offline {
            out.push(Address { agent: one.agent, name: one.name, sub: String::new() });
        }
    }
    Ok(out)
}

/// The latest sign of life of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// When it was last heard of, at most a quarter of a minute too early. The main thread is heard of with any actor
    /// of its session.
    pub(crate) last: Timestamp,
    /// It has ended, or its client's process is gone.
    pub(crate) is_over: bool,
}

pub(crate) const PULSE: &str =
    "select s.last_ms, s.ended_ms, s.client_pid, s.client_began, a.last_ms, a.ended_ms
     from agent_sessions s left join agent_actors a on a.session = s.session and a.actor = $2
     where s.session = $1";

/// Whether an actor is there; `None` when nobody remembers it.
pub(crate) fn pulse(
    db: &mut dyn Db,
    world: &dyn World,
    session: &str,
    actor: &str,
) -> Result<Option<Pulse>, DbError> {
    let found = db.first(PULSE, &[session.into(), actor.into()], |row| {
        let process = presence::Process { pid: row.opt_int(2)?, began: row.opt_int(3)? };
        let last = if actor == MAIN { row.opt_int(0)? } else { row.opt_int(4)? };
        let has_ended = row.opt_int(1)?.is_some() || row.opt_int(5)?.is_some();
        let is_gone = !has_ended && process.is_gone(world);
        Ok(last.map(|last| (Pulse { last: Timestamp(last), is_over: has_ended }, is_gone)))
    })?;
    let Some((mut pulse, is_gone)) = found.flatten() else { return Ok(None) };
    if is_gone {
        pulse.is_over = processes::living(db, world, session, None)?.is_none();
    }
    Ok(Some(pulse))
}

/// When a subagent began; `None` for the main thread, and when nobody remembers it.
pub(crate) fn sub_began(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Timestamp>, DbError> {
    db.first(
        "select started_ms from agent_actors where session = $1 and actor = $2",
        &[session.into(), actor.into()],
        |row| Ok(Timestamp(row.int(0)?)),
    )
}

/// The main thread's name among the actors of a session.
pub(crate) const MAIN: &str = "main";

pub(crate) const PROCESS: &str =
    "select client_pid, client_began from agent_sessions where session = $1";

/// The process that a session's client runs in, where it is known: its number, and when it began.
pub(crate) fn process(db: &mut dyn Db, session: &str) -> Result<Option<(i64, i64)>, DbError> {
    let found =
        db.first(PROCESS, &[session.into()], |row| Ok(row.opt_int(0)?.zip(row.opt_int(1)?)))?;
    Ok(found.flatten())
}

/// The session and the actor that somebody acts as, if they have one: where only an agent is known, its newest session.
pub(crate) fn seat(db: &mut dyn Db, who: &Who) -> Result<Option<(String, String)>, DbError> {
    if !who.sub.is_empty() {
        return db.first(
            "select session, actor from agent_actors where agent = $1 and name = $2",
            &[who.agent.into(), who.sub.as_str().into()],
            |row| Ok((row.text(0)?, row.text(1)?)),
        );
    }
    if let Some(session) = &who.session {
        return Ok(Some((session.as_str().to_owned(), MAIN.to_owned())));
    }
    db.first(
        "select session from agent_sessions where agent = $1 and ended_ms is null
         order by last_ms desc limit 1",
        &[who.agent.into()],
        |row| Ok((row.text(0)?, MAIN.to_owned())),
    )
}
