//! The commands about agents, and what they print for people and programs.

pub(super) mod agent;
pub(super) mod identity;

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Caller, Cx, Timestamp, VerbError, Who};

use super::actors::{KnownAgent, Subagent};
use super::presence::{SessionPresence, Status};
use super::{holder, ops};
use crate::listing::aligned;

/// The caller, and the project of its session.
struct CallerIdentity {
    who: Who,
    project: String,
}

fn me_text(me: &CallerIdentity) -> String {
    let mut out = format!("{}\n", me.who.address());
    if let Some(session) = &me.who.session {
        let _infallible = writeln!(out, "session  {session}");
    }
    if !me.project.is_empty() {
        let _infallible = writeln!(out, "project  {}", one_line(&me.project, 200));
    }
    out
}

fn me_json(me: &CallerIdentity) -> Value {
    json!({
        "agent": me.who.name,
        "agent_id": me.who.agent,
        "subagent": (!me.who.sub.is_empty()).then_some(&me.who.sub),
        "address": me.who.address(),
        "session": me.who.session.as_ref().map(ToString::to_string),
        "project": me.project,
    })
}

/// An agent, summed up over all its sessions.
#[derive(Clone, Debug)]
struct AgentRow {
    agent: i64,
    name: String,
    status: Status,
    is_waiting: bool,
    project: String,
    last: Option<Timestamp>,
}

impl From<KnownAgent> for AgentRow {
    /// An agent without an open session.
    fn from(listed: KnownAgent) -> Self {
        Self {
            agent: listed.agent,
            name: listed.name,
            status: Status::Offline,
            is_waiting: false,
            project: listed.project,
            last: listed.last,
        }
    }
}

/// The agents of these sessions (newest first), each once.
fn agents(sessions: Vec<SessionPresence>) -> Vec<AgentRow> {
    let mut out: Vec<AgentRow> = Vec::new();
    for one in sessions {
        if let Some(agent) = out.iter_mut().find(|agent| agent.agent == one.agent) {
            agent.status = agent.status.min(one.status);
            agent.is_waiting |= one.is_waiting;
            continue;
        }
        out.push(AgentRow {
            agent: one.agent,
            name: one.name,
            status: one.status,
            is_waiting: one.is_waiting,
            project: one.project,
            last: Some(one.last),
        });
    }
    out
}

/// `active, waiting`
fn status_words(status: Status, is_waiting: bool) -> String {
    format!("{}{}", status.name(), if is_waiting { ", waiting" } else { "" })
}

fn heard(now: Timestamp, last: Option<Timestamp>) -> String {
    last.map_or_else(|| "never".to_owned(), |last| format!("{} ago", Ago(now.since(last))))
}

fn agent_list(agents: &[AgentRow], now: Timestamp) -> String {
    if agents.is_empty() {
        return "No agents are there. `substrate agent list --all` includes those that are offline.\n".to_owned();
    }
    let mut out = "agent\tstatus\theard\tproject\n".to_owned();
    for agent in agents {
        let _infallible = writeln!(
            out,
            "{}\t{}\t{}\t{}",
            agent.name,
            status_words(agent.status, agent.is_waiting),
            heard(now, agent.last),
            one_line(&agent.project, 120),
        );
    }
    aligned(&out)
}

fn agent_json(agent: &AgentRow) -> Value {
    json!({
        "name": agent.name,
        "agent_id": agent.agent,
        "status": agent.status.name(),
        "waiting": agent.is_waiting,
        "project": agent.project,
        "last_ms": agent.last.map(|at| at.0),
    })
}

fn identities(sessions: &[SessionPresence], now: Timestamp) -> String {
    if sessions.is_empty() {
        return "No sessions yet.\n".to_owned();
    }
    let mut out = "agent\tsession\theard\tproject\n".to_owned();
    for one in sessions {
        let _infallible = writeln!(
            out,
            "{}\t{}\t{}\t{}",
            one.name,
            one.session,
            heard(now, Some(one.last)),
            one_line(&one.project, 120),
        );
    }
    aligned(&out)
}

fn session_json(one: &SessionPresence) -> Value {
    json!({
        "session": one.session,
        "agent": one.name,
        "agent_id": one.agent,
        "status": one.status.name(),
        "waiting": one.is_waiting,
        "stopped": one.has_stopped,
        "project": one.project,
        "cwd": one.cwd,
        "started_ms": one.started.0,
        "last_ms": one.last.0,
    })
}

fn one_agent(
    name: &str,
    sessions: &[SessionPresence],
    subs: &[Subagent],
    now: Timestamp,
) -> String {
    let status = agents(sessions.to_vec())
        .first()
        .map_or_else(|| "offline".to_owned(), |one| status_words(one.status, one.is_waiting));
    let mut out = format!("{name}  {status}\n");
    for one in sessions {
        let _infallible = writeln!(
            out,
            "session   {}  {}, heard {}  {}",
            one.session,
            status_words(one.status, one.is_waiting),
            heard(now, Some(one.last)),
            one_line(&one.cwd, 120),
        );
    }
    for sub in subs {
        let state = if sub.has_ended { "ended" } else { "running" };
        let _infallible = writeln!(
            out,
            "subagent  {name}/{}  {state}, heard {}",
            sub.name,
            heard(now, Some(sub.last))
        );
    }
    out
}

fn sub_json(agent: &str, sub: &Subagent) -> Value {
    json!({
        "name": sub.name,
        "address": format!("{agent}/{}", sub.name),
        "ended": sub.has_ended,
        "last_ms": sub.last.0,
    })
}

/// Another agent or subagent in the same project, and its mail address.
struct Neighbour {
    to: String,
    agent: AgentRow,
}

fn neighbours(found: &[Neighbour]) -> String {
    if found.is_empty() {
        return "No other agents are in this project. `substrate agent list` shows those elsewhere.\n"
            .to_owned();
    }
    let mut out = String::new();
    for one in found {
        let _infallible = writeln!(
            out,
            "{}\t{}\tsubstrate send --to {} --subject … --body …",
            one.to,
            status_words(one.agent.status, one.agent.is_waiting),
            one.to,
        );
    }
    aligned(&out)
}

fn neighbour_json(one: &Neighbour) -> Value {
    json!({
        "address": one.to,
        "agent": one.agent.name,
        "status": one.agent.status.name(),
        "waiting": one.agent.is_waiting,
        "send": format!("substrate send --to {} --subject … --body …", one.to),
    })
}

/// The caller with its session's project.
fn me(cx: &mut Cx<'_>, caller: &Caller) -> Result<CallerIdentity, VerbError> {
    let who = holder::caller(cx, caller)?;
    let kept = match &who.session {
        Some(session) => ops::kept(cx.db, session)?,
        None => None,
    };
    let project = kept.map_or_else(|| caller.project.clone(), |kept| kept.project);
    Ok(CallerIdentity { who, project })
}
