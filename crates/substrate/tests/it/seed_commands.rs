//! The commands that the documents of the five systems print can be typed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use substrate_testkit::{Running, TestEnv};

use crate::house::{SOON, configure};

const LIST: &str = include_str!("seed_commands.txt");

/// The scripts that stand for the document's `hook-name.sh`.
const SCRIPTS: [&str; 6] = [
    "setup-project.sh",
    "inject-context.sh",
    "remind-reflect.sh",
    "remind-validate.sh",
    "remind-reflexion.sh",
    "checkpoint-session.sh",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// How each is tried, and the command.
fn commands() -> Vec<(&'static str, &'static str)> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once(' ').unwrap()).map(|(how, line)| (how, line.trim())).collect()
}

/// A project with a commit, in which two tools were used. The state home is at the documents' path.
fn house() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "profile = [\"persistent\", \"locks\", \"reminders\"]\n");
    std::os::unix::fs::symlink(env.state(), env.home().join(".subtrate")).unwrap();
    let git = "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    assert!(env.command("/bin/sh").args(["-c", git]).status().unwrap().success());
    env.substrate(["hooks", "install", "--scripts"]).success();
    for (tool, input) in [
        ("Task", json!({"prompt": "look"})),
        ("Edit", json!({"file_path": env.project().join("a.ts")})),
    ] {
        let payload = json!({"session_id": "other", "hook_event_name": "PreToolUse", "cwd": env.project(),
            "tool_name": tool, "tool_input": input, "tool_use_id": "t"});
        env.hook("PreToolUse", payload).success();
    }
    env
}

/// Runs a line in a shell, as a person with a session's id in the environment.
fn run(env: &TestEnv, line: &str) {
    let mut shell = env.command("/bin/bash");
    shell.args(["-c", &format!("set -eo pipefail; {line}")]);
    shell.envs([("CLAUDE_SESSION_ID", "test-123"), ("session_id", "test-123")]);
    let run = Running::start(shell, b"{\"session_id\": \"test-123\"}".to_vec()).finish(SOON * 2);
    assert_eq!(run.status, Some(0), "{line}\n{}{}", run.stdout, run.stderr);
}

#[test]
fn every_command_of_the_documents_works_as_it_is_printed() {
    let env = house();
    for (how, line) in commands() {
        match how {
            "run" => {
                // Nothing is logged into a folder of the machine.
                let line = line.replace("\"/tmp\"", &json!(env.project()).to_string());
                let names: &[&str] = if line.contains("hook-name.sh") { &SCRIPTS } else { &[""] };
                for name in names {
                    run(&env, &line.replace("hook-name.sh", name));
                }
            }
            "dry" => {
                let dry = line.replace("make ", "make --dry-run ");
                run(&env, &format!("cd '{}' && {dry}", root().display()));
            }
            "follow" => {
                let mut shell = env.command("/bin/sh");
                shell.args(["-c", &format!("exec {line}")]).stdout(Stdio::piped());
                let mut child = shell.spawn().unwrap();
                let mut first = String::new();
                BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
                child.kill().unwrap();
                child.wait().unwrap();
                assert!(!first.is_empty(), "{line}");
            }
            "table" => {}
            how => panic!("`{how}` is no way to try a command"),
        }
    }
}

#[test]
fn what_replaces_a_command_is_in_the_docs() {
    let page = std::fs::read_to_string(root().join("docs/seeds.md")).unwrap();
    let (_, table) = page.split_once("## Commands").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let mut printed: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let all = commands().into_iter();
    let mut replaced: Vec<&str> =
        all.filter(|(how, _)| *how == "table").map(|(_, line)| line).collect();
    printed.sort_unstable();
    replaced.sort_unstable();
    assert_eq!(printed, replaced);
}
