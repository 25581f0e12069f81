//! Waiting agents are reached at once, whatever happens to the daemon.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, at_most, bin, wait_until};

use crate::house::{SOON, configure, daemon_pid, plain, signal};

const HEARTBEAT: &str = "{\"decision\":\"block\",\"reason\":\"No new messages. Agent staying alive (heartbeat). Use Ctrl+C to force exit.\"}";

/// A process that stands in for a client; ended when dropped.
struct Client {
    running: Running,
}

impl Client {
    fn start(env: &TestEnv) -> Self {
        let mut command = env.command("/bin/sleep");
        command.arg("600");
        Self { running: Running::start(command, Vec::new()) }
    }

    fn end(&self, env: &TestEnv) {
        signal(env, "-KILL", self.running.pid());
    }
}

/// A hook of a session in that client.
fn start(env: &TestEnv, client: &Client, flags: &[&str], attended: &str) -> Running {
    let mut command = env.command(bin("substrate-hook"));
    command
        .args(["claude-code", "Stop"])
        .args(flags)
        .env("CLAUDECODE", "1")
        .env("CLAUDE_PID", client.running.pid().to_string());
    if !attended.is_empty() {
        command.env("CLAUDE_CODE_SESSION_ATTENDED", attended);
    }
    Running::start(command, plain("s1", "Stop").to_string().into_bytes())
}

fn name(env: &TestEnv) -> String {
    let list: Value = json_of(env.substrate(["agent", "list", "--all", "--format", "json"]));
    let mut names = list.as_array().unwrap().iter().filter_map(|one| one["name"].as_str());
    names.rfind(|name| *name != "User").unwrap().to_owned()
}

fn json_of(run: Run) -> Value {
    serde_json::from_str(&run.success()).unwrap()
}

fn n_waiting(env: &TestEnv) -> u64 {
    json_of(env.substrate(["daemon", "status", "--format", "json"]))["n_waiting"].as_u64().unwrap()
}

fn wait_for_waiters(env: &TestEnv, n: u64) {
    wait_until(SOON, "the waiters", || n_waiting(env) == n);
}

fn send(env: &TestEnv, subject: &str) {
    env.substrate(["send", "--to", &name(env), "--subject", subject, "--body", "x"]).success();
}

/// A home whose daemon runs, with one agent whose turn has ended.
fn home() -> (TestEnv, Client) {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let client = Client::start(&env);
    assert_eq!(start(&env, &client, &[], "1").finish(SOON).success(), "");
    (env, client)
}

#[track_caller]
fn woken(run: &Run, subject: &str) {
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stdout.is_empty() && run.stderr.contains(&format!("\"{subject}\"")), "{run:?}");
}

#[test]
fn a_waiter_is_woken_within_a_second_and_by_one_message_once() {
    let (env, client) = home();
    let waiter = start(&env, &client, &["--wake"], "1");
    wait_for_waiters(&env, 1);
    let begun = Instant::now();
    send(&env, "wake up");
    woken(&waiter.finish(SOON), "wake up");
    let took = begun.elapsed();
    assert!(took < at_most(Duration::from_secs(1)), "{took:?}");
    assert_eq!(start(&env, &client, &[], "1").finish(SOON).success(), "", "it was told");
}

#[test]
fn a_newer_waiter_takes_the_place_of_the_older() {
    let (env, client) = home();
    let older = start(&env, &client, &["--wake"], "1");
    wait_for_waiters(&env, 1);
    let newer = start(&env, &client, &["--wake"], "1");
    assert_eq!(older.finish(SOON).success(), "");
    wait_for_waiters(&env, 1);
    send(&env, "to the newer");
    woken(&newer.finish(SOON), "to the newer");
}

#[test]
fn a_waiter_outlives_its_daemon() {
    let (env, client) = home();
    for how in ["restart", "kill", "terminate"] {
        let waiter = start(&env, &client, &["--wake"], "1");
        wait_for_waiters(&env, 1);
        match how {
            "kill" => signal(&env, "-KILL", daemon_pid(&env)),
            "terminate" => signal(&env, "-TERM", daemon_pid(&env)),
            command => drop(env.substrate(["daemon", command]).success()),
        }
        send(&env, how);
        woken(&waiter.finish(SOON), how);
        env.substrate(["daemon", "start"]).success();
        assert_eq!(start(&env, &client, &[], "1").finish(SOON).success(), "", "{how}");
    }
}

