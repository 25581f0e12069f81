//! The address book: what other features may ask about agents.
//!
//! Together with `holder` and `presence` this is the public face of identity. Its other modules are private.

use substrate_core::text::nearest;
use substrate_core::{Db, DbError, Timestamp, World};

use super::presence;

pub(crate) use super::holder::{pulse, seat};

/// The person at the keyboard.
pub(crate) const USER: i64 = 1;

/// Substrate itself, as the sender of its own messages.
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

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Found(Address),
    /// A subagent that has ended and can't read mail any more. Its agent still exists.
    Ended(Address),
    /// No agent has that name. These are similar.
    Unknown {
        nearest: Vec<String>,
    },
}

/// Looks a name up, ignoring case: `NobleLion`, `noblelion`, `NobleLion/reviewer-1`.
pub(crate) fn find(db: &mut dyn Db, text: &str) -> Result<Lookup, DbError> {
    let (name, sub) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
    let Some((agent, name)) = agent(db, name)? else {
        return Ok(Lookup::Unknown { nearest: nearest_agents(db, text)? });
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
        None => Lookup::Unknown { nearest: nearest_subagents(db, agent, &name)? },
    })
}

/// The agent of that name, ignoring case, and the name as it is written.
pub(crate) fn agent(db: &mut dyn Db, name: &str) -> Result<Option<(i64, String)>, DbError> {
    db.first(
        "select id, name from agents where name_key = $1 and deleted_ms is null",
        &[name.to_lowercase().as_str().into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )
}

/// The name of an agent, even if it was deleted.
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

/// The sessions of an agent, latest first.
pub(crate) fn sessions_of(db: &mut dyn Db, agent: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select session from agent_sessions where agent = $1 order by last_ms desc limit 200",
        &[agent.into()],
        |row| row.text(0),
    )
}

/// The project that an agent was in last; empty where it was in none.
pub(crate) fn project_of(db: &mut dyn Db, agent: i64) -> Result<String, DbError> {
    let found = db.first(
        "select project from agent_sessions where agent = $1 order by last_ms desc limit 1",
        &[agent.into()],
        |row| row.text(0),
    )?;
    Ok(found.unwrap_or_default())
}

/// The agents that work in that project and are not offline, except `except`.
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

/// The main thread's name among the actors of a session.
pub(crate) const MAIN: &str = "main";

/// The names most similar to an unknown name, among the newest agents.
fn nearest_agents(db: &mut dyn Db, text: &str) -> Result<Vec<String>, DbError> {
    let known = db.rows(
        "select name from agents where deleted_ms is null order by id desc limit 2000",
        &[],
        |row| row.text(0),
    )?;
    Ok(nearest(text, known.iter().map(String::as_str)).into_iter().map(str::to_owned).collect())
}

/// The subagents of an agent that can still read mail.
fn nearest_subagents(db: &mut dyn Db, agent: i64, name: &str) -> Result<Vec<String>, DbError> {
    db.rows(
        "select name from agent_actors where agent = $1 and ended_ms is null order by last_ms desc limit 3",
        &[agent.into()],
        |row| Ok(format!("{name}/{}", row.text(0)?)),
    )
}
