//! A queue that two sessions share, with real processes.

use serde_json::{Value, json};
use substrate_testkit::TestEnv;

use crate::fleet::Agent;

fn claim(env: &TestEnv, session: &str) -> Option<(i64, String)> {
    let run = env.substrate(["work", "claim", "--session-id", session, "--format", "json"]);
    if run.status != Some(0) {
        assert!(run.stderr.contains("no work is queued in this project"), "{run}");
        return None;
    }
    let item: Value = serde_json::from_str(&run.success()).unwrap();
    Some((item["id"].as_i64().unwrap(), item["title"].as_str().unwrap().to_owned()))
}

#[test]
fn work_is_done_by_one_and_comes_back_from_who_dies() {
    let env = TestEnv::new();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let _otter = Agent::begin(&env, "s2", "CalmOtter", &[]);
    let added = env.substrate(["work", "add", "parser", "--body", "in src"]).success();
    assert_eq!(added, "#1 is queued.\n");
    env.substrate(["work", "add", "printer"]).success();
    assert_eq!(claim(&env, "s1"), Some((1, "parser".to_owned())));
    assert_eq!(claim(&env, "s2"), Some((2, "printer".to_owned())));
    assert_eq!(claim(&env, "s2"), None);
    let lost = env.substrate(["work", "done", "1", "--session-id", "s2"]).code(1);
    assert!(lost.stderr.contains("#1 is not yours: NobleLion has it"), "{lost}");
    env.substrate(["work", "done", "2", "--session-id", "s2", "--result", "ok"]).success();
    lion.dies();
    let gone = env.substrate(["work", "done", "1", "--session-id", "s1"]).code(1);
    assert!(gone.stderr.contains("ended with the session that made it"), "{gone}");
    assert_eq!(claim(&env, "s2"), Some((1, "parser".to_owned())));
    let shown = env.substrate(["work", "show", "1"]).success();
    assert!(shown.contains("claimed by CalmOtter") && shown.contains("> in src"), "{shown}");
    env.substrate(["work", "done", "1", "--session-id", "s2"]).success();
    let list = env.substrate(["work", "list", "--format", "json"]).success();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["counts"], json!({"queued": 0, "claimed": 0, "done": 2}));
}

#[test]
fn a_waiting_claimant_gets_work_when_it_comes() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let _lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let mut command = env.command(substrate_testkit::bin("substrate"));
    command.args(["work", "claim", "--wait", "10s", "--session-id", "s1"]);
    let waiting = substrate_testkit::Running::start(command, Vec::new());
    substrate_testkit::wait_until(crate::house::SOON, "a waiting session", || {
        let status = env.substrate(["daemon", "status", "--format", "json"]).success();
        serde_json::from_str::<Value>(&status).unwrap()["n_waiting"] == 1
    });
    env.substrate(["work", "add", "parser"]).success();
    let got = waiting.finish(crate::house::SOON).success();
    assert!(got.starts_with("#1 is yours: parser\n"), "{got}");
}
