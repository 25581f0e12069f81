//! This machine in its team: between the link, which has a thread of its own, and the one writer.
//!
//! What the link brings is applied by hidden verbs of the features `team` and `mail`, each in a transaction, and only then
//! confirmed. What is in the outbox is read after commits. No hook waits for any of this.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_core::{Caller, RequestId};
use substrate_hub::dial::Wish;
use substrate_hub::keys::MachineKeys;
use substrate_hub::link::Output;
use substrate_hub::wire::{
    AgentStatus, Ask, Fate, Item, Label, RosterPart, State as MailState, Stored, Uid,
};
use tokio::time::{Instant, sleep_until};

use super::conn::{self, Call};
use super::state::{Counted, State};
use crate::team::{self, Channels, Membership};
use crate::{clock, proc};

/// How often the outbox is read at most, and how often it is although nothing was committed.
const PAUSE: Duration = Duration::from_millis(50);
const NOW_AND_THEN: Duration = Duration::from_secs(5);

/// How often the agents of this machine are looked at, at most.
const ROSTER: Duration = Duration::from_millis(1_000);

/// How much of what the link brought is applied in one transaction.
const BATCH: usize = 200;

/// Keeps this machine in its team until the daemon ends. Joining and leaving start another daemon.
pub(super) async fn tend(state: Rc<State>) {
    if state.is_brief {
        return;
    }
    let Some(membership) = Membership::read(&state.home) else { return };
    let Some(credentials) = membership.credentials() else {
        tracing::error!(
            "the keys of this machine's team are damaged; `substrate team leave`, then join again"
        );
        return;
    };
    let keys = credentials.keys.clone();
    let Channels { wishes, mut events } = match team::start(&membership, credentials) {
        Ok(channels) => channels,
        Err(error) => {
            tracing::error!(%error, "the link to the hub has no thread");
            return;
        }
    };
    let _watching = Counted::begin(&state, |counts| &counts.watching);
    let now = Instant::now();
    let mut desk = Desk {
        state: Rc::clone(&state),
        membership,
        keys,
        wishes,
        after: 0,
        again: Vec::new(),
        fates: Vec::new(),
        asked: 0,
        reported: BTreeSet::new(),
        roster_at: now,
    };
    desk.seen(json!({"up": false, "why": "not connected yet"})).await;
    let (mut look_at, mut is_stale) = (now, true);
    loop {
        // From here on no commit is missed.
        let committed = state.committed.notified();
        tokio::pin!(committed);
        if is_stale && look_at <= Instant::now() {
            is_stale = false;
            desk.look().await;
            look_at = Instant::now() + PAUSE;
        }
        let at_the_latest = if is_stale { look_at } else { look_at + NOW_AND_THEN };
        tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { return };
                let mut batch = vec![event];
                while batch.len() < BATCH && let Ok(event) = events.try_recv() {
                    batch.push(event);
                }
                desk.take(batch).await;
            }
            () = &mut committed => {}
            () = sleep_until(at_the_latest) => {}
        }
        is_stale = true;
    }
}

/// What is known between two looks.
struct Desk {
    state: Rc<State>,
    membership: Membership,
    keys: MachineKeys,
    wishes: tokio::sync::mpsc::UnboundedSender<Wish>,
    /// The newest message of the outbox that the link has.
    after: i64,
    /// What the hub forgot.
    again: Vec<String>,
    /// What could not be written yet.
    fates: Vec<Fate>,
    /// The newest question that the hub was asked.
    asked: i64,
    /// The agents that the link reports.
    reported: BTreeSet<Uid>,
    roster_at: Instant,
}

impl Desk {
    /// Passes on what is new on this machine.
    async fn look(&mut self) {
        while self.send_mail().await {}
        if self.roster_at <= Instant::now() {
            self.roster_at = Instant::now() + ROSTER;
            self.report().await;
        }
        if !self.fates.is_empty() {
            self.note_fates(Vec::new()).await;
        }
    }

    /// Hands the outbox to the link. `true`: there may be more.
    async fn send_mail(&mut self) -> bool {
        let again = std::mem::take(&mut self.again);
        let Some(due) = self.ask("due", json!({"after": self.after, "again": again})).await else {
            self.again = again;
            return false;
        };
        if due["receipts"] == true {
            self.ask("receipts", json!({})).await;
        }
        self.pass_questions(&due["asks"]);
        let out = due["out"].as_array().cloned().unwrap_or_default();
        let has_more = !out.is_empty() || due["receipts"] == true;
        for one in out {
            let Ok(one) = serde_json::from_value::<team::Outgoing>(one) else { continue };
            self.after = self.after.max(one.serial);
            let serial = one.serial;
            match team::envelope(&self.membership.machine, one) {
                Some((_, envelope)) => self.wish(Wish::Submit(Box::new(envelope))),
                None => tracing::warn!(serial, "a message can't be sealed, so it stays here"),
            }
        }
        has_more
    }

    /// Asks the hub what no other machine may decide.
    fn pass_questions(&mut self, asks: &Value) {
        for ask in asks.as_array().map_or(&[][..], Vec::as_slice) {
            let (Some(id), Ok(what)) =
                (ask["id"].as_i64(), serde_json::from_value::<Ask>(ask["what"].clone()))
            else {
                continue;
            };
            if id > self.asked {
                self.asked = id;
                let patience_ms = ask["patience_ms"].as_u64().unwrap_or(0);
                let id = u64::try_from(id).unwrap_or(0);
                self.wish(Wish::Ask { id, what, patience_ms });
            }
        }
    }

