//! A request is processed once, although two processes may try.

use substrate_testkit::{Running, TestEnv, bin};

use crate::house::{SOON, configure, daemon_pid, journal, plain, signal};

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

/// A hook as a registration of that scope starts it.
fn scoped(env: &TestEnv, session: &str, flags: &[&str]) {
    let mut command = env.command(bin("substrate-hook"));
    command.args(["claude-code", "Stop"]).args(flags).env("CLAUDE_PID", "4711");
    Running::start(command, plain(session, "Stop").to_string().into_bytes()).finish(SOON).success();
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
