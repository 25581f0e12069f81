//! The fleet as it was at a moment, from the journal, the history of leases and the usage of models.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde::Serialize;
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Activity, Cx, DbError, EventKind, Timestamp};

use crate::identity::book;
use crate::journal::face::{self, Trace};
use crate::{calls, costs, locks};

/// An actor that ended longer ago than this is not shown.
const ENDED_MS: i64 = 10 * 60_000;

#[derive(Clone, Debug, Serialize)]
pub(in crate::fleet) struct Then {
    pub(in crate::fleet) at_ms: i64,
    /// The last entry of the journal up to then.
    pub(in crate::fleet) entry: i64,
    pub(in crate::fleet) actors: Vec<ActorThen>,
}

/// One actor at that moment.
#[derive(Clone, Debug, Serialize)]
pub(in crate::fleet) struct ActorThen {
    pub(in crate::fleet) address: String,
    pub(in crate::fleet) agent: String,
    pub(in crate::fleet) session: String,
    pub(in crate::fleet) actor: String,
    pub(in crate::fleet) status: &'static str,
    pub(in crate::fleet) since_ms: Option<i64>,
    /// Its latest call.
    pub(in crate::fleet) tool: String,
    pub(in crate::fleet) did: String,
    pub(in crate::fleet) held: Vec<String>,
    /// Tokens of its context at its latest answer, where that is known.
    pub(in crate::fleet) context: Option<i64>,
}

/// The fleet, or one agent of it.
pub(in crate::fleet) fn then(
    cx: &mut Cx<'_>,
    at: Timestamp,
    agent: Option<&str>,
) -> Result<Then, DbError> {
    let found = face::at(cx.db, at)?;
    let mut actors: Vec<ActorThen> = Vec::new();
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut settled: HashSet<usize> = HashSet::new();
    let mut names: HashMap<&str, Option<String>> = HashMap::new();
    for row in &found.rows {
        let key = (row.session.as_str(), row.actor.as_str());
        let index = match seen.get(&key) {
            Some(index) => *index,
            None => {
                if !names.contains_key(row.session.as_str()) {
                    let name = book::of_session(cx.db, &row.session)?.map(|(_, name)| name);
                    names.insert(&row.session, name);
                }
                let Some(Some(name)) = names.get(row.session.as_str()) else { continue };
                if agent.is_some_and(|agent| agent != name) {
                    continue;
                }
                seen.insert(key, actors.len());
                actors.push(blank(name, row));
                actors.len() - 1
            }
        };
        let one = &mut actors[index];
        if one.tool.is_empty() && row.event == EventKind::PreToolUse.name() {
            one.tool = row.tool.clone().unwrap_or_default();
            one.did = calls::short(cx.world.dialects(), &row.client, &one.tool, &row.input);
        }
        if !settled.contains(&index)
            && let Some(status) = status(row)
        {
            settled.insert(index);
            (one.status, one.since_ms) = (status, Some(row.at_ms));
        }
    }
    let has_ended = |one: &ActorThen| {
        let is_over = one.status == "gone" || (one.status == "done" && one.actor != book::MAIN);
        is_over && one.since_ms.is_some_and(|since| at.0 - since > ENDED_MS)
    };
    actors.retain(|one| !has_ended(one));
    for session in &found.silent {
        let name = book::of_session(cx.db, session)?.map(|(_, name)| name);
        if let Some(name) = name.filter(|name| agent.is_none_or(|agent| agent == name)) {
            let row = Trace {
                session: session.clone(),
                actor: book::MAIN.to_owned(),
                ..Trace::default()
            };
            actors.push(ActorThen { status: "silent", ..blank(&name, &row) });
        }
    }
    let held = locks::history::held_at(cx.db, at)?;
    for one in &mut actors {
        if let Some(sub) = book::sub_in(cx.db, &one.session, &one.actor)? {
            one.address = format!("{}/{sub}", one.agent);
        }
        let of = held.iter().filter(|(who, _)| *who == one.address);
        one.held = of.map(|(_, path)| path.clone()).collect();
        if one.actor == book::MAIN {
            one.context = costs::face::context_at(cx.db, &one.agent, at)?;
        }
    }
    sort(&mut actors);
    Ok(Then { at_ms: at.0, entry: found.entry, actors })
}

fn blank(agent: &str, row: &Trace) -> ActorThen {
    let is_main = row.actor == book::MAIN;
    ActorThen {
        address: if is_main { agent.to_owned() } else { format!("{agent}/{}", row.actor) },
        agent: agent.to_owned(),
        session: row.session.clone(),
        actor: row.actor.clone(),
        status: "silent",
        since_ms: None,
        tool: String::new(),
        did: String::new(),
        held: Vec::new(),
        context: None,
    }
}

/// What an entry says about its actor. `None`: nothing.
fn status(row: &Trace) -> Option<&'static str> {
    use EventKind as K;
    Some(match EventKind::named(&row.event) {
        K::SessionEnd => "gone",
        K::Stop | K::SubagentStop if row.verdict == "block" => "working",
        K::Stop | K::SubagentStop | K::SessionStart => "done",
        K::StopFailure => "error",
        K::PermissionRequest | K::Elicitation => "attention",
        K::UserPromptSubmit
        | K::PreToolUse
        | K::PostToolUse
        | K::PostToolUseFailure
        | K::PermissionDenied
        | K::ElicitationResult
        | K::SubagentStart => "working",
        _ if row.event == Activity::IDLE => "done",
        _ if row.event == "ActivityAsking" => "attention",
        _ => return None,
    })
}

const ORDER: [&str; 6] = ["error", "attention", "working", "done", "silent", "gone"];

/// Agents by the most important status of their own and their subagents, subagents below their agent.
fn sort(actors: &mut [ActorThen]) {
    let rank = |status: &str| ORDER.iter().position(|known| *known == status).unwrap_or(9);
    let mut best: HashMap<String, usize> = HashMap::new();
    for one in actors.iter() {
        let known = best.entry(one.session.clone()).or_insert(9);
        *known = (*known).min(rank(one.status));
    }
    actors.sort_by(|a, b| {
        let key = |one: &ActorThen| {
            let is_sub = one.actor != book::MAIN;
            (
                best[&one.session],
                one.agent.clone(),
                one.session.clone(),
                is_sub,
                one.address.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
}

pub(in crate::fleet) fn text(then: &Then) -> String {
    let mut out = String::new();
    for one in &then.actors {
        let since =
            one.since_ms.map_or_else(String::new, |since| Ago(then.at_ms - since).to_string());
        let did = format!("{} {}", one.tool, one_line(&one.did, 60));
        let _infallible = writeln!(out, "{}\t{}\t{since}\t{}", one.status, one.address, did.trim());
    }
    match out.is_empty() {
        true => "The journal knows of no agent at that moment.\n".to_owned(),
        false => crate::listing::aligned(&out),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("PreToolUse", "none", Some("working"))]
    #[case("Stop", "none", Some("done"))]
    #[case("Stop", "block", Some("working"))]
    #[case("StopFailure", "none", Some("error"))]
    #[case("PermissionRequest", "wait", Some("attention"))]
    #[case("SessionEnd", "none", Some("gone"))]
    #[case("ActivityIdle", "none", Some("done"))]
    #[case("Notification", "none", None)]
    #[case("FileChanged", "none", None)]
    fn an_entry_says(#[case] event: &str, #[case] verdict: &str, #[case] expected: Option<&str>) {
        let (event, verdict) = (event.to_owned(), verdict.to_owned());
        assert_eq!(status(&Trace { event, verdict, ..Trace::default() }), expected);
    }
}
