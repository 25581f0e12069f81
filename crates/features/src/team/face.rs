//! What other features may ask about the team.

use substrate_core::time::Ago;
use substrate_core::{Cx, Db, DbError, Timestamp};

use super::{ops, words};
use crate::identity::book::{self, Address};

/// A machine that was silent for this long is away: its link says something every 15 seconds.
pub(super) const AWAY_MS: i64 = 90_000;

/// The link of this machine to its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub machine: String,
    /// What this machine is called in the team.
    pub name: String,
    pub hub: String,
    pub is_up: bool,
    /// Since when it has been up, or away.
    pub since: Timestamp,
    /// Why the hub is away.
    pub why: String,
}

/// A machine of the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TeamMachine {
    pub(crate) machine: String,
    pub(crate) name: String,
    pub(crate) person: String,
    /// What messages to it are sealed for.
    pub(crate) seal: String,
    /// How long the hub had not heard from it, when the hub said so.
    pub(crate) silent_ms: i64,
    pub(crate) seen: Timestamp,
}

impl TeamMachine {
    /// How long it has been silent, as far as is known.
    pub(crate) fn silent(&self, now: Timestamp) -> i64 {
        (self.silent_ms + now.since(self.seen)).max(0)
    }
}

/// An agent of another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FarAgent {
    pub(crate) machine: String,
    pub(crate) machine_name: String,
    pub(crate) name: String,
    pub(crate) project: String,
    pub(crate) status: String,
    pub(crate) since: Timestamp,
}

impl FarAgent {
    /// As mail is addressed.
    pub(crate) fn address(&self) -> String {
        format!("{}@{}", self.name, self.machine_name)
    }
}

/// What a machine is called. One that we never heard of is called by its id.
pub(crate) fn machine_name(db: &mut dyn Db, id: &str) -> Result<String, DbError> {
    Ok(match ops::machine_of(db, id)? {
        Some(machine) => machine.name,
        None => words::machine_name("", id),
    })
}

/// The result of looking for a name on the other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FarLookup {
    Found(Address),
    /// These have it.
    Several(Vec<String>),
    NoMachine(String),
    Unknown,
}

/// Looks a name up on the other machines: `NobleLion@laptop` always, `NobleLion` where it is unique, and a member's own
/// name, which means them at the machine that was heard from last.
pub(crate) fn address(cx: &mut Cx<'_>, text: &str) -> Result<FarLookup, DbError> {
    let Some(link) = ops::link(cx.db)? else { return Ok(FarLookup::Unknown) };
    // `NobleLion@laptop/reviewer-1` and `NobleLion/reviewer-1@laptop` are the same.
    let (rest, at) = text.trim().split_once('@').unwrap_or((text.trim(), ""));
    let (name, sub) = rest.split_once('/').unwrap_or((rest, ""));
    let (at, sub) = at.split_once('/').unwrap_or((at, sub));
    if !at.is_empty() {
        return match ops::machine_named(cx.db, at)? {
            Some(machine) if machine.machine == link.machine => Ok(FarLookup::Unknown),
            Some(machine) => found(cx, (&machine.machine, &machine.name), name, sub),
            None => Ok(FarLookup::NoMachine(at.to_owned())),
        };
    }
    match ops::agents_named(cx.db, name)?.as_slice() {
        [one] => return found(cx, (&one.machine, &one.machine_name), &one.name, sub),
        [] => {}
        several => {
            return Ok(FarLookup::Several(several.iter().map(FarAgent::address).collect()));
        }
    }
    let is_theirs = |machine: &&TeamMachine| {
        machine.machine != link.machine && machine.person.eq_ignore_ascii_case(name)
    };
    let machines = ops::machines(cx.db)?;
    let now = cx.now;
    match machines.iter().filter(is_theirs).min_by_key(|machine| machine.silent(now)) {
        Some(machine) if sub.is_empty() => found(cx, (&machine.machine, &machine.name), "User", ""),
        _ => Ok(FarLookup::Unknown),
    }
}

fn found(
    cx: &mut Cx<'_>,
    machine: (&str, &str),
    name: &str,
    sub: &str,
) -> Result<FarLookup, DbError> {
    let found = book::far_agent(cx.db, machine, name, cx.now)?;
    let with_sub = |to| FarLookup::Found(Address { sub: book::far_sub(sub), ..to });
    Ok(found.map_or(FarLookup::Unknown, with_sub))
}

/// When a message to that machine arrives, for its sender.
pub(crate) fn reach(cx: &mut Cx<'_>, machine: &str) -> Result<String, DbError> {
    let Some(link) = ops::link(cx.db)? else {
        return Ok("this machine has left the team, so it stays here".to_owned());
    };
    if !link.is_up {
        let since = words::clock(link.since, cx.world.offset_s(link.since), cx.now);
        return Ok(format!(
            "the hub has been unreachable since {since}; it will go out when the hub is back"
        ));
    }
    Ok(match ops::machine_of(cx.db, machine)? {
        Some(machine) if machine.silent(cx.now) > AWAY_MS => format!(
            "the hub keeps it: {} has been silent for {}",
            machine.name,
            Ago(machine.silent(cx.now))
        ),
        _ => "on its way".to_owned(),
    })
}

/// What is shown of the other machines' agents, and how old it is. `None`: there is no team.
pub(crate) fn roster(cx: &mut Cx<'_>) -> Result<Option<Roster>, DbError> {
    const SHOWN: i64 = 500;
    let Some(link) = ops::link(cx.db)? else { return Ok(None) };
    Ok(Some(Roster { agents: ops::agents(cx.db, SHOWN)?, link }))
}

/// The agents of the other machines.
#[derive(Clone, Debug)]
pub(crate) struct Roster {
    pub(crate) agents: Vec<FarAgent>,
    link: Link,
}

impl Roster {
    /// A part for a list of agents; empty if there is nothing to show.
    pub(crate) fn text(&self, cx: &Cx<'_>) -> String {
        words::roster(&self.agents, &self.link, cx.now, cx.world.offset_s(self.link.since))
    }

    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.agents.iter().map(words::agent_json).collect()
    }
}
