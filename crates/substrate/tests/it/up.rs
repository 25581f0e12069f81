//! `substrate up`: with a person, without one, and its exit codes.

use std::os::unix::fs::PermissionsExt as _;

use substrate_testkit::{TestEnv, bin, write_file};

use crate::house::answered;

#[test]
fn without_a_terminal_up_needs_to_be_told_yes() {
    let env = TestEnv::new();
    let settings = env.config().join("settings.json");
    let refused = env.substrate(["up"]).code(1);
    assert!(refused.stderr.contains("`up` asks first, and this is not a terminal"), "{refused}");
    assert!(refused.stderr.contains("hint: `substrate up --yes`"), "{refused}");
    assert!(!settings.exists());
    env.substrate(["up", "--yes"]).success();
    assert!(settings.exists());
    // There is nothing left to ask about.
    env.substrate(["up"]).success();
    env.substrate(["doctor"]).success();
}

#[test]
fn in_a_terminal_up_asks() {
    let env = TestEnv::new();
    let settings = env.config().join("settings.json");
    let (code, told) = answered(&env, &["up"], "n");
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("[y/N]") && !settings.exists(), "{told}");
    let (code, told) = answered(&env, &["up"], "y");
    assert_eq!(code, 0, "{told}");
    assert!(settings.exists(), "{told}");
}

/// Without a client there is nothing to register hooks with, and nothing is wrong.
#[test]
fn without_a_client_up_and_doctor_find_nothing_wrong() {
    let env = TestEnv::new();
    let folder = env.root().join("bin");
    std::fs::create_dir(&folder).unwrap();
    for name in ["substrate", "substrate-hook"] {
        std::os::unix::fs::symlink(bin(name), folder.join(name)).unwrap();
    }
    let nowhere = env.root().join("nowhere");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let vars = [("CLAUDE_CONFIG_DIR", nowhere.to_str().unwrap()), ("PATH", &path)];
    let up = env.substrate_with(["up"], &vars);
    assert!(up.stderr.contains("no supported client was found"), "{up}");
    assert_eq!(up.status, Some(0), "{up}");
    let doctor = env.substrate_with(["doctor"], &vars);
    assert!(doctor.stdout.contains("  note  the hooks are not registered"), "{doctor}");
    assert_eq!(doctor.status, Some(0), "{doctor}");
    // An installed client changes that.
    let claude = folder.join("claude");
    write_file(&claude, "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let doctor = env.substrate_with(["doctor"], &vars).code(1);
    assert!(doctor.stdout.contains("  warn  the hooks are not registered"), "{doctor}");
}
