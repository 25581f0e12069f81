//! Settings are layered, and changes apply while everything runs.

use substrate_testkit::{TestEnv, wait_until, write_file};

use crate::house::{DENY, SOON, bash, configure};

#[test]
fn a_change_is_in_force_without_a_restart() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let verdict = || env.hook("PreToolUse", bash("a", "ls")).success();
    assert_eq!(verdict(), "");
    configure(&env, DENY);
    wait_until(SOON, "the rule is in force", || verdict().contains("not here"));
    configure(&env, "");
    wait_until(SOON, "the rule is gone", || verdict().is_empty());
}

#[test]
fn a_value_says_which_profile_it_comes_from() {
    let env = TestEnv::new();
    configure(&env, "\nprofile = [\"persistent\", \"locks\"]\n");
    write_file(&env.project().join(".substrate.toml"), b"profile = \"reminders\"\n");
    let all = env.substrate(["config"]).success();
    let line = |key: &str| all.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    for (key, profile, file) in [
        ("persist.mode", "persistent", "config.toml:2"),
        ("todos.insist", "persistent", "config.toml:2"),
        ("locks.mirror", "locks", "config.toml:2"),
        ("reminders.on", "reminders", ".substrate.toml:1"),
    ] {
        let line = line(key);
        assert!(line.contains(&format!("# profile {profile}, ")) && line.ends_with(file), "{line}");
    }
    assert!(line("efforts.on").ends_with("# default"), "{all}");
    assert!(line("profile").contains("[\"persistent\",\"locks\",\"reminders\"]"), "{all}");
    configure(&env, "profile = \"locks\"\n");
    assert!(env.substrate(["config"]).success().contains("profile locks, "), "one word works");
    env.substrate(["config", "set", "profile", "[\"locks\", \"engine\"]"]).success();
    assert_eq!(env.substrate(["config", "get", "efforts.on"]).success(), "true\n");
    let wrong = env.substrate(["config", "set", "profile", "[\"lock\"]"]).code(1);
    assert!(wrong.stderr.contains("`profile`: there is no `lock`"), "{}", wrong.stderr);
}

#[test]
fn every_value_says_where_it_comes_from() {
    let env = TestEnv::new();
    configure(&env, "journal.max_age = \"2d\"\n");
    write_file(
        &env.project().join(".substrate.toml"),
        b"profile = \"all\"\njournal.max_age = \"1s\"\n",
    );
    let all = env.substrate(["config"]).success();
    let line = |key: &str| all.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(
        line("journal.max_age").contains("= \"2d\" ")
            && line("journal.max_age").ends_with("config.toml:1"),
        "{all}"
    );
    assert!(line("profile").ends_with(".substrate.toml:1"), "{all}");
    assert!(line("journal.max_text").ends_with("# default"), "{all}");
    let told = env.substrate(["config", "check"]).code(4);
    assert!(
        told.stdout.contains(".substrate.toml:2: `journal.max_age`: a project can't set it"),
        "{}",
        told.stdout
    );
    assert_eq!(env.substrate(["config", "get", "profile"]).success(), "[\"all\"]\n");
    env.substrate(["config", "get", "nothing"]).code(1);
}
