//! Limits of the machine: whatever is full, too long or cut off, guards still judge, and nothing passes silently.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ipc::{Conn, HookRequest, Kind};
use rstest::rstest;
use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, bin, wait_until};

use crate::house::{DENY, SOON, bash, bytes, configure, daemon_pid, journal, plain, signal};

fn edit(env: &TestEnv, session: &str, file: &str) -> Value {
    json!({
        "session_id": session, "cwd": env.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Edit", "tool_use_id": "t1",
        "tool_input": {"file_path": env.project().join(file), "old_string": "a", "new_string": "b"},
    })
}

fn says(text: &str, decision: &str) -> bool {
    text.contains(&format!("\"permissionDecision\":\"{decision}\""))
}

#[test]
fn a_payload_that_is_too_long_to_be_judged_is_asked_about() {
    let env = TestEnv::new();
    let mut payload = bash("a", "ls");
    payload["tool_input"]["description"] = "x".repeat(33 << 20).into();
    let said = env.hook("PreToolUse", payload).success();
    assert!(says(&said, "ask"), "{said}");
}

/// A hook with a limit on file sizes, as `ulimit -f` sets it.
fn limited(env: &TestEnv, blocks: u32, payload: &Value) -> String {
    let mut command = env.command("/bin/bash");
    let script = format!("ulimit -f {blocks}; exec \"$0\" claude-code PreToolUse");
    command.args(["-c", &script]).arg(bin("substrate-hook"));
    Running::start(command, payload.to_string().into_bytes()).finish(SOON).success()
}

#[test]
fn a_limit_on_files_stops_neither_hook_nor_daemon_nor_guard() {
    let env = TestEnv::new();
    configure(&env, DENY);
    for n in 0..3 {
        // No daemon runs yet, so this one inherits the limit.
        let said = limited(&env, 0, &bash(&format!("s{n}"), "ls"));
        assert!(says(&said, "deny"), "{said}");
    }
    let mut long = bash("long", "ls");
    long["tool_input"]["description"] = "x".repeat(3 << 20).into();
    let said = limited(&env, 0, &long);
    assert!(says(&said, "deny") || says(&said, "ask"), "{said}");
    let first = edit(&env, "a", "f.rs");
    assert!(!says(&limited(&env, 0, &first), "deny"));
    let second = limited(&env, 0, &edit(&env, "b", "f.rs"));
    assert!(says(&second, "deny"), "leases hold in memory: {second}");
}

#[rstest]
#[case::the_hook_prints(true)]
#[case::what_it_became_prints(false)]
fn a_reader_that_never_reads_holds_no_hook_forever(#[case] has_daemon: bool) {
    let env = TestEnv::new();
    configure(&env, DENY);
    if has_daemon {
        env.substrate(["daemon", "start"]).success();
    }
    let mut command = env.command(bin("substrate-hook"));
    // A full pipe.
    let (_reader, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'x'; 64 << 10]).unwrap();
    command.args(["claude-code", "PreToolUse"]).stdin(Stdio::piped()).stdout(full);
    let mut hook = command.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(bash("a", "ls").to_string().as_bytes()).unwrap();
    let begun = Instant::now();
    wait_until(Duration::from_secs(25), "the hook ends", || hook.try_wait().unwrap().is_some());
    assert!(begun.elapsed() > Duration::from_millis(100), "the pipe was full");
}

#[test]
fn without_any_daemon_guards_refuse_and_the_model_hears_that_leases_are_off() {
    let env = TestEnv::new();
    // A file in the place of the state home.
    let home = env.root().join("no-home");
    substrate_testkit::write_file(&home, b"");
    let vars = [("SUBSTRATE_HOME", home.to_str().unwrap())];
    let said = env.hook_with("PreToolUse", bash("a", "rm -rf ~"), &vars).success();
    assert!(says(&said, "deny"), "{said}");
    assert_eq!(env.hook_with("PreToolUse", bash("a", "ls"), &vars).success(), "");
    let said = env.hook_with("PreToolUse", edit(&env, "a", "f.rs"), &vars).success();
    assert!(!says(&said, "deny") && said.contains("Files are not leased right now"), "{said}");
    assert_eq!(env.hook_with("Stop", plain("a", "Stop"), &vars).success(), "");
}

#[test]
fn a_relative_home_is_no_home_for_a_hook() {
    let env = TestEnv::new();
    let vars = [("SUBSTRATE_HOME", "state")];
    let said = env.hook_with("PreToolUse", bash("a", "rm -rf ~"), &vars).success();
    assert!(says(&said, "deny"), "{said}");
    assert!(!env.project().join("state").exists());
}

#[test]
fn a_hook_whose_program_is_gone_asks() {
    let env = TestEnv::new();
    let alone = env.root().join("alone");
    std::fs::create_dir(&alone).unwrap();
    std::fs::copy(bin("substrate-hook"), alone.join("substrate-hook")).unwrap();
    let mut command = env.command(alone.join("substrate-hook"));
    command.env("PATH", "/nowhere").args(["claude-code", "PreToolUse"]);
    let run = Running::start(command, bash("a", "ls").to_string().into_bytes()).finish(SOON);
    let said = run.success();
    assert!(says(&said, "ask") && said.contains("`substrate` did not start"), "{said}");
}

/// A message that waits for the agent of session `a`.
fn with_mail(env: &TestEnv) {
    env.hook("SessionStart", json!({"session_id": "a", "cwd": env.project(), "hook_event_name": "SessionStart", "source": "startup"})).success();
    let list = env.substrate(["agent", "list", "--all", "--format", "json"]).success();
    let list: Value = serde_json::from_str(&list).unwrap();
    let mut names = list.as_array().unwrap().iter().filter_map(|one| one["name"].as_str());
    let name = names.rfind(|name| *name != "User").unwrap().to_owned();
    env.substrate(["send", "--to", &name, "--subject", "look", "--body", "x"]).success();
}

