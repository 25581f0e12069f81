//! The thread of the link: reports what this machine's agents do, and keeps what the hub tells.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_core::Caller;
use substrate_hub::dial::{Wish, drive};
use substrate_hub::link::{Link, Output};
use substrate_hub::wire::{AgentStatus, Label, RosterPart, Uid};
use substrate_store::Database;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Membership, Seen};
use crate::config::{Home, SettingsFiles};
use crate::host::{self, Gathered, VerbRun};
use crate::machine::Machine;
use crate::{clock, proc};

/// How often the agents of this machine are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Starts the thread if this machine is in a team. It ends with the daemon.
pub(crate) fn start(home: &Home, readers: Arc<Database>, machine: Machine) {
    let Some(membership) = Membership::read(home) else { return };
    let Some(credentials) = membership.credentials() else {
        tracing::error!(
            "the keys of this machine's team are damaged; `substrate team leave`, then join again"
        );
        return;
    };
    let home = home.clone();
    let spawned = std::thread::Builder::new().name("team-link".to_owned()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        let seed = u64::from_le_bytes(proc::random_id()[..8].try_into().unwrap_or_default());
        let (wishes, wanted) = unbounded_channel();
        let (told, events) = unbounded_channel();
        let agents = LocalAgents { settings: SettingsFiles::new(home.config()), readers, machine };
        runtime.block_on(async {
            tokio::join!(
                drive(
                    membership.target(),
                    move |now| Link::new(credentials, seed, now),
                    wanted,
                    told
                ),
                watch(&home, events),
                agents.report(wishes),
            )
        });
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "the link to the hub has no thread");
    }
}

/// Keeps what the hub tells in a file, at most once a second.
async fn watch(home: &Home, mut events: UnboundedReceiver<Output>) {
    let mut seen =
        Seen { since_ms: clock::now().0, why: "not connected yet".to_owned(), ..Seen::default() };
    while let Some(event) = events.recv().await {
        take(&mut seen, event);
        while let Ok(event) = events.try_recv() {
            take(&mut seen, event);
        }
        seen.at_ms = clock::now().0;
        if let Err(error) = seen.keep(home) {
            tracing::warn!(%error, "what the hub told could not be kept");
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn take(seen: &mut Seen, event: Output) {
    match event {
        Output::Up(_) => {
            (seen.is_up, seen.since_ms) = (true, clock::now().0);
            seen.why.clear();
        }
        Output::Down(away) => {
            if seen.is_up {
                (seen.is_up, seen.since_ms) = (false, clock::now().0);
            }
            seen.why = away.why;
        }
        Output::Machines(machines) => {
            let there: BTreeSet<&Uid> =
                machines.iter().filter(|it| !it.revoked).map(|it| &it.machine).collect();
            seen.agents.retain(|machine, _| there.contains(machine));
            seen.machines = machines;
        }
        Output::Roster(parts) => parts.into_iter().for_each(|part| merge(seen, part)),
        // Mail and claims are not carried yet. The hub keeps what is addressed to this machine.
        Output::Store(_) | Output::Fate(_) | Output::Again(_) | Output::Answer(..) => {}
        Output::Dial | Output::Send(_) | Output::HangUp => {}
    }
}

fn merge(seen: &mut Seen, part: RosterPart) {
    let agents = seen.agents.entry(part.machine).or_default();
    if part.whole {
        agents.clear();
    }
    for gone in &part.gone {
        agents.remove(gone);
    }
    agents.extend(part.agents.into_iter().map(|status| (status.agent.clone(), status)));
}

/// The agents of this machine, as `fleet list` shows them.
struct LocalAgents {
    settings: SettingsFiles,
    readers: Arc<Database>,
    machine: Machine,
}

impl LocalAgents {
    async fn report(mut self, wishes: UnboundedSender<Wish>) {
        let mut known: BTreeSet<Uid> = BTreeSet::new();
        loop {
            let now: Vec<AgentStatus> = self.look();
            let there: BTreeSet<Uid> = now.iter().map(|status| status.agent.clone()).collect();
            let gone = known.difference(&there).cloned().map(Wish::Gone);
            for wish in gone.chain(now.into_iter().map(Wish::Status)) {
                if wishes.send(wish).is_err() {
                    return;
                }
            }
            known = there;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What the agents do now. Nothing, where the database can't be read.
    fn look(&mut self) -> Vec<AgentStatus> {
        let verb = substrate_features::ALL
            .iter()
            .flat_map(|feature| feature.verbs)
            .find(|verb| verb.path == ["fleet", "list"]);
        let Some(verb) = verb else { return Vec::new() };
        let settings = self.settings.at(Path::new("/"));
        let caller = Caller { cwd: "/".to_owned(), ..Caller::default() };
        let (closed, machine) = (Gathered::closed(), &self.machine);
        let ran = self
            .readers
            .read(|db| host::run_verb(db, machine, &settings, &closed, verb, &caller, json!({})));
        let Ok(VerbRun::Done(output, _)) = ran else { return Vec::new() };
        let actors = output.json["actors"].as_array().map_or(&[][..], Vec::as_slice);
        let now = clock::now().0;
        actors.iter().filter_map(|actor| status(actor, now)).collect()
    }
}

/// An agent as others see it. Of its project they see the name of the folder and not where it is.
fn status(actor: &Value, now: i64) -> Option<AgentStatus> {
    if !actor["subagent"].is_null() || actor["status"] == "gone" {
        return None;
    }
    let label = |text: &str| {
        let plain: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
        Label::try_from(plain).unwrap_or_default()
    };
    let name = actor["agent"].as_str()?;
    let project = Path::new(actor["project"].as_str().unwrap_or_default()).file_name();
    Some(AgentStatus {
        agent: Uid::try_from(name).ok()?,
        name: label(name),
        project: label(&project.unwrap_or_default().to_string_lossy()),
        status: label(actor["status"].as_str().unwrap_or_default()),
        for_ms: actor["since_ms"].as_i64().map_or(0, |since| (now - since).max(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_see_the_name_of_a_project_and_not_its_place() {
        let actor = json!({"agent": "CalmOtter", "subagent": null, "status": "working",
                           "project": "/home/anna/secret/shop", "since_ms": 40, "task": "private"});
        let status = status(&actor, 100).unwrap();
        assert_eq!((status.project.as_str(), status.for_ms), ("shop", 60));
        assert!(!serde_json::to_string(&status).unwrap().contains("secret"));
    }

    #[test]
    fn a_roster_is_merged_part_by_part() {
        let uid = |text: &str| Uid::try_from(text).unwrap();
        let agent = |name: &str| AgentStatus {
            agent: uid(name),
            name: Label::try_from(name).unwrap(),
            project: Label::default(),
            status: Label::default(),
            for_ms: 0,
        };
        let part = |whole, agents: &[&str], gone: &[&str]| RosterPart {
            machine: uid("m"),
            whole,
            agents: agents.iter().map(|name| agent(name)).collect(),
            gone: gone.iter().map(|name| uid(name)).collect(),
        };
        let mut seen = Seen::default();
        for (part, expected) in [
            (part(true, &["a", "b"], &[]), vec!["a", "b"]),
            (part(false, &["c"], &["a"]), vec!["b", "c"]),
            (part(true, &["d"], &[]), vec!["d"]),
        ] {
            take(&mut seen, Output::Roster(vec![part]));
            let names: Vec<&str> = seen.agents[&uid("m")].keys().map(Uid::as_str).collect();
            assert_eq!(names, expected);
        }
    }
}
