//! What clients show beside their events, with real processes, files and a daemon.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_testkit::{TestEnv, wait_until, write_file};

use crate::fleet::{Agent, fleet};
use crate::house::{SOON, journal};

/// A home with a daemon, and a project with a repository.
fn home() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    env
}

fn edit(agent: &Agent<'_>, env: &TestEnv, file: &str) {
    let input = json!({"file_path": env.project().join(file)});
    for event in ["PreToolUse", "PostToolUse"] {
        let call = json!({
            "tool_name": "Edit", "tool_input": input, "tool_use_id": "toolu_1", "tool_response": {},
        });
        agent.event(event, call);
    }
}

fn held(env: &TestEnv) -> usize {
    env.substrate(["locks", "list"]).success().matches("a.rs").count()
}

fn send(env: &TestEnv, subject: &str) {
    env.substrate(["send", "--to", "NobleLion", "--subject", subject, "--body", "x"]).success();
}

fn n_waiting(env: &TestEnv) -> u64 {
    let out = env.substrate(["daemon", "status", "--format", "json"]).success();
    let status: Value = serde_json::from_str(&out).unwrap();
    status["n_waiting"].as_u64().unwrap()
}

fn is(env: &TestEnv, expected: &[&str]) -> bool {
    fleet(env) == expected
}

fn begin_turn(agent: &Agent<'_>) {
    agent.event("UserPromptSubmit", json!({"prompt": "go"}));
    agent.shows("busy", None);
}

#[test]
fn after_esc_the_agent_is_idle_its_lease_is_gone_and_its_mail_is_delivered() {
    let env = home();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    lion.shows("idle", None);
    let waiter = lion.waiter("SessionStart");
    wait_until(SOON, "the waiter", || n_waiting(&env) == 1);
    begin_turn(&lion);
    edit(&lion, &env, "a.rs");
    lion.bash("PreToolUse", "sleep 100");
    send(&env, "stop that");
    assert_eq!((held(&env), n_waiting(&env)), (1, 1), "it works, so its mail waits");
    lion.shows("idle", None);
    let woken = waiter.finish(SOON);
    assert_eq!(woken.status, Some(2), "{woken:?}");
    assert!(woken.stderr.contains("stop that"), "{woken:?}");
    assert!(is(&env, &["NobleLion done"]));
    assert_eq!(held(&env), 0);
    let shown = env.substrate(["fleet"]).success();
    assert!(shown.starts_with("Idle\n  idle       NobleLion"), "{shown}");
    assert!(shown.contains("interrupted by a person"), "{shown}");
    let events = journal(&env);
    let n = events.iter().filter(|entry| entry["event"] == "ActivityIdle").count();
    assert_eq!(n, 1, "what events had said is not said again: {events:?}");
}

#[test]
fn a_refused_dialog_is_over_and_one_that_no_event_told_of_is_attention() {
    let env = home();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    begin_turn(&lion);
    lion.bash("PreToolUse", "rm x");
    lion.bash("PermissionRequest", "rm x");
    lion.shows("waiting", Some("permission prompt"));
    assert!(is(&env, &["NobleLion attention"]));
    lion.shows("idle", None);
    wait_until(SOON, "the refusal", || is(&env, &["NobleLion done"]));
    begin_turn(&lion);
    lion.bash("PreToolUse", "rm x");
    lion.shows("waiting", Some("permission prompt"));
    wait_until(SOON, "the dialog", || is(&env, &["NobleLion attention"]));
    lion.shows("busy", None);
    wait_until(SOON, "its end", || is(&env, &["NobleLion working"]));
}

#[test]
fn only_the_file_of_the_very_process_counts() {
    let env = home();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let otter = Agent::begin(&env, "s2", "CalmOtter", &[]);
    let crab = Agent::begin(&env, "s3", "RedCrab", &[]);
    for agent in [&lion, &otter, &crab] {
        agent.event("UserPromptSubmit", json!({"prompt": "go"}));
    }
    lion.shows_as("1", "idle", None);
    // Half a file, as if it was read while being written; and a secret that must not leak.
    let folder = env.config().join("sessions");
    write_file(&folder.join("1.0f3a.key"), b"secret");
    write_file(&folder.join("1.json"), b"{\"pid\":1,\"sess");
    otter.shows("idle", None);
    wait_until(SOON, "the one", || fleet(&env).contains(&"CalmOtter done".to_owned()));
    let all = fleet(&env);
    assert!(all.contains(&"NobleLion working".to_owned()), "{all:?}");
    assert!(all.contains(&"RedCrab working".to_owned()), "it has no file: {all:?}");
}

