//! A request is processed once, although two processes may try.

use substrate_testkit::{TestEnv, wait_until};

use crate::house::{Frozen, SOON, journal, plain};

#[test]
fn a_daemon_that_wakes_up_late_leaves_what_was_taken_over() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    {
        let _frozen = Frozen::begin(&env);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let env = &env;
                scope.spawn(move || env.hook("Stop", plain(&format!("s{n}"), "Stop")).success());
            }
        });
    }
    wait_until(SOON, "the daemon is back", || {
        env.substrate(["daemon", "status"]).status == Some(0)
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
