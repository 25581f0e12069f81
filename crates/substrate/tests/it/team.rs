//! A hub and machines, each with a state home of its own: joining, mail between their agents, a hub that goes away, leaving.

use std::time::Duration;

use serde_json::Value;
use substrate_testkit::{Postgres, Running, TestEnv, bin, wait_until};

use crate::fleet::Agent;
use crate::house::signal;

const DEADLINE: Duration = Duration::from_secs(60);

/// A hub on a free port of loopback, or on the port that it had.
struct Hub {
    office: TestEnv,
    running: Option<Running>,
    database: Vec<String>,
}

impl Hub {
    fn start(database: &[&str]) -> Self {
        let database = database.iter().map(|word| (*word).to_owned()).collect();
        let mut hub = Self { office: TestEnv::new(), running: None, database };
        hub.serve("127.0.0.1:0");
        hub
    }

    fn note(&self) -> std::path::PathBuf {
        self.office.state().join("hub/serves.json")
    }

    fn serve(&mut self, listen: &str) {
        let _maybe_gone = std::fs::remove_file(self.note());
        let mut command = self.office.command(bin("substrate"));
        command.args(["hub", "serve", "--listen", listen]).args(&self.database);
        self.running = Some(Running::start(command, Vec::new()));
        wait_until(DEADLINE, "the hub listens", || self.note().exists());
    }

    fn address(&self) -> String {
        let note: Value =
            serde_json::from_str(&std::fs::read_to_string(self.note()).unwrap()).unwrap();
        note["address"].as_str().unwrap().to_owned()
    }

    fn kill(&mut self) {
        self.running = None;
    }

    fn again(&mut self) {
        let address = self.address();
        self.serve(&address);
    }

    fn run(&self, words: &[&str]) -> String {
        let database = self.database.iter().map(String::as_str);
        self.office.substrate(words.iter().copied().chain(database)).success()
    }

    fn invitation(&self) -> String {
        let line = self.run(&["hub", "invite"]);
        line.trim().rsplit(' ').next().unwrap().to_owned()
    }

    fn join(&self, name: &str) -> TestEnv {
        let machine = TestEnv::new();
        let said = machine.substrate(["team", "join", &self.invitation(), "--name", name]);
        let said = said.success();
        assert_eq!(
            said,
            format!("Joined as {name}. `substrate team members` shows who is there.\n")
        );
        machine
    }
}

fn json(env: &TestEnv, words: &[&str]) -> Value {
    let out = env.substrate(words.iter().copied().chain(["--format", "json"])).success();
    serde_json::from_str(&out).unwrap()
}

/// The subjects in an agent's mailbox, oldest first.
fn inbox(env: &TestEnv, agent: &str) -> Vec<String> {
    let found = json(env, &["inbox", "--agent", agent, "--peek", "-n", "200"]);
    let list = found["messages"].as_array().unwrap();
    list.iter().map(|one| one["subject"].as_str().unwrap().to_owned()).collect()
}

fn state(env: &TestEnv, id: &str) -> String {
    json(env, &["status", id])["state"].as_str().unwrap().to_owned()
}

#[test]
fn two_machines_join_see_each_other_and_leave() {
    let hub = Hub::start(&[]);
    let line = hub.invitation();
    let laptop = TestEnv::new();
    laptop.substrate(["team", "join", &line, "--name", "laptop"]).success();
    let desk = TestEnv::new();
    let again = desk.substrate(["team", "join", &line, "--name", "desk"]).code(1).stderr;
    assert!(again.contains("unknown, used or too old"), "{again}");
    desk.substrate(["team", "join", &hub.invitation(), "--name", "desk"]).success();

    let _otter = Agent::begin(&laptop, "s-1", "CalmOtter", &[]);
    wait_until(DEADLINE, "the desk sees the laptop's agent", || {
        let members = desk.substrate(["team", "members"]).success();
        members.contains("  CalmOtter@laptop  ") && members.contains(", this machine)")
    });
    assert!(desk.substrate(["agent", "list"]).success().contains("CalmOtter@laptop"));
    assert!(desk.substrate(["fleet"]).success().contains("On other machines\n"));
    let status = desk.substrate(["team", "status"]).success();
    assert!(
        status.contains("machine   desk") && status.contains("connected to 127.0.0.1:"),
        "{status}"
    );
    let listed = hub.run(&["hub", "machines"]);
    assert!(listed.contains("laptop") && listed.contains("desk"), "{listed}");
    let status = hub.run(&["hub", "status"]);
    assert!(
        status.contains("answers at 127.0.0.1:") && status.contains("machines  2,"),
        "{status}"
    );

    hub.run(&["hub", "revoke", "desk"]);
    wait_until(DEADLINE, "the desk is cut off and says so", || {
        desk.substrate(["team", "status"]).success().contains("this machine was revoked")
    });
    let said = laptop.substrate(["team", "leave"]).success();
    assert_eq!(said, "Left the team. This machine was called laptop.\n");
    assert!(!laptop.state().join("team.json").exists());
    let listed: Value =
        serde_json::from_str(&hub.run(&["hub", "machines", "--format", "json"])).unwrap();
    let revoked: Vec<bool> =
        listed.as_array().unwrap().iter().map(|it| it["revoked"] == true).collect();
    assert_eq!(revoked, [true, true]);
    laptop.substrate(["team", "status"]).code(1);
}

