//! An event by hand, and what would be answered.

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin};

use crate::house::{SOON, bash, configure, journal, plain};

fn hook(env: &TestEnv, args: &[&str], payload: &Value) -> Run {
    let mut command = env.command(bin("substrate"));
    command.arg("hook").args(args);
    Running::start(command, payload.to_string().into_bytes()).finish(SOON)
}

fn explained(env: &TestEnv, event: &str, payload: &Value) -> Value {
    serde_json::from_str(&hook(env, &[event, "--explain"], payload).success()).unwrap()
}

#[test]
fn explaining_tells_who_wished_what_and_changes_nothing() {
    let env = TestEnv::new();
    configure(&env, "[probe]\nrules = [\"PreToolUse Bash deny: not here\"]\n");
    let told = explained(&env, "PreToolUse", &bash("s1", "echo hello"));
    assert_eq!((&told["allow"], &told["verdict"]), (&json!(false), &json!("deny")), "{told}");
    assert!(told["reason"].as_str().unwrap().contains("not here"), "{told}");
    let probe = &told["features"][0];
    assert_eq!(probe["feature"], "probe");
    let wish = &probe["wishes"][0];
    assert_eq!((&wish["wish"], &wish["fate"]), (&json!("deny"), &json!("whole")));
    assert!(probe["costUs"].is_u64() && told["spentUs"].is_u64(), "{told}");
    let told = explained(&env, "UserPromptSubmit", &plain("s1", "UserPromptSubmit"));
    assert_eq!((&told["allow"], &told["reason"]), (&json!(true), &json!(null)), "{told}");
    assert!(journal(&env).is_empty(), "nothing was recorded");
}

#[test]
fn without_it_the_event_happens() {
    let env = TestEnv::new();
    hook(&env, &["Stop"], &plain("s1", "Stop")).success();
    assert_eq!(journal(&env).len(), 1);
    let refused = hook(&env, &["PreTool", "--explain"], &json!({})).code(1).stderr;
    assert!(refused.contains("no event is called `PreTool`"), "{refused}");
    assert!(refused.contains("PreToolUse"), "{refused}");
}
