//! Agents for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Timestamp, Who};

use super::actors::Sub;
use super::ops::Listed;
use super::presence::{Present, Status};

/// Who the caller is, and where.
pub(super) struct Me {
    pub(super) who: Who,
    pub(super) project: String,
}

pub(super) fn me(me: &Me) -> String {
    let mut out = format!("{}\n", me.who.address());
    if let Some(session) = &me.who.session {
        let _infallible = writeln!(out, "session  {session}");
    }
    if !me.project.is_empty() {
        let _infallible = writeln!(out, "project  {}", one_line(&me.project, 200));
    }
    out
}

pub(super) fn me_json(me: &Me) -> Value {
    json!({
        "agent": me.who.name,
        "agent_id": me.who.agent,
        "subagent": (!me.who.sub.is_empty()).then_some(&me.who.sub),
        "address": me.who.address(),
        "session": me.who.session.as_ref().map(ToString::to_string),
        "project": me.project,
    })
}

/// An agent over all its sessions.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) status: Status,
    pub(super) is_waiting: bool,
    pub(super) project: String,
    pub(super) last: Option<Timestamp>,
}

impl From<Listed> for Agent {
    /// An agent without an open session.
    fn from(listed: Listed) -> Self {
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
pub(super) fn agents(sessions: Vec<Present>) -> Vec<Agent> {
    let mut out: Vec<Agent> = Vec::new();
    for one in sessions {
        if let Some(agent) = out.iter_mut().find(|agent| agent.agent == one.agent) {
            agent.status = agent.status.min(one.status);
            agent.is_waiting |= one.is_waiting;
            continue;
        }
        out.push(Agent {
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

/// The longest of the texts, at least so wide.
fn width<'a>(texts: impl Iterator<Item = &'a str>, least: usize) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0).max(least)
}

pub(super) fn agent_list(agents: &[Agent], now: Timestamp) -> String {
    if agents.is_empty() {
        return "Nobody is there. `substrate agent list --all` also shows who was.\n".to_owned();
    }
    let wide = width(agents.iter().map(|agent| agent.name.as_str()), 5);
    let mut out = format!("{:<wide$}  {:<15}  {:<10}  project\n", "agent", "status", "heard");
    for agent in agents {
        let _infallible = writeln!(
            out,
            "{:<wide$}  {:<15}  {:<10}  {}",
            agent.name,
            status_words(agent.status, agent.is_waiting),
            heard(now, agent.last),
            one_line(&agent.project, 120),
        );
    }
    out
}

pub(super) fn agent_json(agent: &Agent) -> Value {
    json!({
        "name": agent.name,
        "agent_id": agent.agent,
        "status": agent.status.name(),
        "waiting": agent.is_waiting,
        "project": agent.project,
        "last_ms": agent.last.map(|at| at.0),
    })
}

pub(super) fn identities(sessions: &[Present], now: Timestamp) -> String {
    if sessions.is_empty() {
        return "No session has been heard of yet.\n".to_owned();
    }
    let wide = width(sessions.iter().map(|one| one.name.as_str()), 5);
    let long = width(sessions.iter().map(|one| one.session.as_str()), 7);
    let mut out = format!("{:<wide$}  {:<long$}  {:<10}  project\n", "agent", "session", "heard");
    for one in sessions {
        let _infallible = writeln!(
            out,
            "{:<wide$}  {:<long$}  {:<10}  {}",
            one.name,
            one.session,
            heard(now, Some(one.last)),
            one_line(&one.project, 120),
        );
    }
    out
}

pub(super) fn session_json(one: &Present) -> Value {
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

pub(super) fn one_agent(name: &str, sessions: &[Present], subs: &[Sub], now: Timestamp) -> String {
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
        let state = if sub.has_ended { "ended" } else { "at work" };
        let _infallible = writeln!(
            out,
            "subagent  {name}/{}  {state}, heard {}",
            sub.name,
            heard(now, Some(sub.last))
        );
    }
    out
}

pub(super) fn sub_json(agent: &str, sub: &Sub) -> Value {
    json!({
        "name": sub.name,
        "address": format!("{agent}/{}", sub.name),
        "ended": sub.has_ended,
        "last_ms": sub.last.0,
    })
}

/// Somebody in the same project who can be written to.
pub(super) struct Neighbour {
    pub(super) to: String,
    pub(super) agent: Agent,
}

pub(super) fn neighbours(found: &[Neighbour]) -> String {
    if found.is_empty() {
        return "Nobody else is in this project. `substrate agent list` shows who is elsewhere.\n"
            .to_owned();
    }
    let wide = width(found.iter().map(|one| one.to.as_str()), 5);
    let mut out = String::new();
    for one in found {
        let _infallible = writeln!(
            out,
            "{:<wide$}  {:<15}  substrate send --to {} --subject … --body …",
            one.to,
            status_words(one.agent.status, one.agent.is_waiting),
            one.to,
        );
    }
    out
}

pub(super) fn neighbour_json(one: &Neighbour) -> Value {
    json!({
        "address": one.to,
        "agent": one.agent.name,
        "status": one.agent.status.name(),
        "waiting": one.agent.is_waiting,
        "send": format!("substrate send --to {} --subject … --body …", one.to),
    })
}
