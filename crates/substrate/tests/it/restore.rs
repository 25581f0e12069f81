//! A damaged database: the error says what is wrong and which command helps, and that command helps.

use std::path::PathBuf;

use substrate_testkit::{TestEnv, write_file};

use crate::house::{bash, bytes, configure, journal};

/// The exit code for an unusable state home.
const STATE: i32 = 4;

fn database(env: &TestEnv) -> PathBuf {
    env.state().join("subtrate.db")
}

/// A database with one event, which is in a copy as well. No daemon runs.
fn with_a_copy() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "daemon.autostart = false\n");
    env.substrate(["daemon", "start"]).success();
    env.hook("PreToolUse", bash("a", "ls")).success();
    env.substrate(["db", "backup"]).success();
    env.substrate(["daemon", "stop"]).success();
    env
}

/// Overwrites ten pages.
fn damage(env: &TestEnv) -> Vec<u8> {
    let mut content = bytes(&database(env));
    for page in 2..12 {
        content[page * 4_096..][..3_000].fill(0xa5);
    }
    write_file(&database(env), &content);
    content
}

#[test]
fn the_newest_good_copy_takes_the_place_of_a_damaged_database() {
    let env = with_a_copy();
    // A damaged copy is skipped.
    write_file(&env.state().join("backups/daily-9999999999999.db"), vec![0x5a; 9_000]);
    let damaged = damage(&env);
    let said = env.substrate(["db", "check"]).code(STATE).stderr;
    assert!(said.contains("is damaged") && said.contains("`substrate db restore`"), "{said}");
    env.substrate(["db", "restore"]).success();
    env.substrate(["db", "check"]).success();
    assert_eq!(journal(&env).len(), 1);
    let aside = std::fs::read_dir(env.state()).unwrap().flatten().map(|entry| entry.path());
    let aside: Vec<_> =
        aside.filter(|path| path.to_string_lossy().contains(".db.damaged-")).collect();
    assert!(aside.iter().any(|path| bytes(path) == damaged), "it was kept: {aside:?}");
}

#[test]
fn a_running_daemon_is_stopped_first() {
    let env = with_a_copy();
    env.substrate(["daemon", "start"]).success();
    env.hook("PreToolUse", bash("b", "ls")).success();
    env.substrate(["db", "restore"]).success();
    env.substrate(["daemon", "status"]).code(3);
    assert_eq!(journal(&env).len(), 1, "what came after the copy is in the file that was kept");
}

#[test]
fn a_copy_that_is_damaged_or_absent_changes_nothing() {
    let env = with_a_copy();
    let before = bytes(&database(&env));
    let bad = env.root().join("bad.db");
    write_file(&bad, vec![0x5a; 9_000]);
    for (file, code) in [(bad, STATE), (env.root().join("absent.db"), 1)] {
        env.substrate(["db", "restore", &file.to_string_lossy()]).code(code);
    }
    std::fs::remove_dir_all(env.state().join("backups")).unwrap();
    let said = env.substrate(["db", "restore"]).code(1).stderr;
    assert!(said.contains("there is no good copy in"), "{said}");
    assert!(bytes(&database(&env)) == before);
}

#[test]
fn a_database_of_zero_bytes_is_damage() {
    let env = with_a_copy();
    write_file(&database(&env), b"");
    for words in [&["db", "check"][..], &["send", "--to", "User", "--subject", "s", "--body", "b"]]
    {
        let said = env.substrate(words).code(STATE).stderr;
        assert!(said.contains("the file has 0 bytes"), "{said}");
        assert!(said.contains("`substrate db restore`"), "{said}");
    }
    assert!(bytes(&database(&env)).is_empty());
    env.substrate(["db", "restore"]).success();
    assert_eq!(journal(&env).len(), 1);
}

#[test]
fn a_relative_home_is_refused() {
    let env = TestEnv::new();
    let said = env.substrate_with(["journal"], &[("SUBSTRATE_HOME", "state")]).code(STATE).stderr;
    assert!(said.contains("must be an absolute path") && said.contains("hint: "), "{said}");
    assert!(!env.project().join("state").exists());
}
