//! The commands about agents, and what they print for people and programs.

pub(super) mod agent;
pub(super) mod identity;

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Caller, Cx, Timestamp, VerbError, Who};

use super::actors::Subagent;
use super::book;
use super::ops::{self, KnownAgent};
use super::presence::{SessionPresence, Status};
use identity::unknown_session;

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

/// The width of a column: that of its longest text, but at least `least`.
fn width<'a>(texts: impl Iterator<Item = &'a str>, least: usize) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0).max(least)
}

fn agent_list(agents: &[AgentRow], now: Timestamp) -> String {
    if agents.is_empty() {
        return "No agents are there. `substrate agent list --all` includes those that are offline.\n".to_owned();
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

fn neighbour_json(one: &Neighbour) -> Value {
    json!({
        "address": one.to,
        "agent": one.agent.name,
        "status": one.agent.status.name(),
        "waiting": one.agent.is_waiting,
        "send": format!("substrate send --to {} --subject … --body …", one.to),
    })
}

/// The caller, or an error that says how to name one.
fn who(cx: &Cx<'_>, caller: &Caller) -> Result<Who, VerbError> {
    cx.who.clone().ok_or_else(|| match (caller.session_id(), caller.agent.as_deref()) {
        (Some(session), _) => unknown_session(&session),
        (None, Some(agent)) if !agent.is_empty() => VerbError::user(
            format!("there is no agent {}", one_line(agent, 60)),
            "`substrate agent list --all` shows all names",
        ),
        (None, _) => VerbError::user(
            "no agent specified: neither session nor agent is known",
            "add `--session-id ID` (the client's session), or `--agent NAME`",
        ),
    })
}

/// The caller with its session's project.
fn me(cx: &mut Cx<'_>, caller: &Caller) -> Result<CallerIdentity, VerbError> {
    let who = who(cx, caller)?;
    let kept = match &who.session {
        Some(session) => ops::kept(cx.db, session)?,
        None => None,
    };
    let project = kept.map_or_else(|| caller.project.clone(), |kept| kept.project);
    Ok(CallerIdentity { who, project })
}

/// The error for an unknown name, with similar names.
fn no_such_agent(cx: &mut Cx<'_>, name: &str) -> Result<VerbError, VerbError> {
    let nearest = match book::find(cx.db, name)? {
        book::Lookup::Unknown { nearest } => nearest,
        book::Lookup::Found(_) | book::Lookup::Ended(_) => Vec::new(),
    };
    let hint = if nearest.is_empty() {
        "`substrate agent list --all` shows all names".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(", "))
    };
    let name = one_line(name, 60);
    Ok(VerbError::user(format!("there is no agent {name}"), hint))
}
