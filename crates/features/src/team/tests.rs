//! Two machines, each with a real database, and what travels between them by hand: late, twice, in the wrong order, never.

use serde_json::{Value, json};
use substrate_core::{Caller, Detail, Event, EventKind, Output, StartSource, VerbError};

use crate::stage::Stage;

/// One machine of the team.
struct Machine {
    stage: Stage,
    id: &'static str,
    name: &'static str,
    /// What its link has read so far.
    after: i64,
}

fn person() -> Caller {
    Caller { project: "/repo".to_owned(), cwd: "/repo".to_owned(), ..Caller::default() }
}

impl Machine {
    /// A machine with an agent, whose link is up.
    fn new(id: &'static str, name: &'static str, agent: &str) -> Self {
        let mut machine = Self { stage: Stage::new(""), id, name, after: 0 };
        let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
        let event = Event {
            detail,
            wanted_agent: Some(agent.to_owned()),
            ..machine.stage.event(EventKind::SessionStart, "s-1")
        };
        machine.stage.told(&event);
        let machines = json!([
            {"machine": "m-1", "name": "laptop", "person": "anna", "seal": "s1"},
            {"machine": "m-2", "name": "desk", "person": "bela", "seal": "s2"},
            {"machine": "m-3", "name": "old", "person": "cleo", "seal": "s3", "revoked": true},
        ]);
        machine.seen(json!({"up": true, "machines": machines}));
        machine
    }

    fn seen(&mut self, mut what: Value) {
        for (key, value) in
            [("machine", self.id), ("name", self.name), ("team", "t"), ("hub", "hub:1")]
        {
            what[key] = json!(value);
        }
        self.run("team seen", what);
    }

    fn call(&mut self, path: &str, body: Value) -> Result<Output, VerbError> {
        let words: Vec<&str> = path.split(' ').collect();
        self.stage.call(&person(), &words, body)
    }

