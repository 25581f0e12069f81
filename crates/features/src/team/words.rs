//! What people and agents read about the team.

use std::fmt::Write as _;

use jiff::tz::{Offset, TimeZone};
use serde_json::{Value, json};
use substrate_core::Timestamp;
use substrate_core::text::one_line;
use substrate_core::time::Ago;

use super::face::{FarAgent, Link};

const DAY_MS: i64 = 86_400_000;

/// A machine's name as it may be part of an address. One that is none becomes a piece of its id.
pub(super) fn machine_name(name: &str, id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=40).contains(&name.len()) && name.chars().all(plain) {
        return name.to_owned();
    }
    id.chars().filter(|c| plain(*c)).take(12).collect()
}

/// A moment for people: `14:02`, with its date if that is long ago.
pub(super) fn clock(at: Timestamp, offset_s: i32, now: Timestamp) -> String {
    let (Ok(moment), Ok(offset)) =
        (jiff::Timestamp::from_millisecond(at.0), Offset::from_seconds(offset_s))
    else {
        return at.0.to_string();
    };
    let form = if now.since(at) < DAY_MS { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    moment.to_zoned(TimeZone::fixed(offset)).strftime(form).to_string()
}

/// `connected to hub:4433 for 3m`.
pub(super) fn link(link: &Link, now: Timestamp, offset_s: i32) -> String {
    let hub = one_line(&link.hub, 100);
    if link.is_up {
        return format!("connected to {hub} for {}", Ago(now.since(link.since)));
    }
    let since = clock(link.since, offset_s, now);
    let why = match link.why.as_str() {
        "" => String::new(),
        why => format!(": {}", one_line(why, 200)),
    };
    format!("{hub} has been unreachable since {since}{why}")
}

/// The agents of the other machines, below a list of our own.
pub(super) fn roster(agents: &[FarAgent], link: &Link, now: Timestamp, offset_s: i32) -> String {
    if agents.is_empty() {
        return String::new();
    }
    let age = match link.is_up {
        true => String::new(),
        false => format!(", as of {}: the hub is away", clock(link.since, offset_s, now)),
    };
    let mut out = format!("On other machines{age}\n");
    let wide = agents.iter().map(|agent| agent.address().chars().count()).max().unwrap_or(0);
    for agent in agents {
        let _infallible = writeln!(
            out,
            "  {:<9}  {:<wide$}  {:>4}  {}",
            one_line(&agent.status, 9),
            one_line(&agent.address(), 90),
            Ago(now.since(agent.since)).to_string(),
            one_line(&agent.project, 40),
        );
    }
    out
}

pub(super) fn agent_json(agent: &FarAgent) -> Value {
    json!({
        "address": agent.address(), "name": agent.name, "machine": agent.machine_name,
        "project": agent.project, "status": agent.status, "since_ms": agent.since.0,
    })
}