/// The whole way of a message, and of the answer to it.
fn mail_crosses(hub: &Hub) {
    let (laptop, desk) = (hub.join("laptop"), hub.join("desk"));
    let otter = Agent::begin(&laptop, "s-1", "CalmOtter", &[]);
    let _lion = Agent::begin(&desk, "s-2", "NobleLion", &[]);
    wait_until(DEADLINE, "the laptop knows the lion", || {
        laptop.substrate(["team", "members"]).success().contains("NobleLion@desk")
    });
    let sent = laptop.substrate(["send", "NobleLion", "the secret is plaice", "--deadline", "1h"]);
    let sent = sent.success();
    assert_eq!(sent, "Sent #1 to NobleLion@desk (on its way).\n");
    wait_until(DEADLINE, "it is in the lion's mailbox", || {
        inbox(&desk, "NobleLion") == ["the secret is plaice"]
    });
    wait_until(DEADLINE, "its sender knows", || state(&laptop, "1") == "at the machine");
    desk.substrate(["ack", "1", "--agent", "NobleLion"]).success();
    wait_until(DEADLINE, "the ack comes back", || state(&laptop, "1") == "acked");
    let way = laptop.substrate(["status", "1"]).success();
    for step in ["queued", "at the hub", "at the machine", "injected", "seen", "read", "acked"] {
        assert!(way.contains(step), "{step}: {way}");
    }

    desk.substrate(["reply", "1", "thanks", "--agent", "NobleLion"]).success();
    desk.substrate(["send", "CalmOtter@laptop", "look here", "--agent", "NobleLion"]).success();
    wait_until(DEADLINE, "the answer comes", || {
        inbox(&laptop, "User") == ["Re: the secret is plaice"]
            && inbox(&laptop, "CalmOtter") == ["look here"]
    });
    // The next prompt of the agent shows it, and that comes back too.
    otter.event("UserPromptSubmit", serde_json::json!({"prompt": "go on"}));
    let injected = || {
        let sent = json(&desk, &["status", "3", "--agent", "NobleLion"]);
        sent["deliveries"][0]["injected_ms"].is_i64()
    };
    wait_until(DEADLINE, "its sender sees that it was injected", injected);

    let failed = laptop.substrate(["send", "Stranger@desk", "hello?"]).success();
    let id = failed.split('#').nth(1).unwrap().split(' ').next().unwrap().to_owned();
    wait_until(DEADLINE, "the sender is told that it failed", || {
        state(&laptop, &id) == "failed"
            && inbox(&laptop, "User").contains(&"Not delivered: \"hello?\"".to_owned())
    });
}

#[test]
fn mail_crosses_machines_and_its_ledger_comes_back() {
    let hub = Hub::start(&[]);
    mail_crosses(&hub);
    // Neither text nor subject is anywhere in the hub's folder.
    for file in std::fs::read_dir(hub.office.state().join("hub")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"plaice"));
    }
}

#[test]
fn mail_crosses_machines_over_postgresql() {
    let server = Postgres::start();
    mail_crosses(&Hub::start(&["--database", &server.url()]));
}

