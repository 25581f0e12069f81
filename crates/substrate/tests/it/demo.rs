//! `substrate demo` plays its story through, and touches nothing of the user's.

use std::path::Path;

use substrate_testkit::{TestEnv, bin};

/// Every file below a folder.
fn files(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, out),
            path => out.push(path.display().to_string()),
        }
    }
}

#[test]
fn the_demo_shows_what_it_promises_and_leaves_nothing_behind() {
    let env = TestEnv::new();
    let before = {
        let mut out = Vec::new();
        files(env.root(), &mut out);
        out
    };
    let told = env.substrate(["demo"]).success();
    let mut at = 0;
    for expected in [
        "1. Names",
        "Each has a lasting name: otter is ",
        "2. Two agents, one file",
        "→ refused: ",
        "3. A command that would lose work",
        "→ refused: ",
        "4. Mail while it works",
        "parse() takes Options now.",
        "5. A subagent has a name of its own",
        "/reviewer",
        "6. An idle session wakes up",
        "is woken ",
        "7. The fleet at a glance",
        "The sandbox is gone.",
    ] {
        let found = told[at..].find(expected);
        at += found.unwrap_or_else(|| panic!("no {expected:?} behind byte {at} of\n{told}"));
    }
    let mut after = Vec::new();
    files(env.root(), &mut after);
    assert_eq!(before, after, "the demo wrote into the user's folders");
    let temp = env.root().join("tmp");
    assert!(!temp.is_dir() || std::fs::read_dir(temp).unwrap().next().is_none());
}

#[test]
fn programs_get_the_story_as_json() {
    let env = TestEnv::new();
    let json: serde_json::Value =
        serde_json::from_str(&env.substrate(["demo", "--format", "json"]).success()).unwrap();
    assert!(json["told"].as_array().is_some_and(|lines| lines.len() > 20), "{json}");
}

/// Without the hook client there is nothing to show.
#[test]
fn without_the_hook_client_the_demo_says_what_to_install() {
    let env = TestEnv::new();
    let alone = env.root().join("alone");
    std::fs::create_dir(&alone).unwrap();
    let copied = env.command("cp").arg(bin("substrate")).arg(&alone).status();
    assert!(copied.unwrap().success());
    let output = env.command(alone.join("substrate")).arg("demo").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("`substrate-hook` is not beside this program"), "{told}");
}
