//! `substrate team status`, `substrate team members`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::face::{AWAY_MS, Link};
use super::{ops, words};
use crate::mail::far;

/// How many agents of other machines are listed.
const MAX_LISTED: i64 = 2000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Status {}

impl VerbArgs for Status {
    const PATH: &'static [&'static str] = &["team", "status"];
    const ABOUT: &'static str = "Show whether the hub can be reached, and what waits for it";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let link = joined(cx)?;
        let n_outgoing = far::n_open(cx.db)?;
        let waiting = match n_outgoing {
            0 => "no message waits for its machine".to_owned(),
            1 => "1 message is not at its machine yet".to_owned(),
            n => format!("{n} messages are not at their machines yet"),
        };
        let text = format!(
            "machine   {}\nhub       {}\noutbox    {waiting}\n",
            link.name,
            words::link(&link, cx.now, caller.tz_offset_s),
        );
        let json = json!({
            "machine": link.machine, "name": link.name, "hub": link.hub, "connected": link.is_up,
            "since_ms": link.since.0, "why": link.why, "outbox": n_outgoing,
        });
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Members {}

impl VerbArgs for Members {
    const PATH: &'static [&'static str] = &["team", "members"];
    const ABOUT: &'static str = "Show the machines of the team and what their agents do";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let link = joined(cx)?;
        let machines = ops::machines(cx.db)?;
        let agents = ops::agents(cx.db, MAX_LISTED)?;
        let (mut text, mut list) = (String::new(), Vec::new());
        if !link.is_up {
            let since = words::clock(link.since, caller.tz_offset_s, cx.now);
            let _infallible =
                writeln!(text, "The hub has been unreachable since {since}. It told this before:");
        }
        for machine in &machines {
            let is_own = machine.machine == link.machine;
            let silent = machine.silent(cx.now);
            let heard = match (is_own, link.is_up) {
                (true, _) => ", this machine".to_owned(),
                (false, true) if silent <= AWAY_MS => String::new(),
                (false, _) => format!(", silent for {}", Ago(silent)),
            };
            let person = one_line(&machine.person, 60);
            let _infallible = writeln!(text, "{} ({person}{heard})", machine.name);
            let theirs = agents.iter().filter(|agent| agent.machine == machine.machine);
            for agent in theirs.clone() {
                let _infallible = writeln!(
                    text,
                    "  {}  {} for {}  {}",
                    agent.address(),
                    one_line(&agent.status, 20),
                    Ago(cx.now.since(agent.since)),
                    one_line(&agent.project, 60),
                );
            }
            list.push(json!({
                "machine": machine.machine, "name": machine.name, "person": machine.person, "is_own": is_own,
                "silent_ms": silent, "agents": theirs.map(words::agent_json).collect::<Vec<_>>(),
            }));
        }
        if machines.is_empty() {
            text.push_str("The hub has not told who is in the team yet.\n");
        }
        let json = json!({"connected": link.is_up, "since_ms": link.since.0, "machines": list});
        Ok(Output::new(text, json))
    }
}

fn joined(cx: &mut Cx<'_>) -> Result<Link, VerbError> {
    ops::link(cx.db)?.ok_or_else(|| {
        VerbError::user(
            "this machine is in no team",
            "`substrate hub invite` on the hub's machine prints the line with which it joins",
        )
    })
}