#[test]
fn a_daemon_that_is_stopped_lets_its_waiters_go() {
    let (env, client) = home();
    let waiter = start(&env, &client, &["--wake"], "1");
    let mut command = env.command(bin("substrate"));
    let polling = Running::start(
        {
            command.args(["poll", "--wait", "60s"]);
            command
        },
        Vec::new(),
    );
    wait_for_waiters(&env, 2);
    let stopped = env.substrate(["daemon", "stop"]).code(0);
    assert!(stopped.stderr.contains("2 sessions were waiting for mail"), "{stopped:?}");
    assert_eq!(waiter.finish(SOON).success(), "");
    let polled = polling.finish(SOON).code(3);
    assert!(polled.stderr.contains("the daemon was stopped"), "{polled:?}");
    assert_eq!(
        env.substrate(["daemon", "status"]).code(3).stdout,
        "",
        "and nothing starts it again"
    );
}

#[test]
fn a_message_that_was_sent_without_the_daemon_wakes_its_waiters_when_it_runs_again() {
    let (env, client) = home();
    let name = name(&env);
    let waiter = start(&env, &client, &["--wake"], "1");
    wait_for_waiters(&env, 1);
    // The next hook replaces the daemon. The waiter asks the successor.
    signal(&env, "-STOP", daemon_pid(&env));
    env.hook("PreToolUse", plain("other", "PreToolUse")).success();
    env.substrate(["send", "--to", &name, "--subject", "on my own", "--body", "x"]).success();
    woken(&waiter.finish(SOON), "on my own");
}

#[test]
fn a_waiter_leaves_with_its_client_and_without_an_audience() {
    let (env, client) = home();
    assert_eq!(start(&env, &client, &["--wake"], "0").finish(SOON).success(), "", "print mode");
    let waiter = start(&env, &client, &["--wake"], "1");
    wait_for_waiters(&env, 1);
    client.end(&env);
    assert_eq!(waiter.finish(SOON).success(), "");
    wait_for_waiters(&env, 0);
}

#[test]
fn a_poll_holds_the_turn_until_mail_or_its_time() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"poll\"\npoll = \"2s\"\n");
    env.substrate(["daemon", "start"]).success();
    let client = Client::start(&env);
    let polling = start(&env, &client, &[], "0");
    wait_for_waiters(&env, 1);
    let status = json_of(env.substrate(["agent", "list", "--format", "json"]));
    assert!(status.to_string().contains("\"waiting\":true"), "{status}");
    assert_eq!(polling.finish(SOON).success(), HEARTBEAT);
    let polling = start(&env, &client, &[], "0");
    wait_for_waiters(&env, 1);
    send(&env, "something to do");
    let told = polling.finish(SOON).success();
    assert!(told.starts_with("{\"decision\":\"block\",\"reason\":\"You have 1 unread message:\\n- From: User - \\\"something to do\\\""), "{told}");
}

#[test]
fn a_poll_without_a_daemon_waits_by_itself() {
    let env = TestEnv::new();
    configure(&env, "[daemon]\nautostart = false\n[persist]\nmode = \"poll\"\npoll = \"60s\"\n");
    let client = Client::start(&env);
    let mut polling = start(&env, &client, &[], "");
    wait_until(SOON, "the session", || {
        let list = json_of(env.substrate(["agent", "list", "--all", "--format", "json"]));
        list.to_string().contains("active")
    });
    assert!(polling.is_running());
    send(&env, "no one else is here");
    let told = polling.finish(SOON).success();
    assert!(told.contains("no one else is here"), "{told}");
}

#[test]
fn a_hook_that_is_tried_by_hand_answers_the_heartbeat_at_once() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    let mut script = env.command(env.config().join("hooks/substrate/stop.sh"));
    script.env_remove("CLAUDECODE");
    let run = Running::start(script, json!({"session_id": "test-123"}).to_string().into_bytes());
    assert_eq!(run.finish(SOON).success(), HEARTBEAT);
}

#[test]
fn a_watch_prints_what_comes_and_ends() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    env.substrate(["identity", "ensure", "--session-id", "w1", "--agent", "Watcher"]).success();
    let mut command = env.command(bin("substrate"));
    command.args(["watch", "--agent", "Watcher"]);
    let watching = Running::start(command, Vec::new());
    wait_for_waiters(&env, 1);
    env.substrate(["send", "--to", "watcher", "--subject", "at last", "--body", "x"]).success();
    let printed = watching.finish(SOON).success();
    assert!(printed.contains("From: User - \"at last\""), "{printed}");
    let again = env.substrate(["poll", "--agent", "Watcher"]).success();
    assert_eq!(again, "No new messages.\n", "it was seen");
}