#[test]
fn closing_one_of_two_terminals_leaves_the_other_and_its_waiters() {
    let env = home();
    let first = Agent::begin(&env, "s1", "NobleLion", &[]);
    begin_turn(&first);
    let second = Agent::quiet(&env, "s1", "NobleLion", &[]);
    second.event("SessionStart", json!({"source": "resume"}));
    assert!(is(&env, &["NobleLion working"]), "what the second does says nothing of the first");
    second.event("SessionEnd", json!({"reason": "prompt_input_exit"}));
    second.dies();
    assert!(is(&env, &["NobleLion working"]));
    first.event("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Built."}));
    assert!(is(&env, &["NobleLion done"]));
    let waiter = first.waiter("Stop");
    wait_until(SOON, "the waiter", || n_waiting(&env) == 1);
    send(&env, "still there?");
    assert_eq!(waiter.finish(SOON).status, Some(2));
    first.event("SessionEnd", json!({"reason": "prompt_input_exit"}));
    first.dies();
    assert!(is(&env, &[]));
    let all = env.substrate(["fleet", "--all"]).success();
    let resume = format!("`cd {} && claude --resume s1`", env.project().display());
    assert!(all.contains("closed     NobleLion") && all.contains(&resume), "{all}");
}

#[rstest]
#[case::closed(true)]
#[case::killed(false)]
fn a_terminal_that_ends_in_its_turn_beside_an_idle_one_leaves_nobody_at_work(
    #[case] says_so: bool,
) {
    let env = home();
    let first = Agent::begin(&env, "s1", "NobleLion", &[]);
    first.shows("idle", None);
    let second = Agent::quiet(&env, "s1", "NobleLion", &[]);
    second.event("SessionStart", json!({"source": "resume"}));
    begin_turn(&second);
    edit(&second, &env, "a.rs");
    assert!(is(&env, &["NobleLion working"]));
    assert_eq!(held(&env), 1);
    if says_so {
        second.leaves();
        second.event("SessionEnd", json!({"reason": "prompt_input_exit"}));
    }
    second.dies();
    wait_until(SOON, "the end of its turn", || is(&env, &["NobleLion done"]));
    assert_eq!(held(&env), 0);
}

#[test]
fn after_a_woken_turn_that_is_interrupted_a_waiter_is_still_there() {
    let env = home();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let of_start = lion.waiter("SessionStart");
    wait_until(SOON, "the first waiter", || n_waiting(&env) == 1);
    begin_turn(&lion);
    lion.event("Stop", json!({"stop_hook_active": false}));
    let of_stop = lion.waiter("Stop");
    wait_until(SOON, "the second waiter", || n_waiting(&env) == 2);
    send(&env, "one");
    let woken = of_stop.finish(SOON);
    assert!(woken.status == Some(2) && woken.stderr.contains("\"one\""), "{woken:?}");
    assert_eq!(n_waiting(&env), 1, "the waiter of the start stays");
    lion.event("UserPromptSubmit", json!({"prompt": "<task-notification>"}));
    lion.shows("busy", None);
    lion.bash("PreToolUse", "sleep 100");
    send(&env, "two");
    lion.shows("idle", None);
    let woken = of_start.finish(SOON);
    assert!(woken.status == Some(2) && woken.stderr.contains("\"two\""), "{woken:?}");
}

#[test]
fn a_client_without_session_files_says_it_in_its_transcript() {
    let env = home();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let path = env.config().join("projects/p/s1.jsonl");
    let line = "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"[Request interrupted by user]\"}]}}\n";
    write_file(&path, line);
    lion.event("UserPromptSubmit", json!({"prompt": "go", "transcript_path": path}));
    assert!(is(&env, &["NobleLion working"]));
    let mut text = line.to_owned();
    wait_until(SOON, "the end of the turn", || {
        // Again and again, since the time of the first look is unknown.
        text.push_str(line);
        write_file(&path, &text);
        is(&env, &["NobleLion done"])
    });
}
