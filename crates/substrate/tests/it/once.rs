//! A request is processed once, although two processes may try.

use substrate_testkit::{Running, TestEnv, bin};

use crate::house::{SOON, configure, daemon_pid, journal, plain, samples, signal};

#[test]
fn requests_that_wait_for_a_frozen_daemon_are_processed_once_by_its_successor() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    signal(&env, "-STOP", daemon_pid(&env));
    std::thread::scope(|scope| {
        for n in 0..8 {
            let env = &env;
            scope.spawn(move || env.hook("Stop", plain(&format!("s{n}"), "Stop")).success());
        }
    });
    env.hook("Stop", plain("after", "Stop")).success();
    let mut sessions: Vec<_> =
        journal(&env).iter().map(|entry| entry["session"].as_str().unwrap().to_owned()).collect();
    sessions.sort();
    assert_eq!(sessions, ["after", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
}

#[test]
fn many_hooks_without_a_daemon_start_exactly_one() {
    let env = TestEnv::new();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let env = &env;
            scope.spawn(move || {
                for k in 0..5 {
                    env.hook("Stop", plain(&format!("s{n}-{k}"), "Stop")).success();
                }
            });
        }
    });
    let mut sessions: Vec<_> =
        journal(&env).iter().map(|entry| entry["session"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sessions.len(), 80);
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 80);
    let log = env.state().join("logs");
    let began: usize = std::fs::read_dir(log)
        .unwrap()
        .flatten()
        .map(|file| std::fs::read_to_string(file.path()).unwrap().matches("daemon began").count())
        .sum();
    assert_eq!(began, 1, "one daemon");
}

/// A process that can't exist: a Stop waits for as long as its client lives.
const NO_CLIENT: &str = "999999999";

/// A hook as a registration of that scope starts it.
fn scoped(env: &TestEnv, session: &str, flags: &[&str]) {
    let mut command = env.command(bin("substrate-hook"));
    command.args(["claude-code", "Stop"]).args(flags).env("CLAUDE_PID", NO_CLIENT);
    Running::start(command, plain(session, "Stop").to_string().into_bytes()).finish(SOON).success();
}

/// A client that also runs the hooks of a repository that were registered with another one.
#[test]
fn a_hook_that_two_clients_registered_is_one_event_of_the_one_that_runs() {
    let env = TestEnv::new();
    let run = |client: &str, flag: &[&str]| {
        let mut command = env.command(bin("substrate-hook"));
        command.args([client, "UserPromptSubmit"]).args(flag);
        command.env("COPILOT_PROJECT_DIR", env.project());
        let stdin = plain("both", "UserPromptSubmit").to_string().into_bytes();
        Running::start(command, stdin).finish(SOON).success();
    };
    run("copilot", &[]);
    run("claude-code", &["--shared"]);
    let entries = journal(&env);
    let clients: Vec<_> = entries.iter().map(|entry| entry["client"].as_str().unwrap()).collect();
    assert_eq!(clients, ["copilot"]);
}

#[test]
fn two_scopes_are_one_event_and_one_scope_twice_is_two() {
    for autostart in [true, false] {
        let env = TestEnv::new();
        configure(&env, &format!("daemon.autostart = {autostart}\n"));
        if autostart {
            env.substrate(["daemon", "start"]).success();
        }
        scoped(&env, "both", &[]);
        scoped(&env, "both", &["--shared"]);
        scoped(&env, "other-way", &["--shared"]);
        scoped(&env, "other-way", &[]);
        scoped(&env, "local", &["--local"]);
        scoped(&env, "local", &[]);
        scoped(&env, "twice", &[]);
        scoped(&env, "twice", &[]);
        scoped(&env, "waiter", &["--wake"]);
        let entries = journal(&env);
        let sessions: Vec<_> =
            entries.iter().map(|entry| entry["session"].as_str().unwrap()).collect();
        assert_eq!(
            sessions,
            ["both", "other-way", "local", "twice", "twice"],
            "autostart = {autostart}"
        );
    }
}

/// A debug build reads every answer that it remembers from the tables again, and fails the feature if they differ.
#[test]
fn what_memory_says_is_in_the_tables_also_after_a_kill() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let mut samples = samples();
    // A dialog waits for its answer, and an end gives the name of its agent back.
    samples.retain(|(event, _)| !matches!(event.as_str(), "PermissionRequest" | "SessionEnd"));
    let mut agents = Vec::new();
    for round in 0..4 {
        let kill_at = samples.len() * (round + 1) / 5;
        for (n, (event, payload)) in samples.iter().enumerate() {
            if n == kill_at {
                signal(&env, "-KILL", daemon_pid(&env));
            }
            let mut payload = payload.clone();
            payload["session_id"] = format!("kept-{}", n % 3).into();
            payload["cwd"] = env.project().display().to_string().into();
            env.hook(event, payload).success();
        }
        let entries = journal(&env);
        let failed: Vec<_> = entries.iter().filter(|entry| !entry["failures"].is_null()).collect();
        assert!(failed.is_empty(), "round {round}: {failed:?}");
        let mut names: Vec<String> = entries
            .iter()
            .filter(|entry| entry["session"].as_str().is_some_and(|it| it.starts_with("kept-")))
            .map(|entry| format!("{} {}", entry["session"], entry["agent"]))
            .collect();
        names.sort();
        names.dedup();
        agents.push(names);
    }
    assert!(agents[0].len() == 3 && agents.iter().all(|names| *names == agents[0]), "{agents:?}");
}
