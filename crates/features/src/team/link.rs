//! What the daemon's link brings and takes: verbs that only the daemon runs.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Output, Timestamp, VerbError};

use super::face::{FarAgent, Link, TeamMachine};
use super::{claims, ops, words};
use crate::identity::book;
use crate::mail::far;

/// What the link saw.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Seen {
    /// Who this machine is, and where its hub is.
    #[arg(skip)]
    machine: String,
    #[arg(skip)]
    name: String,
    #[arg(skip)]
    team: String,
    #[arg(skip)]
    hub: String,
    /// The link came up, or went away, and why.
    #[arg(skip)]
    up: Option<bool>,
    #[arg(skip)]
    why: String,
    /// Every machine of the team.
    #[arg(skip)]
    machines: Option<Vec<MachineSeen>>,
    /// What changed in their parts of the roster.
    #[arg(skip)]
    roster: Vec<PartSeen>,
}

#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct MachineSeen {
    machine: String,
    name: String,
    person: String,
    seal: String,
    revoked: bool,
    silent_ms: i64,
}

#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct PartSeen {
    machine: String,
    whole: bool,
    agents: Vec<AgentSeen>,
    gone: Vec<String>,
}

#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct AgentSeen {
    agent: String,
    name: String,
    project: String,
    status: String,
    for_ms: i64,
}

impl VerbArgs for Seen {
    const PATH: &'static [&'static str] = &["team", "seen"];
    const ABOUT: &'static str = "Note what the link saw";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        if self.machine.is_empty() {
            return Ok(Output::default());
        }
        self.note_link(cx)?;
        if let Some(machines) = &self.machines {
            note_machines(cx, machines)?;
        }
        for part in self.roster.iter().filter(|part| part.machine != self.machine) {
            note_part(cx, part)?;
        }
        Ok(Output::default())
    }
}

impl Seen {
    fn note_link(&self, cx: &mut Cx<'_>) -> Result<(), DbError> {
        let known = ops::link(cx.db)?;
        if known.as_ref().is_some_and(|known| known.machine != self.machine) {
            // This machine has joined under another identity: it counts from 1 again.
            forget(cx)?;
        }
        let known = known.filter(|known| known.machine == self.machine);
        let is_up = self.up.unwrap_or_else(|| known.as_ref().is_some_and(|known| known.is_up));
        let why = match self.up {
            Some(true) => String::new(),
            Some(false) => one_line(&self.why, 300),
            None => known.as_ref().map_or_else(String::new, |known| known.why.clone()),
        };
        let since = match &known {
            Some(known) if known.is_up == is_up => known.since,
            _ => cx.now,
        };
        let link = Link {
            machine: self.machine.clone(),
            name: words::machine_name(&self.name, &self.machine),
            hub: one_line(&self.hub, 200),
            is_up,
            since,
            why,
        };
        match known == Some(link.clone()) {
            true => Ok(()),
            false => ops::set_link(cx.db, &link, &self.team),
        }
    }
}

fn note_machines(cx: &mut Cx<'_>, machines: &[MachineSeen]) -> Result<(), DbError> {
    for known in ops::machines(cx.db)? {
        if !machines.iter().any(|one| one.machine == known.machine && !one.revoked) {
            ops::forget_machine(cx.db, &known.machine)?;
            book::forget_far(cx.db, Some(&known.machine), cx.now)?;
        }
    }
    for one in machines.iter().filter(|one| !one.revoked) {
        let machine = TeamMachine {
            machine: one.machine.clone(),
            name: words::machine_name(&one.name, &one.machine),
            person: one_line(&one.person, 60),
            seal: one.seal.clone(),
            silent_ms: one.silent_ms,
            seen: cx.now,
        };
        ops::set_machine(cx.db, &machine)?;
    }
    Ok(())
}