    fn run(&mut self, path: &str, body: Value) -> Output {
        self.call(path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn refused(&mut self, path: &str, body: Value) -> (String, String) {
        match self.call(path, body) {
            Err(VerbError::User { message, hint }) => (message, hint),
            other => panic!("{path}: {other:?}"),
        }
    }

    fn send(&mut self, to: &str, text: &str) -> i64 {
        let out = self.run("send", json!({"to": to, "subject": text, "body": text}));
        out.json["id"].as_i64().unwrap()
    }

    /// What the link reads now, receipts too.
    fn outgoing(&mut self) -> Vec<Value> {
        self.run("team receipts", json!({}));
        let due = self.run("team due", json!({"after": self.after})).json;
        let out = due["out"].as_array().unwrap().clone();
        self.after =
            out.iter().filter_map(|one| one["serial"].as_i64()).max().unwrap_or(self.after);
        out
    }

    /// Takes what another machine sent, as the daemon passes it on.
    fn take(&mut self, from: &str, mail: &[Value]) {
        let items: Vec<Value> = mail
            .iter()
            .map(|one| {
                json!({"uid": one["uid"], "machine": from, "n": one["n"], "kind": one["kind"],
                       "agent": one["agent"], "body": one["body"]})
            })
            .collect();
        self.run("team arrived", json!({ "items": items }));
    }

    fn fates(&mut self, mail: &[Value], state: &str) {
        let at = self.stage.now.0;
        let fates: Vec<Value> = mail
            .iter()
            .map(|one| json!({"uid": one["uid"], "state": state, "at_ms": at}))
            .collect();
        self.run("team fates", json!({ "fates": fates }));
    }

    fn state(&mut self, id: i64) -> String {
        self.run("status", json!({"id": id})).json["state"].as_str().unwrap().to_owned()
    }

    /// The subjects in an agent's mailbox, oldest first, with their senders.
    fn inbox(&mut self, agent: &str) -> Vec<(String, String)> {
        let caller = Caller { agent: Some(agent.to_owned()), agent_typed: true, ..person() };
        let out = self.stage.call(&caller, &["inbox"], json!({"peek": true})).unwrap();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let rows = out.json["messages"].as_array().unwrap();
        rows.iter().map(|row| (text(row, "from"), text(row, "subject"))).collect()
    }
}

fn two() -> (Machine, Machine) {
    (Machine::new("m-1", "laptop", "CalmOtter"), Machine::new("m-2", "desk", "NobleLion"))
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(from, subject)| ((*from).to_owned(), (*subject).to_owned())).collect()
}

#[test]
fn a_message_crosses_once_and_its_ledger_comes_back() {
    let (mut laptop, mut desk) = two();
    let id = laptop.send("NobleLion@desk", "hello");
    assert_eq!(laptop.state(id), "queued");
    let mail = laptop.outgoing();
    assert_eq!((mail.len(), &mail[0]["seal"], &mail[0]["n"]), (1, &json!("s2"), &json!(1)));
    laptop.fates(&mail, "at_hub");
    assert_eq!(laptop.state(id), "at the hub");
    desk.take("m-1", &mail);
    desk.take("m-1", &mail);
    assert_eq!(desk.inbox("NobleLion"), pairs(&[("User@laptop", "hello")]));
    laptop.fates(&mail, "at_machine");
    assert_eq!(laptop.state(id), "at the machine");
    assert_eq!(laptop.outgoing(), Vec::<Value>::new());

    let caller = Caller { agent: Some("NobleLion".to_owned()), agent_typed: true, ..person() };
    desk.stage.call(&caller, &["ack"], json!({"ids": [1]})).unwrap();
    let receipts = desk.outgoing();
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    laptop.take("m-2", &receipts);
    assert_eq!(laptop.state(id), "acked");
    assert_eq!(desk.outgoing(), Vec::<Value>::new(), "each step is told once");
}

#[test]
fn order_is_kept_whatever_order_they_come_in() {
    let (mut laptop, mut desk) = two();
    for n in 1..=5 {
        laptop.send("NobleLion@desk", &format!("m{n}"));
    }
    let mail = laptop.outgoing();
    for n in [2, 4, 1, 0, 3, 2] {
        desk.take("m-1", &mail[n..=n]);
    }
    let subjects: Vec<String> =
        desk.inbox("NobleLion").into_iter().map(|(_, subject)| subject).collect();
    assert_eq!(subjects, ["m1", "m2", "m3", "m4", "m5"]);
}

#[test]
fn what_waits_in_vain_for_an_earlier_one_is_shown_in_the_end() {
    let (mut laptop, mut desk) = two();
    laptop.send("NobleLion@desk", "lost");
    laptop.send("NobleLion@desk", "kept");
    let mail = laptop.outgoing();
    desk.take("m-1", &mail[1..]);
    assert_eq!(desk.inbox("NobleLion"), []);
    desk.stage.pass(6 * 60_000);
    desk.stage.with(|cx| crate::mail::FEATURE.tick.unwrap()(cx).unwrap());
    assert_eq!(desk.inbox("NobleLion"), pairs(&[("User@laptop", "kept")]));
    desk.take("m-1", &mail[..1]);
    assert_eq!(desk.inbox("NobleLion").len(), 2, "late, but not lost");
}

#[test]
fn a_reply_goes_back_into_the_same_thread() {
    let (mut laptop, mut desk) = two();
    let id = laptop.send("NobleLion@desk", "question");
    let mail = laptop.outgoing();
    desk.take("m-1", &mail);
    let caller = Caller { agent: Some("NobleLion".to_owned()), agent_typed: true, ..person() };
    let out = desk.stage.call(&caller, &["reply"], json!({"id": 1, "body": "answer"})).unwrap();
    assert!(out.text.contains("to User@laptop (on its way)"), "{}", out.text);
    let back = desk.outgoing();
    laptop.take("m-2", &back);
    let thread = laptop.run("thread", json!({ "id": id })).json;
    let messages = thread["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{thread}");
    assert_eq!(messages[1]["from"], "NobleLion@desk");
}

#[test]
fn an_unknown_recipient_fails_and_the_sender_is_told() {
    let (mut laptop, mut desk) = two();
    let id = laptop.send("Stranger@desk", "hello");
    let mail = laptop.outgoing();
    desk.take("m-1", &mail);
    laptop.fates(&mail, "at_machine");
    let refusals = desk.outgoing();
    laptop.take("m-2", &refusals);
    assert_eq!(laptop.state(id), "failed");
    laptop.take("m-2", &refusals);
    let told = laptop.inbox("User");
    assert_eq!(told, pairs(&[("Substrate", "Not delivered: \"hello\"")]));
    let way = laptop.run("status", json!({ "id": id })).text;
    assert!(way.contains("(no agent there is called 'Stranger')"), "{way}");
}

#[test]
fn a_machine_that_left_fails_what_was_under_way_to_it() {
    let (mut laptop, _) = two();
    let id = laptop.send("NobleLion@desk", "hello");
    let mail = laptop.outgoing();
    laptop.fates(&mail, "no_machine");
    assert_eq!(laptop.state(id), "failed");
    laptop.seen(json!({"machines": [{"machine": "m-1", "name": "laptop"}]}));
    let (message, _) =
        laptop.refused("send", json!({"to": "NobleLion@desk", "subject": "x", "body": "y"}));
    assert_eq!(message, "no machine of the team is called `desk`");
    laptop.run("team left", json!({}));
    let (message, _) = laptop.refused("team status", json!({}));
    assert_eq!(message, "this machine is in no team");
}

#[test]
fn a_name_without_a_machine_is_found_where_it_is_unique() {
    let (mut laptop, _) = two();
    let agent = |name: &str| json!({"agent": name, "name": name, "project": "shop", "status": "working", "for_ms": 60_000});
    let part = |machine: &str, names: &[&str]| {
        let agents: Vec<Value> = names.iter().map(|name| agent(name)).collect();
        json!({"machine": machine, "whole": true, "agents": agents})
    };
    let machines = json!([
        {"machine": "m-1", "name": "laptop", "person": "anna"},
        {"machine": "m-2", "name": "desk", "person": "bela"},
        {"machine": "m-4", "name": "shed", "person": "bela", "silent_ms": 500},
    ]);
    laptop.seen(json!({"machines": machines, "roster": [
        part("m-2", &["NobleLion", "KeenWren", "../etc"]), part("m-4", &["KeenWren"])]}));
    let out = laptop.run("send", json!({"to": "noblelion", "subject": "x", "body": "y"}));
    assert_eq!(out.text, "Sent #1 to NobleLion@desk (on its way).\n");
    let (message, hint) =
        laptop.refused("send", json!({"to": "KeenWren", "subject": "x", "body": "y"}));
    assert_eq!(message, "several machines have an agent `KeenWren`");
    assert_eq!(hint, "write `KeenWren@desk` or `KeenWren@shed`");
    let out = laptop.run("send", json!({"to": "bela", "subject": "x", "body": "y"}));
    assert!(out.text.contains("to User@desk ("), "{}", out.text);
    let list = laptop.run("agent list", json!({})).text;
    assert!(list.contains("On other machines\n  working    KeenWren@desk "), "{list}");
    assert!(!list.contains("etc"), "{list}");
    let fleet = laptop.run("fleet list", json!({})).json;
    assert_eq!(fleet["team"].as_array().unwrap().len(), 3);
}

#[test]
fn when_the_hub_is_away_every_answer_says_since_when() {
    let (mut laptop, _) = two();
    laptop.seen(json!({"roster": [{"machine": "m-2", "whole": true, "agents": [
        {"agent": "NobleLion", "name": "NobleLion", "project": "shop", "status": "idle"}]}]}));
    laptop.seen(json!({"up": false, "why": "connection refused"}));
    laptop.stage.pass(120_000);
    let out = laptop.run("send", json!({"to": "NobleLion@desk", "subject": "x", "body": "y"}));
    assert_eq!(
        out.text,
        "Sent #1 to NobleLion@desk (the hub has been unreachable since 08:00; it will go out when the hub is back).\n"
    );
    let status = laptop.run("team status", json!({})).text;
    assert_eq!(
        status,
        "machine   laptop\nhub       hub:1 has been unreachable since 08:00: connection refused\n\
         outbox    1 message is not at its machine yet\n"
    );
    let members = laptop.run("team members", json!({})).text;
    assert!(
        members.starts_with("The hub has been unreachable since 08:00. It told this before:\n"),
        "{members}"
    );
    let list = laptop.run("agent list", json!({})).text;
    assert!(list.contains("On other machines, as of 08:00: the hub is away\n"), "{list}");
}

#[test]
fn a_far_agent_is_never_a_caller_here_and_a_hostile_machine_speaks_only_for_itself() {
    let (mut laptop, mut desk) = two();
    let id = laptop.send("NobleLion@desk", "hello");
    let mail = laptop.outgoing();
    let caller = Caller { agent: Some("NobleLion@desk".to_owned()), agent_typed: true, ..person() };
    assert!(laptop.stage.call(&caller, &["inbox"], json!({})).is_err());
    // A receipt of a machine that the message was not for.
    let forged = json!({"of": mail[0]["uid"], "rev": 9, "acked_ms": 1}).to_string();
    let envelope =
        json!([{"uid": "u-1", "n": 0, "kind": "receipt", "agent": "Substrate", "body": forged}]);
    laptop.take("m-9", envelope.as_array().unwrap());
    assert_eq!(laptop.state(id), "queued");
    // Names that are none, bodies that can't be read, a sender that is this machine's user.
    for (agent, body) in [
        ("../../etc", json!({"to": "NobleLion", "subject": "a", "body": "b"}).to_string()),
        ("CalmOtter", "not json".to_owned()),
        ("CalmOtter", json!({"to": "Substrate", "subject": "a", "body": "b"}).to_string()),
        ("CalmOtter", json!({"to": "NobleLion", "subject": "", "body": "b"}).to_string()),
    ] {
        let envelope = json!([{"uid": format!("u-{agent}-{}", body.len()), "n": 0, "kind": "mail",
                               "agent": agent, "body": body}]);
        desk.take("m-1", envelope.as_array().unwrap());
    }
    assert_eq!(desk.inbox("NobleLion"), []);
    let body = json!({"to": "NobleLion", "subject": "hi", "body": "b"}).to_string();
    let envelope =
        json!([{"uid": "u-user", "n": 0, "kind": "mail", "agent": "user", "body": body}]);
    desk.take("m-1", envelope.as_array().unwrap());
    assert_eq!(desk.inbox("NobleLion"), pairs(&[("User@laptop", "hi")]));
}

#[test]
fn a_deadline_is_told_on_the_machine_of_its_sender_only() {
    let (mut laptop, mut desk) = two();
    let body = json!({"to": "NobleLion@desk", "subject": "soon", "body": "x", "deadline": "1h"});
    laptop.run("send", body);
    let mail = laptop.outgoing();
    desk.take("m-1", &mail);
    for machine in [&mut laptop, &mut desk] {
        machine.stage.pass(2 * 3_600_000);
        machine.stage.with(|cx| crate::mail::FEATURE.tick.unwrap()(cx).unwrap());
    }
    assert_eq!(
        laptop.inbox("User"),
        pairs(&[("Substrate", "No ack from NobleLion@desk: \"soon\"")])
    );
    desk.run("team receipts", json!({}));
    assert_eq!(desk.outgoing(), Vec::<Value>::new());
}

#[test]
fn without_a_team_this_machine_decides_and_epochs_grow() {
    let mut stage = Stage::new("");
    let mut claim = |body: Value| stage.call(&person(), &["team", "claim"], body);
    let first = claim(json!({"name": "db", "ttl": "1h"})).unwrap().json;
    let again = claim(json!({"name": "db", "ttl": "1h"})).unwrap().json;
    assert_eq!(first["epoch"], again["epoch"], "it goes on holding");
    let other = Caller { request: "another".to_owned(), ..person() };
    let fresh = json!({"name": "db", "ttl": "1h", "fresh": true});
    let taken = stage.call(&other, &["team", "claim"], fresh);
    let mut claim = |body: Value| stage.call(&person(), &["team", "claim"], body);
    assert_eq!(
        taken.unwrap_err().to_string(),
        "User holds `db` for another 1h at most",
        "another hold of the same user is another holder"
    );
    assert!(claim(json!({"name": "no spaces", "ttl": "1h"})).is_err());
    assert!(claim(json!({"name": "db", "ttl": "9d"})).is_err());
    stage.pass(3_600_001);
    let later = stage.call(&other, &["team", "claim"], json!({"name": "db", "ttl": "1h"}));
    let later = later.unwrap().json;
    assert!(later["epoch"].as_i64() > first["epoch"].as_i64());
    let token = json!({"name": "db", "token": first["token"]});
    let renewed = stage.call(&person(), &["team", "renew"], token);
    assert_eq!(renewed.unwrap_err().to_string(), "`db` is no longer yours");
    stage.call(&person(), &["team", "release"], json!({"name": "db"})).unwrap();
    let list = stage.call(&person(), &["team", "claims"], json!({})).unwrap();
    assert_eq!(list.json, json!([]));
}

#[test]
fn with_a_hub_its_answer_decides_and_without_one_nothing_is_certain() {
    let (mut laptop, _) = two();
    let asked = laptop.run("team claim", json!({"name": "db", "ttl": "1h"}));
    let wait = asked.wait.unwrap();
    let asks = laptop.run("team due", json!({})).json["asks"].clone();
    assert_eq!((&asks[0]["what"]["q"], &asks[0]["what"]["name"]), (&json!("claim"), &json!("db")));
    let held = json!({"a": "held", "epoch": 41, "ttl_ms": 3_600_000});
    laptop.run("team answered", json!({"id": asks[0]["id"], "answer": held}));
    let got = laptop.run("team claim", wait.body).json;
    assert_eq!((&got["epoch"], &got["in_team"]), (&json!(41), &json!(true)));

    let wait = laptop.run("team claim", json!({"name": "other", "ttl": "1h"})).wait.unwrap();
    let by = json!({"name": "other", "machine": "m-2", "holder": "NobleLion", "note": "`x`\u{1b}[2J",
                    "epoch": 7, "held_ms": 1, "left_ms": 60_000});
    laptop
        .run("team answered", json!({"id": wait.body["ask"], "answer": {"a": "taken", "by": by}}));
    let (message, _) = laptop.refused("team claim", wait.body);
    assert!(message.starts_with("NobleLion@desk holds `other` for another 1m"), "{message}");
    assert!(!message.contains('\u{1b}'));

    let wait = laptop.run("team claim", json!({"name": "slow", "ttl": "1h"})).wait.unwrap();
    laptop.stage.pass(6_000);
    let (message, _) = laptop.refused("team claim", wait.body);
    assert_eq!(message, "the team's hub is away, so no claim is certain");
    laptop.seen(json!({"up": false, "why": "gone"}));
    laptop.refused("team claim", json!({"name": "slow", "ttl": "1h"}));
    laptop.stage.set("[team]\nclaims_when_away = \"allow\"\n");
    let alone = laptop.run("team claim", json!({"name": "slow", "ttl": "1h"}));
    assert!(alone.text.contains("this machine decided alone"), "{}", alone.text);
}