#[test]
fn while_the_hub_is_away_everything_goes_on_and_says_so() {
    let mut hub = Hub::start(&[]);
    let (laptop, desk) = (hub.join("laptop"), hub.join("desk"));
    let _lion = Agent::begin(&desk, "s-2", "NobleLion", &[]);
    wait_until(DEADLINE, "the laptop knows the lion", || {
        laptop.substrate(["team", "members"]).success().contains("NobleLion@desk")
    });
    laptop.substrate(["send", "NobleLion@desk", "m0"]).success();
    wait_until(DEADLINE, "the first arrives", || inbox(&desk, "NobleLion") == ["m0"]);
    hub.kill();
    wait_until(DEADLINE, "the status tells that the hub is away", || {
        laptop.substrate(["team", "status"]).success().contains("has been unreachable since ")
    });
    let doctor = laptop.substrate(["doctor"]);
    assert!(doctor.stdout.contains("has been unreachable for"), "{doctor}");
    for n in 1..=5 {
        let said = laptop.substrate(["send", "NobleLion@desk", &format!("m{n}")]).success();
        assert!(said.contains("it will go out when the hub is back"), "{said}");
    }
    let _otter = Agent::begin(&laptop, "s-1", "CalmOtter", &[]);
    assert!(laptop.substrate(["agent", "list"]).success().contains("CalmOtter"));
    // A daemon that ends meanwhile forgets nothing.
    laptop.substrate(["daemon", "restart"]).success();
    hub.again();
    wait_until(DEADLINE, "all arrive, once and in order", || inbox(&desk, "NobleLion").len() >= 6);
    assert_eq!(inbox(&desk, "NobleLion"), ["m0", "m1", "m2", "m3", "m4", "m5"]);
    wait_until(DEADLINE, "nothing waits any more", || {
        json(&laptop, &["team", "status"])["outbox"] == 0
    });
    hub.kill();
    let left = laptop.substrate(["team", "leave"]);
    assert!(left.stderr.contains("`substrate hub revoke laptop`"), "{left}");
    left.success();
}

#[test]
fn a_hub_stops_when_it_is_asked_to() {
    let mut hub = Hub::start(&[]);
    let running = hub.running.take().unwrap();
    signal(&hub.office, "-TERM", running.pid());
    running.finish(DEADLINE).success();
}

/// The command line of each example is one that this program takes.
#[test]
fn the_examples_for_systemd_and_containers_start_a_hub() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hub");
    let unit = std::fs::read_to_string(docs.join("substrate-hub.service")).unwrap();
    let mut sections: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in unit.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => sections.push((name, Vec::new())),
            None => sections.last_mut().unwrap().1.push(line.split_once('=').unwrap()),
        }
    }
    let names: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["Unit", "Service", "Install"]);
    let started = sections[1].1.iter().find(|(key, _)| *key == "ExecStart").unwrap().1;
    let container = std::fs::read_to_string(docs.join("Containerfile")).unwrap();
    let entry = container.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    let entry: Vec<String> = serde_json::from_str(entry).unwrap();
    let started: Vec<String> = started.split(' ').map(str::to_owned).collect();
    for words in [started, entry] {
        assert_eq!(words[0], "/usr/local/bin/substrate");
        let env = TestEnv::new();
        // Help comes only after every flag was understood.
        let help = env.substrate(words[1..].iter().map(String::as_str).chain(["--help"]));
        assert!(help.success().contains("substrate hub serve"));
    }
}

#[test]
fn a_named_resource_has_one_holder_with_and_without_a_hub() {
    let alone = TestEnv::new();
    let held = json(&alone, &["claim", "staging-db", "--ttl", "1h"]);
    let first = held["epoch"].as_i64().unwrap();
    let taken = alone.substrate(["claim", "staging-db", "--", "true"]).code(1).stderr;
    assert!(taken.contains("User holds `staging-db` for another"), "{taken}");
    alone.substrate(["claim", "release", "staging-db"]).success();
    let script = "test \"$SUBSTRATE_CLAIM\" = staging-db && echo $SUBSTRATE_CLAIM_EPOCH && exit 7";
    let ran = alone.substrate(["claim", "staging-db", "--", "sh", "-c", script]).code(7);
    assert!(ran.stdout.trim().parse::<i64>().unwrap() > first, "{ran}");
    assert!(alone.substrate(["claim", "list"]).success().starts_with("No claims are held."));

    let mut hub = Hub::start(&[]);
    let (laptop, desk) = (hub.join("laptop"), hub.join("desk"));
    let held = json(&laptop, &["claim", "staging-db", "--ttl", "1h", "--note", "migrating"]);
    assert_eq!(held["in_team"], true);
    wait_until(DEADLINE, "the desk knows the laptop by its name", || {
        desk.substrate(["team", "members"]).success().contains("laptop")
    });
    let taken = desk.substrate(["claim", "staging-db"]).code(1).stderr;
    assert!(taken.contains("User@laptop holds `staging-db`"), "{taken}");
    let list = desk.substrate(["claim", "list"]).success();
    assert!(list.contains("staging-db  User@laptop for") && list.contains("migrating"), "{list}");
    laptop.substrate(["claim", "release", "staging-db"]).success();
    let later = json(&desk, &["claim", "staging-db"]);
    assert!(later["epoch"].as_i64() > held["epoch"].as_i64(), "{later} {held}");
    hub.kill();
    wait_until(DEADLINE, "the laptop knows that the hub is away", || {
        json(&laptop, &["team", "status"])["connected"] == false
    });
    let refused = laptop.substrate(["claim", "other"]).code(1).stderr;
    assert!(refused.contains("the team's hub is away, so no claim is certain"), "{refused}");
}