fn note_part(cx: &mut Cx<'_>, part: &PartSeen) -> Result<(), DbError> {
    if part.whole {
        ops::forget_agents(cx.db, &part.machine)?;
    }
    for gone in &part.gone {
        ops::forget_agent(cx.db, &part.machine, gone)?;
    }
    for one in part.agents.iter().filter(|one| crate::identity::is_agent_name(&one.name)) {
        let agent = FarAgent {
            name: one.name.clone(),
            project: one_line(&one.project, 60),
            status: one_line(&one.status, 20),
            since: cx.now.plus_ms(-one.for_ms.max(0)),
            ..FarAgent::default()
        };
        ops::set_agent(cx.db, &part.machine, &one.agent, &agent)?;
    }
    Ok(())
}

/// Everything of the team goes, and what was under way fails.
fn forget(cx: &mut Cx<'_>) -> Result<(), DbError> {
    far::give_up(cx)?;
    book::forget_far(cx.db, None, cx.now)?;
    ops::forget(cx.db)
}

/// What is to be sent.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Due {
    /// Only what was queued after this one.
    #[arg(long, default_value_t)]
    after: i64,
    /// And these again, which the hub forgot.
    #[arg(long)]
    again: Vec<String>,
}

impl VerbArgs for Due {
    const PATH: &'static [&'static str] = &["team", "due"];
    const ABOUT: &'static str = "Say what is to be sent";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let mut list = Vec::new();
        for one in far::outgoing(cx, self.after, &self.again)? {
            let seal = ops::machine_of(cx.db, &one.machine)?.map(|machine| machine.seal);
            list.push(json!({
                "serial": one.serial, "uid": one.uid, "machine": one.machine, "n": one.n, "kind": one.kind,
                "agent": one.agent, "body": one.body, "seal": seal,
            }));
        }
        let receipts = far::are_due(cx.db)?;
        let asks = claims::waiting(cx)?;
        Ok(Output::new(String::new(), json!({"out": list, "receipts": receipts, "asks": asks})))
    }
}

/// Senders on other machines are told how far their messages have come.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Receipts {}

impl VerbArgs for Receipts {
    const PATH: &'static [&'static str] = &["team", "receipts"];
    const ABOUT: &'static str = "Queue the receipts that are due";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let n = far::queue_due(cx)?;
        Ok(Output::new(String::new(), json!({ "queued": n })))
    }
}

/// Messages of other machines.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Arrived {
    #[arg(skip)]
    items: Vec<ItemArrived>,
}

#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct ItemArrived {
    uid: String,
    machine: String,
    n: i64,
    kind: String,
    agent: String,
    body: Option<String>,
}

impl VerbArgs for Arrived {
    const PATH: &'static [&'static str] = &["team", "arrived"];
    const ABOUT: &'static str = "Take messages of other machines";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        for ItemArrived { uid, machine, n, kind, agent, body } in self.items {
            far::arrived(cx, &far::Incoming { uid, machine, n, kind, agent, body })?;
        }
        Ok(Output::default())
    }
}

/// What the hub says of messages of ours.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Fates {
    #[arg(skip)]
    fates: Vec<FateSeen>,
}

#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct FateSeen {
    uid: String,
    state: String,
    at_ms: i64,
}

impl VerbArgs for Fates {
    const PATH: &'static [&'static str] = &["team", "fates"];
    const ABOUT: &'static str = "Note how far messages have come";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        for FateSeen { uid, state, at_ms } in &self.fates {
            let fate = match state.as_str() {
                "at_hub" => far::Fate::AtHub,
                "at_machine" => far::Fate::AtMachine,
                "no_machine" => far::Fate::NoMachine,
                _ => continue,
            };
            let Timestamp(at) = if *at_ms > 0 { Timestamp(*at_ms) } else { cx.now };
            far::fate(cx, uid, fate, at)?;
        }
        Ok(Output::default())
    }
}

/// This machine left its team.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Left {}

impl VerbArgs for Left {
    const PATH: &'static [&'static str] = &["team", "left"];
    const ABOUT: &'static str = "Forget everything about the team";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        if ops::link(cx.db)?.is_some() {
            forget(cx)?;
        }
        Ok(Output::default())
    }
}
