//! `substrate agent …`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::{
    Neighbour, agent_json, agent_list, agents, me, neighbour_json, neighbours, one_agent,
    session_json, sub_json,
};
use crate::identity::book::{self, Address};
use crate::identity::holder::{self, no_such_agent};
use crate::identity::presence::{self, Status};
use crate::identity::{actors, identify, ops, record};
use crate::mail;
use crate::team::face as team;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct List {
    /// Include agents that are offline
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["agent", "list"];
    const ABOUT: &'static str = "List the agents that are there";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let mut list = agents(presence::open(cx.db, cx.world, cx.now)?);
        if self.all {
            for listed in actors::agents(cx.db)? {
                if list.iter().all(|agent| agent.agent != listed.agent) {
                    list.push(listed.into());
                }
            }
        } else {
            list.retain(|agent| agent.status != Status::Offline);
        }
        list.sort_by(|a, b| (a.status, &a.name).cmp(&(b.status, &b.name)));
        let mut json: Vec<Value> = list.iter().map(agent_json).collect();
        let mut text = agent_list(&list, cx.now);
        if let Some(roster) = team::roster(cx)? {
            let far = roster.text(cx);
            if !far.is_empty() {
                text = format!("{text}\n{far}");
            }
            json.extend(roster.json());
        }
        Ok(Output::new(text, json!(json)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Show {
    /// The agent's name
    name: String,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["agent", "show"];
    const ABOUT: &'static str = "Show an agent's sessions and subagents";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let wanted = self.name.split('/').next().unwrap_or_default();
        let Some((agent, name)) = book::agent(cx.db, wanted)? else {
            return Err(no_such_agent(cx, wanted)?);
        };
        let sessions = presence::of_agent(cx.db, cx.world, cx.now, agent)?;
        let subs = actors::of_agent(cx.db, agent)?;
        let text = one_agent(&name, &sessions, &subs, cx.now);
        let status = agents(sessions.clone()).first().map_or(Status::Offline, |one| one.status);
        let json = json!({
            "name": name,
            "agent_id": agent,
            "status": status.name(),
            "sessions": sessions.iter().map(session_json).collect::<Vec<_>>(),
            "subagents": subs.iter().map(|sub| sub_json(&name, sub)).collect::<Vec<_>>(),
        });
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Discover {}

impl VerbArgs for Discover {
    const PATH: &'static [&'static str] = &["agent", "discover"];
    const ABOUT: &'static str = "List the other agents in this project, and how to reach them";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        // An unknown caller may look around too.
        let (own, project) = match me(cx, caller) {
            Ok(me) => (me.who.address(), me.project),
            Err(VerbError::User { .. }) => (String::new(), caller.project.clone()),
            Err(error) => return Err(error),
        };
        let mut found: Vec<Neighbour> = Vec::new();
        for agent in agents(presence::in_project(cx.db, cx.world, cx.now, &project)?) {
            if agent.status == Status::Offline {
                continue;
            }
            let subs = actors::of_agent(cx.db, agent.agent)?;
            // An interrupted subagent never reports its end.
            let is_there = |sub: &actors::Subagent| {
                !sub.has_ended && cx.now.since(sub.last) <= presence::IDLE_MS
            };
            let subs = subs.into_iter().filter(is_there).map(|sub| sub.name);
            for sub in std::iter::once(String::new()).chain(subs) {
                let to = Address { sub, ..Address::of_agent(agent.agent, agent.name.clone()) };
                let to = to.text();
                if to != own {
                    found.push(Neighbour { to, agent: agent.clone() });
                }
            }
        }
        let json: Vec<Value> = found.iter().map(neighbour_json).collect();
        Ok(Output::new(neighbours(&found), json!(json)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Delete {
    /// The agent's name
    name: String,
    /// Delete it even if it has unread mail
    #[arg(long)]
    #[serde(default)]
    yes: bool,
}

impl VerbArgs for Delete {
    const PATH: &'static [&'static str] = &["agent", "delete"];
    const ABOUT: &'static str = "Delete an agent and free its name";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let Some((agent, name)) = identify::agent_named(cx, &self.name)? else {
            if book::agent(cx.db, &self.name)?.is_some() {
                return Err(VerbError::user(format!("{} can't be deleted", self.name), ""));
            }
            return Err(no_such_agent(cx, &self.name)?);
        };
        let is_itself = who.agent == agent && who.sub.is_empty();
        if !is_itself && who.agent != book::USER {
            return Err(VerbError::user(
                format!("only {name} itself or the user may delete {name}"),
                format!(
                    "the user can run `substrate agent delete {name}` in a terminal outside the client"
                ),
            ));
        }
        let own = who.session.as_ref().filter(|_| is_itself);
        if ops::is_live_elsewhere(cx.db, cx.world, cx.now, agent, own, presence::Process::UNKNOWN)?
        {
            return Err(VerbError::user(
                format!("{name} is running"),
                format!("end its session first; `substrate agent show {name}` shows it"),
            ));
        }
        let n_unread = n_unread(cx, agent)?;
        if n_unread > 0 && !self.yes {
            let mail = mail::face::unread_words(n_unread);
            return Err(VerbError::Unsure {
                message: format!("{name} has {mail}, which would be lost"),
                question: format!("{name} has {mail}. Delete {name} anyway?"),
                hint: format!(
                    "`substrate inbox --agent {name} --peek` shows the mail; `substrate agent delete {name} --yes` deletes it too"
                ),
                body: json!({"name": name, "yes": true}),
            });
        }
        for kept in ops::kept_of_agent(cx.db, agent)? {
            record::forget_session(cx, &kept.session)?;
        }
        actors::delete_agent(cx.db, agent, cx.now)?;
        Ok(Output::new(
            format!("Deleted {name}. Its name is free again.\n"),
            json!({"deleted": name}),
        ))
    }
}

/// The unread mail of an agent and its subagents.
fn n_unread(cx: &mut Cx<'_>, agent: i64) -> Result<i64, VerbError> {
    let mut n = mail::face::n_unread(cx.db, (agent, ""), cx.now)?;
    for sub in actors::of_agent(cx.db, agent)? {
        n += mail::face::n_unread(cx.db, (agent, &sub.name), cx.now)?;
    }
    Ok(n)
}