fn step(env: &TestEnv) -> String {
    let status = env.substrate(["status", "1", "--format", "json"]).success();
    let status: Value = serde_json::from_str(&status).unwrap();
    let delivery = &status["deliveries"][0];
    ["seen_ms", "injected_ms"]
        .into_iter()
        .find(|key| delivery[*key].is_i64())
        .unwrap_or("queued")
        .to_owned()
}

fn prompt(env: &TestEnv) -> Value {
    json!({"session_id": "a", "cwd": env.project(), "hook_event_name": "UserPromptSubmit", "prompt": "go"})
}

#[rstest]
#[case::of_the_hook(true)]
#[case::of_what_it_became(false)]
fn mail_that_a_closed_stdout_swallowed_is_told_again(#[case] has_daemon: bool) {
    let env = TestEnv::new();
    with_mail(&env);
    if !has_daemon {
        env.substrate(["daemon", "stop"]).success();
    }
    let mut command = env.command("/bin/sh");
    command.args(["-c", "exec \"$0\" claude-code UserPromptSubmit >&-"]).arg(bin("substrate-hook"));
    Running::start(command, prompt(&env).to_string().into_bytes()).finish(SOON).success();
    assert_eq!(step(&env), "queued");
    let said = env.hook("UserPromptSubmit", prompt(&env)).success();
    assert!(said.contains("[#1]"), "{said}");
    assert_eq!(step(&env), "injected_ms");
}

#[test]
fn mail_of_a_hook_that_was_killed_after_printing_is_told_again() {
    for (leaves, expected) in [(true, "injected_ms"), (false, "queued")] {
        let env = TestEnv::new();
        with_mail(&env);
        let payload = prompt(&env).to_string();
        let request = HookRequest {
            id: [7; 16],
            deadline_ms: 10_000,
            args: b"claude-code\0UserPromptSubmit\0",
            cwd: b"/",
            stdin: payload.as_bytes(),
            ..HookRequest::default()
        };
        let mut conn = Conn::open(&env.state(), SOON).unwrap();
        conn.send(Kind::Hook, [&request.bytes()], SOON).unwrap();
        assert_eq!(conn.receive(SOON).unwrap().0, Kind::Confirm);
        conn.send(Kind::Printed, [&request.id], SOON).unwrap();
        assert_eq!(conn.receive(SOON).unwrap().0, Kind::Reply);
        if leaves {
            conn.send(Kind::Leaving, [], SOON).unwrap();
        }
        // Without that frame the process was killed, and its client ignores its output.
        drop(conn);
        wait_until(SOON, expected, || step(&env) == expected);
    }
}

#[test]
fn a_daemon_whose_home_was_removed_ends_and_another_takes_its_place() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let old = daemon_pid(&env);
    std::fs::remove_dir_all(env.state()).unwrap();
    env.substrate(["send", "--to", "User", "--subject", "kept", "--body", "x"]).success();
    let new = daemon_pid(&env);
    assert_ne!(new, old);
    wait_until(SOON, "the old one has gone", || {
        std::fs::read_to_string(format!("/proc/{old}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    });
    assert_eq!(daemon_pid(&env), new, "and took nothing with it");
    assert!(env.substrate(["inbox"]).success().contains("kept"));
}

#[test]
fn nothing_is_acknowledged_into_a_database_that_is_gone() {
    let env = TestEnv::new();
    env.substrate(["send", "--to", "User", "--subject", "before", "--body", "x"]).success();
    let old = daemon_pid(&env);
    std::fs::remove_file(env.state().join("subtrate.db")).unwrap();
    env.substrate(["send", "--to", "User", "--subject", "after", "--body", "x"]).success();
    assert!(env.substrate(["inbox"]).success().contains("after"));
    assert_ne!(daemon_pid(&env), old);
    let trace = String::from_utf8(bytes(&env.state().join("logs/hook-trace.log"))).unwrap();
    assert!(trace.contains("was removed or replaced"), "{trace}");
}

#[test]
fn an_event_whose_caller_has_gone_changes_nothing_but_the_journal() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let daemon = daemon_pid(&env);
    env.hook("PreToolUse", edit(&env, "a", "f.rs")).success();
    // The turn's end is in flight when its hook is killed, and the agent goes on.
    signal(&env, "-STOP", daemon);
    let mut command = env.command(bin("substrate-hook"));
    command.args(["claude-code", "Stop"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut hook = command.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(plain("a", "Stop").to_string().as_bytes()).unwrap();
    wait_until(SOON, "its request is in the socket", || has_sent(hook.id()));
    hook.kill().unwrap();
    hook.wait().unwrap();
    signal(&env, "-CONT", daemon);
    wait_until(SOON, "it is in the journal", || journal(&env).len() == 2);
    let said = env.hook("PreToolUse", edit(&env, "b", "f.rs")).success();
    assert!(says(&said, "deny"), "the lease is still held: {said}");
}

/// Whether a hook waits for its answer: it sleeps in `poll`.
fn has_sent(pid: u32) -> bool {
    let wchan = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    // `poll` and `ppoll` on x86-64, and `ppoll` on aarch64.
    let number = wchan.split_whitespace().next().unwrap_or_default();
    ["7", "271", "73"].contains(&number) && wchan.split_whitespace().nth(2) == Some("0x1")
}
