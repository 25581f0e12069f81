//! Agents with durable names: who a session is, who is there, and who runs a command.
//!
//! Each session of a client is given an agent, such as NobleLion, with its first event. The agent keeps its name and
//! mail across compaction, `/clear`, resume and restart. Subagents get names of their own, such as NobleLion/reviewer-1.
//!
//! # Invariants
//!
//! * Two live sessions never share an agent. One that asks for a name in use gets a new agent.
//! * Processes decide who runs a command. Below a known client it is that client's agent or subagent, and flags can't
//!   make it another. Outside of all clients it is the user's.
//! * A process is known by pid and start time, so a recycled pid is never mistaken for it.
//! * The text of a shell command is never stored, only a checksum that recognises it.
//! * [`holder`] alone decides who owns leases, work and efforts, and whether the owner is still there.
//! * An event costs one point select (two for a subagent) and writes at most every 15 seconds.
//!
//! # Example
//!
//! You start a client. Its first event makes it NobleLion. In its shell, `substrate agent whoami` prints `NobleLion`; in
//! the shell of its reviewer subagent, `NobleLion/reviewer-1`. You type `/clear`: the new session is NobleLion again.
//! You copy its `--session-id` into another agent's shell: the command is refused.

mod actors;
pub(crate) mod book;
mod caller;
pub(crate) mod holder;
mod identify;
mod names;
mod ops;
pub(crate) mod presence;
mod processes;
mod record;
mod schema;
mod shells;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::{Db, DbError, Feature, Lineage, Standing, Verb};

/// Whether this is a valid name for an agent.
pub fn is_agent_name(name: &str) -> bool {
    names::is_valid(name)
}

/// Whether a process runs below a known client, for processes that don't ask the daemon.
pub fn standing(db: &mut dyn Db, lineage: &Lineage) -> Result<Standing, DbError> {
    let above = processes::above(db, lineage)?;
    above.map_or(Ok(Standing::User), |above| {
        Ok(Standing::Below(caller::own(db, &above)?.map(|who| who.name)))
    })
}

/// The projects of all sessions, latest first.
pub fn projects(db: &mut dyn Db, max: i64) -> Result<Vec<String>, DbError> {
    ops::projects(db, max)
}

pub(crate) const FEATURE: Feature = Feature {
    name: "identity",
    about: "Gives every session an agent with a durable name, and shows who is there.",
    migrations: schema::MIGRATIONS,
    identify: Some(identify::identify),
    consider: Some(record::consider),
    record: Some(record::record),
    is_news: Some(record::is_news),
    tick: Some(record::tick),
    verbs: &[
        Verb::of::<verbs::identity::Current>(),
        Verb::of::<verbs::identity::Ensure>(),
        Verb::of::<verbs::identity::Save>(),
        Verb::of::<verbs::identity::Restore>(),
        Verb::of::<verbs::identity::List>(),
        Verb::of::<verbs::identity::Rename>(),
        Verb::of::<verbs::agent::List>(),
        Verb::of::<verbs::agent::Show>(),
        Verb::of::<verbs::agent::Discover>(),
        Verb::of::<verbs::agent::Delete>(),
        Verb::of::<verbs::identity::Heartbeat>(),
    ],
    ..Feature::NOTHING
};
