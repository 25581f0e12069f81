//! A project's settings file that asks for too much: the guards answer at once, and the person is told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, at_most, wait_until, write_file};

use crate::house::{SOON, configure};

/// Far below what reading such a file took, and far above what a busy machine needs.
const AT_ONCE: Duration = Duration::from_secs(5);

const N_BYTES: usize = 878 << 10;

fn event(env: &TestEnv, session: &str, kind: &str, more: &Value) -> Value {
    let mut event = json!({"session_id": session, "cwd": env.project(), "hook_event_name": kind});
    if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object()) {
        event.extend(more.clone());
    }
    let out = env.hook(kind, &event).success();
    serde_json::from_str(&out).unwrap_or_default()
}

/// The verdict on a command: `deny`, `ask`, or nothing.
fn verdict(env: &TestEnv, command: &str) -> String {
    let call = json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": command}});
    let told = event(env, "a", "PreToolUse", &call);
    told["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned()
}

fn notice(env: &TestEnv, session: &str) -> String {
    let told = event(env, session, "SessionStart", &json!({"source": "startup"}));
    told["systemMessage"].as_str().unwrap_or_default().to_owned()
}

fn project(env: &TestEnv, text: &str) {
    write_file(&env.project().join(".substrate.toml"), text.as_bytes());
}

#[test]
fn the_users_guards_refuse_at_once_whatever_a_project_asks_for() {
    let rules = format!("guards.rules=[{}]\n", "{},".repeat(N_BYTES / 3));
    let keys: String = (0..).map(|n| format!("key{n}=1\n")).take(N_BYTES / 11).collect();
    for bomb in [rules, keys] {
        let env = TestEnv::new();
        configure(
            &env,
            "[[guards.rules]]\nname = \"no-npm\"\nwhen = 'runs(\"npm\")'\naction = \"deny\"\nreason = \"Use pnpm.\"\nnext = \"`pnpm ci`\"\n",
        );
        project(&env, &bomb);
        env.substrate(["daemon", "start"]).success();
        let begun = Instant::now();
        for command in ["rm -rf ~", "npm ci"] {
            assert_eq!(verdict(&env, command), "deny", "{command}");
        }
        let took = begun.elapsed();
        assert!(took < at_most(AT_ONCE), "{took:?}");
        let told = notice(&env, "b");
        assert!(told.contains(".substrate.toml:1: this file is not used: it has"), "{told}");
        assert!(told.contains("KB, and at most 64 KB are read"), "{told}");
        assert_eq!(notice(&env, "b"), "", "once per session");
        let doctor = env.substrate(["doctor"]).stdout;
        assert!(doctor.contains("at most 64 KB are read"), "{doctor}");
    }
}

#[test]
fn the_last_good_version_stays_in_force_for_the_life_of_the_daemon() {
    let env = TestEnv::new();
    let good = "[[guards.rules]]\nname = \"no-make\"\nwhen = 'runs(\"make\")'\naction = \"deny\"\nreason = \"Use just.\"\nnext = \"`just`\"\n";
    project(&env, good);
    env.substrate(["daemon", "start"]).success();
    assert_eq!(verdict(&env, "make all"), "deny");
    project(&env, &format!("{good}{}", "[[guards.rules]]\n".repeat(200)));
    wait_until(SOON, "the notice", || {
        notice(&env, "b").contains(
            "`guards.rules` has 201 entries, and at most 200 are read; its last good version stays in force",
        )
    });
    assert_eq!(verdict(&env, "make all"), "deny");
    project(&env, "");
    wait_until(SOON, "the new file", || verdict(&env, "make all").is_empty());
    project(&env, &"x".repeat(N_BYTES));
    env.substrate(["daemon", "stop"]).success();
    assert_eq!(verdict(&env, "make all"), "", "nothing is left of it after a restart");
    assert_eq!(verdict(&env, "rm -rf ~"), "deny");
}

#[test]
fn settings_that_are_a_link_are_not_read() {
    let env = TestEnv::new();
    write_file(&env.root().join("elsewhere.toml"), b"agent-init.on = true\n");
    let link = env.project().join(".substrate.toml");
    std::os::unix::fs::symlink(env.root().join("elsewhere.toml"), link).unwrap();
    let told = env.substrate(["config", "check"]).code(4).stdout;
    assert!(told.contains("this file is not used: it could not be read: it is a link"), "{told}");
    assert_eq!(env.substrate(["config", "get", "agent-init.on"]).success(), "false\n");
}
