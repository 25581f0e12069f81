//! The address book: what other features may ask about agents.
//!
//! This is the one face of identity; its other modules are its own business.

use substrate_core::{Db, DbError, World};

use super::{near, presence};

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

/// The agents that have worked in that project and are not offline, but for `except`.
pub(crate) fn reachable_in(
    db: &mut dyn Db,
    world: &dyn World,
    now: substrate_core::Timestamp,
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