#[test]
fn lines_are_sent_over_one_connection_and_each_has_its_answer() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let lines = [
        json!({"to": "User", "subject": "one", "body": "1"}).to_string(),
        "not json".to_owned(),
        json!({"to": "Unknown", "subject": "two", "body": "2"}).to_string(),
        json!({"to": ["User"], "subject": "three", "body": "3"}).to_string(),
    ];
    let mut command = env.command(bin("substrate"));
    command.args(["send", "--jsonl", "-"]);
    let run = Running::start(command, format!("{}\n", lines.join("\n")).into_bytes()).finish(SOON);
    assert_eq!(run.status, Some(1), "{run:?}");
    let answers: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ok: Vec<&Value> = answers.iter().map(|answer| &answer["ok"]).collect();
    assert_eq!(ok, [true, false, false, true], "{answers:?}");
    assert!(run.stderr.contains("2 of 4 lines were not done"), "{}", run.stderr);
    let inbox = env.substrate(["inbox"]).success();
    assert!(
        inbox.contains("\"one\"") && inbox.contains("\"three\"") && !inbox.contains("two"),
        "{inbox}"
    );
}

#[test]
fn what_could_not_be_printed_was_not_delivered() {
    let (env, client) = home();
    let name = name(&env);
    send(&env, "do not lose me");
    let mut command = env.command("/bin/sh");
    let inbox = "\"$0\" inbox --agent \"$1\" > /dev/full";
    command.args(["-c", inbox, &bin("substrate").display().to_string(), &name]);
    let run = Running::start(command, Vec::new()).finish(SOON).code(4);
    assert!(run.stderr.contains("nothing was marked as seen or read"), "{run:?}");
    let mut command = env.command("/bin/sh");
    command.env("CLAUDE_PID", client.running.pid().to_string()).env("CLAUDECODE", "1");
    let hook = "\"$0\" claude-code UserPromptSubmit > /dev/full";
    command.args(["-c", hook, &bin("substrate-hook").display().to_string()]);
    let prompt =
        json!({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"});
    Running::start(command, prompt.to_string().into_bytes()).finish(SOON).success();
    let told = env.hook("UserPromptSubmit", prompt).success();
    assert!(told.contains("do not lose me"), "{told}");
    assert!(
        !env.hook("UserPromptSubmit", plain("s1", "UserPromptSubmit")).success().contains("[#2]")
    );
}

#[test]
fn a_poll_as_a_hook_says_nothing_when_there_is_nothing() {
    let (env, _client) = home();
    let poll = ["poll", "--session-id", "s1", "--format", "hook"];
    assert_eq!(env.substrate(poll).success(), "");
    send(&env, "now there is");
    let said = json_of(env.substrate(poll));
    assert_eq!(said["decision"], "block");
    assert!(said["reason"].as_str().unwrap().contains("\"now there is\""), "{said}");
    assert_eq!(env.substrate(poll).success(), "", "it was seen");
}

/// A session that edits a file of the project.
fn edits(env: &TestEnv, session: &str, file: &str) {
    for event in ["PreToolUse", "PostToolUse"] {
        let payload = json!({
            "session_id": session, "cwd": env.project(), "hook_event_name": event, "tool_name": "Edit",
            "tool_input": {"file_path": env.project().join(file)}, "tool_use_id": "toolu_1",
            "tool_response": {},
        });
        env.hook(event, payload).success();
    }
}

#[test]
fn any_number_of_agents_and_terminals_wait_for_one_file() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    edits(&env, "s1", "a.rs");
    for session in ["s2", "s3"] {
        env.hook("SessionStart", plain(session, "SessionStart")).success();
    }
    let waits = |session: Option<&str>| {
        let mut command = env.command(bin("substrate"));
        command.args(["locks", "wait", "a.rs", "--timeout", "60s"]).current_dir(env.project());
        if let Some(session) = session {
            command.args(["--session-id", session]);
        }
        Running::start(command, Vec::new())
    };
    let first = waits(Some("s2"));
    wait_for_waiters(&env, 1);
    let mut others: Vec<Running> = Vec::new();
    for (i, session) in (2..).zip([Some("s3"), None, None]) {
        others.push(waits(session));
        wait_for_waiters(&env, i);
    }
    // Only an agent's own newer command replaces its older one.
    others.push(waits(Some("s2")));
    let replaced = first.finish(SOON).code(3);
    assert!(replaced.stderr.contains("another command of this agent waits now"), "{replaced:?}");
    wait_for_waiters(&env, 4);
    // Another agent waits, so the first Stop says so.
    for again in [false, true] {
        let stop =
            json!({"session_id": "s1", "hook_event_name": "Stop", "stop_hook_active": again});
        env.hook("Stop", stop).success();
    }
    for waiter in others {
        let said = waiter.finish(SOON).success();
        assert!(said.starts_with("`a.rs` is free. "), "{said}");
    }
}
