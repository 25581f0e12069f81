//! A hub and two machines, each with a state home of its own: joining, what they see of each other, leaving.

use std::time::Duration;

use substrate_testkit::{Running, TestEnv, bin, wait_until};

use crate::fleet::Agent;

const DEADLINE: Duration = Duration::from_secs(60);

/// A hub on a free port of loopback.
fn hub(env: &TestEnv) -> Running {
    let mut command = env.command(bin("substrate"));
    command.args(["hub", "serve", "--listen", "127.0.0.1:0"]);
    let running = Running::start(command, Vec::new());
    let note = env.state().join("hub/serves.json");
    wait_until(DEADLINE, "the hub listens", || note.exists());
    running
}

fn invitation(env: &TestEnv) -> String {
    let line = env.substrate(["hub", "invite"]).success();
    line.trim().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn two_machines_join_see_each_other_and_leave() {
    let (office, laptop, desk) = (TestEnv::new(), TestEnv::new(), TestEnv::new());
    let _hub = hub(&office);
    let line = invitation(&office);
    let said = laptop.substrate(["team", "join", &line, "--name", "laptop"]).success();
    assert_eq!(said, "Joined as laptop. `substrate team members` shows who is there.\n");
    let again = desk.substrate(["team", "join", &line, "--name", "desk"]).code(1).stderr;
    assert!(again.contains("unknown, used or too old"), "{again}");
    desk.substrate(["team", "join", &invitation(&office), "--name", "desk"]).success();

    let _otter = Agent::begin(&laptop, "s-1", "CalmOtter", &[]);
    wait_until(DEADLINE, "the desk sees the laptop's agent", || {
        let members = desk.substrate(["team", "members"]).success();
        members.contains("  CalmOtter@laptop  ") && members.contains(", this one)")
    });
    let status = desk.substrate(["team", "status"]).success();
    assert!(
        status.contains("machine   desk") && status.contains("connected to 127.0.0.1:"),
        "{status}"
    );
    let listed = office.substrate(["hub", "machines"]).success();
    assert!(listed.contains("laptop") && listed.contains("desk"), "{listed}");

    office.substrate(["hub", "revoke", "desk"]).success();
    wait_until(DEADLINE, "the desk is cut off and says so", || {
        desk.substrate(["team", "status"]).success().contains("this machine was revoked")
    });
    let said = laptop.substrate(["team", "leave"]).success();
    assert_eq!(said, "Left the team. This machine was called laptop.\n");
    assert!(!laptop.state().join("team.json").exists());
    let listed = office.substrate(["hub", "machines", "--format", "json"]).success();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let revoked: Vec<bool> =
        listed.as_array().unwrap().iter().map(|it| it["revoked"] == true).collect();
    assert_eq!(revoked, [true, true]);
    laptop.substrate(["team", "status"]).code(1);
}

#[test]
fn without_a_hub_hooks_go_on_and_the_status_says_since_when() {
    let (office, laptop) = (TestEnv::new(), TestEnv::new());
    let running = hub(&office);
    laptop.substrate(["team", "join", &invitation(&office), "--name", "laptop"]).success();
    drop(running);
    wait_until(DEADLINE, "the status tells that the hub is away", || {
        laptop.substrate(["team", "status"]).success().contains("has been unreachable for")
    });
    let _otter = Agent::begin(&laptop, "s-1", "CalmOtter", &[]);
    let listed = laptop.substrate(["agent", "list"]).success();
    assert!(listed.contains("CalmOtter"), "{listed}");
    let left = laptop.substrate(["team", "leave"]);
    assert!(left.stderr.contains("`substrate hub revoke laptop`"), "{left}");
    left.success();
}