    /// Tells the link what the agents of this machine do.
    async fn report(&mut self) {
        let Some(fleet) = self.run(&["fleet", "list"], json!({})).await else { return };
        let now = clock::now().0;
        let actors = fleet["actors"].as_array().map_or(&[][..], Vec::as_slice);
        let there: Vec<AgentStatus> =
            actors.iter().filter_map(|actor| status(actor, now)).collect();
        let names: BTreeSet<Uid> = there.iter().map(|one| one.agent.clone()).collect();
        for gone in self.reported.difference(&names) {
            self.wish(Wish::Gone(gone.clone()));
        }
        there.into_iter().for_each(|one| self.wish(Wish::Status(one)));
        self.reported = names;
    }

    /// Applies what the link brought, in its order.
    async fn take(&mut self, batch: Vec<Output>) {
        let (mut items, mut fates) = (Vec::new(), Vec::new());
        let mut seen = serde_json::Map::new();
        let mut parts: Vec<RosterPart> = Vec::new();
        for event in batch {
            match event {
                Output::Up(_) => {
                    seen.insert("up".to_owned(), json!(true));
                }
                Output::Down(away) => {
                    seen.insert("up".to_owned(), json!(false));
                    seen.insert("why".to_owned(), json!(away.why));
                }
                Output::Machines(machines) => {
                    seen.insert("machines".to_owned(), json!(machines));
                }
                Output::Roster(more) => parts.extend(more),
                Output::Store(more) => items.extend(more),
                Output::Fate(fate) => fates.push(fate),
                Output::Again(id) => self.again.push(id.to_string()),
                Output::Answer(id, answer) => {
                    self.ask("answered", json!({"id": id, "answer": answer})).await;
                }
                Output::Dial | Output::Send(_) | Output::HangUp => {}
            }
        }
        if !parts.is_empty() {
            seen.insert("roster".to_owned(), json!(parts));
        }
        if !seen.is_empty() {
            self.seen(Value::Object(seen)).await;
        }
        if !items.is_empty() {
            self.store(items).await;
        }
        if !fates.is_empty() {
            self.note_fates(fates).await;
        }
    }

    /// Writes messages to disk and only then says that they are there. What is not confirmed comes again.
    async fn store(&self, items: Vec<Item>) {
        let list: Vec<Value> = items
            .iter()
            .map(|Item { envelope, .. }| {
                json!({
                    "uid": envelope.id, "machine": envelope.from, "n": envelope.n, "kind": envelope.kind.name(),
                    "agent": envelope.agent, "body": team::opened(envelope, &self.keys),
                })
            })
            .collect();
        if self.ask("arrived", json!({ "items": list })).await.is_none() {
            return;
        }
        let stored = |item: Item| Stored { number: item.number, id: item.envelope.id };
        self.wish(Wish::Stored(items.into_iter().map(stored).collect()));
    }

    async fn note_fates(&mut self, fates: Vec<Fate>) {
        self.fates.extend(fates);
        let state = |fate: &Fate| match fate.state {
            MailState::AtHub => "at_hub",
            MailState::AtMachine => "at_machine",
            MailState::NoMachine => "no_machine",
            MailState::Unseen | MailState::Unknown => "",
        };
        let list: Vec<Value> = self
            .fates
            .iter()
            .map(|fate| json!({"uid": fate.id, "state": state(fate), "at_ms": fate.at_ms}))
            .collect();
        if self.ask("fates", json!({ "fates": list })).await.is_some() {
            self.fates.clear();
        }
    }

    async fn seen(&self, mut what: Value) {
        let Membership { machine, name, team, addresses, .. } = &self.membership;
        what["machine"] = json!(machine);
        what["name"] = json!(name);
        what["team"] = json!(team);
        what["hub"] = json!(addresses.join(", "));
        self.ask("seen", what).await;
    }

    fn wish(&self, wish: Wish) {
        let _the_thread_ended = self.wishes.send(wish);
    }

    /// Runs one of the team's hidden verbs.
    async fn ask(&self, verb: &str, body: Value) -> Option<Value> {
        self.run(&["team", verb], body).await
    }

    /// Runs a verb as the user.
    async fn run(&self, path: &[&str], body: Value) -> Option<Value> {
        let caller = Caller {
            cwd: "/".to_owned(),
            request: RequestId(proc::random_id()).to_string(),
            ..Caller::default()
        };
        let path: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
        let call = Call { path, body, caller, repeated: false };
        match conn::command(&self.state, &call).await? {
            Ok(output) => Some(output.json),
            Err(error) => {
                tracing::warn!(error = error.render(), verb = ?call.path, "the team's part failed");
                None
            }
        }
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
    let word = match actor["idle"] == true {
        true => "idle",
        false => actor["status"].as_str().unwrap_or_default(),
    };
    Some(AgentStatus {
        agent: Uid::try_from(name).ok()?,
        name: label(name),
        project: label(&project.unwrap_or_default().to_string_lossy()),
        status: label(word),
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
}
