//! An event by hand, and what would be answered.

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin};

use crate::house::{DENY, SOON, bash, configure, journal, plain};

fn hook(env: &TestEnv, args: &[&str], payload: &Value) -> Run {
    let mut command = env.command(bin("substrate"));
    command.arg("hook").args(args);
    Running::start(command, payload.to_string().into_bytes()).finish(SOON)
}

fn explained(env: &TestEnv, event: &str, payload: &Value) -> Value {
    serde_json::from_str(&hook(env, &[event, "--explain", "--format", "json"], payload).success())
        .unwrap()
}

#[test]
fn explaining_tells_who_wished_what_and_changes_nothing() {
    let env = TestEnv::new();
    configure(&env, DENY);
    let told = explained(&env, "PreToolUse", &bash("s1", "echo hello"));
    assert_eq!((&told["allow"], &told["verdict"]), (&json!(false), &json!("deny")), "{told}");
    assert!(told["reason"].as_str().unwrap().contains("not here"), "{told}");
    let features = told["features"].as_array().unwrap();
    let guards = features.iter().find(|one| one["feature"] == "guards").unwrap();
    let wish = &guards["wishes"][0];
    assert_eq!((&wish["wish"], &wish["fate"]), (&json!("deny"), &json!("whole")));
    assert!(guards["costUs"].is_u64() && told["spentUs"].is_u64(), "{told}");
    let told = explained(&env, "UserPromptSubmit", &plain("s1", "UserPromptSubmit"));
    assert_eq!((&told["allow"], &told["reason"]), (&json!(true), &json!(null)), "{told}");
    assert!(journal(&env).is_empty(), "nothing was recorded");
}

/// Every payload that was captured from the real client, with every feature on.
#[test]
fn a_person_reads_it_on_one_screen() {
    let env = TestEnv::new();
    configure(&env, "profile = \"all\"\n");
    let samples =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/src/claude_code/samples");
    let mut n = 0;
    for sample in std::fs::read_dir(samples).unwrap().flatten() {
        let name = sample.file_name().into_string().unwrap();
        let event = name.split(['-', '.']).next().unwrap();
        if event.starts_with('_') {
            continue;
        }
        let payload = serde_json::from_slice(&std::fs::read(sample.path()).unwrap()).unwrap();
        let told = hook(&env, &[event, "--explain"], &payload).success();
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines.len() >= 4 && lines.len() <= 25, "{name}: {told}");
        assert!(lines.iter().all(|line| line.chars().count() <= 160), "{name}: {told}");
        assert!(lines[0].starts_with(&format!("{event}: ")), "{name}: {told}");
        n += 1;
    }
    assert!(n > 80, "{n} samples");
}

#[test]
fn a_refusal_is_told_first_and_what_to_do_with_it() {
    let env = TestEnv::new();
    let told = hook(&env, &["PreToolUse", "--explain"], &bash("s1", "git reset --hard")).success();
    assert!(told.starts_with("PreToolUse: refused\n  reason   "), "{told}");
    assert!(told.contains("\n  wishes   guards deny: "), "{told}");
    assert!(told.contains("\n  rules    ") && told.contains("\n  took     "), "{told}");
    assert!(told.ends_with("`--format json` shows all of it.\n"), "{told}");
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
