//! One daemon, started on demand, replaced without losing anything.

use std::os::unix::fs::PermissionsExt as _;

use substrate_testkit::{TestEnv, wait_until};

use crate::house::{SOON, configure, daemon_pid, journal, plain};

#[test]
fn it_starts_by_itself_and_stops_when_told() {
    let env = TestEnv::new();
    env.substrate(["daemon", "status"]).code(3);
    env.hook("Stop", plain("a", "Stop")).success();
    wait_until(SOON, "the hook started a daemon", || {
        env.substrate(["daemon", "status"]).status == Some(0)
    });
    let pid = daemon_pid(&env);
    assert_eq!(env.substrate(["daemon", "start"]).code(0).stderr, "the daemon runs already\n");
    assert_eq!(daemon_pid(&env), pid);
    env.substrate(["daemon", "run"]).code(1);
    env.substrate(["daemon", "stop"]).success();
    env.substrate(["daemon", "status"]).code(3);
    assert!(!env.state().join("daemon.sock").exists());
    env.substrate(["daemon", "stop"]).success();
}

#[test]
fn its_files_are_for_its_owner_only() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let mode = |name: &str| {
        env.state().join(name).symlink_metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(""), 0o700);
    assert_eq!(mode("daemon.sock"), 0o600);
    assert_eq!(mode("subtrate.db"), 0o600);
    assert_eq!(mode("logs"), 0o700);
}

#[test]
fn a_restart_hands_over_without_a_gap() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let old = daemon_pid(&env);
    std::thread::scope(|scope| {
        let hooks = scope.spawn(|| {
            for n in 0..60 {
                env.hook("Stop", plain(&format!("s{n}"), "Stop")).success();
            }
        });
        for _ in 0..3 {
            env.substrate(["daemon", "restart"]).success();
        }
        hooks.join().unwrap();
    });
    assert_ne!(daemon_pid(&env), old);
    let entries = journal(&env);
    assert_eq!(entries.len(), 60);
    assert!(
        entries.iter().all(|entry| entry["host"] == "daemon"),
        "no hook had to do without a daemon"
    );
}

#[test]
fn a_newer_program_takes_over_by_itself() {
    let env = TestEnv::new();
    let program = env.root().join("substrate");
    std::fs::copy(substrate_testkit::bin("substrate"), &program).unwrap();
    let run = |args: &[&str]| env.command(&program).args(args).output().unwrap();
    assert!(run(&["daemon", "start"]).status.success());
    let old = daemon_pid(&env);
    let newer = env.root().join("substrate.new");
    std::fs::copy(&program, &newer).unwrap();
    std::fs::rename(&newer, &program).unwrap();
    wait_until(SOON, "the new program took over", || daemon_pid(&env) != old);
    env.hook("Stop", plain("a", "Stop")).success();
    assert_eq!(journal(&env)[0]["host"], "daemon");
}

#[test]
fn a_program_that_does_not_work_takes_nothing_over() {
    let env = TestEnv::new();
    let program = env.root().join("substrate");
    std::fs::copy(substrate_testkit::bin("substrate"), &program).unwrap();
    assert!(env.command(&program).args(["daemon", "start"]).output().unwrap().status.success());
    let old = daemon_pid(&env);
    let broken = env.root().join("substrate.new");
    substrate_testkit::write_file(&broken, b"#!/bin/sh\nexit 1\n");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&broken, &program).unwrap();
    let log = || crate::house::bytes(&env.state().join("logs").join(log_name(&env)));
    wait_until(SOON, "it was tried", || {
        String::from_utf8_lossy(&log()).contains("did not start; going on")
    });
    assert_eq!(daemon_pid(&env), old);
}

#[test]
fn without_autostart_there_is_a_daemon_for_the_requests_at_hand() {
    let env = TestEnv::new();
    configure(&env, "daemon.autostart = false\n");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let env = &env;
            scope.spawn(move || env.hook("Stop", plain(&format!("s{n}"), "Stop")).success());
        }
    });
    assert_eq!(journal(&env).len(), 8);
    wait_until(SOON, "it has gone", || env.substrate(["daemon", "status"]).status == Some(3));
}

#[test]
fn a_very_long_state_home_works() {
    let env = TestEnv::new();
    let long = env.root().join("x".repeat(120)).display().to_string();
    let vars = [("SUBSTRATE_HOME", long.as_str())];
    env.substrate_with(["daemon", "start"], &vars).success();
    env.hook_with("Stop", plain("a", "Stop"), &vars).success();
    let out = env.substrate_with(["journal", "list", "--format", "json"], &vars).success();
    assert!(out.contains("\"host\": \"daemon\""), "{out}");
    env.substrate_with(["daemon", "stop"], &vars).success();
}

fn log_name(env: &TestEnv) -> String {
    let logs = std::fs::read_dir(env.state().join("logs")).unwrap().flatten();
    logs.map(|file| file.file_name().into_string().unwrap())
        .find(|name| name.starts_with("daemon"))
        .unwrap()
}
