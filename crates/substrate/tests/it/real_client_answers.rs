//! The real client's dialogs and questions, answered by a command while they are on screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Tui, Turn, wait_until};

use crate::house::{SOON, configure, daemon_pid, journal, signal};
use crate::pane::Pane;

const DIALOG: &str = "Do you want to proceed?";

fn installed() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install"]).success();
    configure(&env, "[ui]\nanswer = true\n");
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

fn waiting(env: &TestEnv) -> Vec<Value> {
    let out = env.substrate(["answer", "--format", "json"]).success();
    serde_json::from_str::<Value>(&out).unwrap()["requests"].as_array().unwrap().clone()
}

/// Waits for the dialog on the screen and its row; returns the row's number.
fn asked(env: &TestEnv, tui: &Tui<'_>, words: &str) -> String {
    tui.wait_for(words, SOON);
    wait_until(SOON, "the row", || waiting(env).len() == 1);
    waiting(env)[0]["id"].to_string()
}

fn gone(env: &TestEnv) {
    wait_until(SOON, "no row", || waiting(env).is_empty());
}

#[test]
fn a_dialog_that_is_answered_by_a_command_runs_the_tool_or_does_not() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        bash("touch made"),
        bash("touch never"),
        Turn::text("I understand"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    let id = asked(&env, &tui, DIALOG);
    assert_eq!(waiting(&env)[0]["what"], "touch made");
    env.substrate(["answer", &id, "allow"]).success();
    wait_until(SOON, "the file", || env.project().join("made").exists());
    wait_until(SOON, "the second row", || {
        waiting(&env).iter().any(|row| row["what"] == "touch never")
    });
    let late = env.substrate(["answer", &id, "deny"]).code(1).stderr;
    assert!(late.contains("is closed: it was answered"), "{late}");
    let id = waiting(&env)[0]["id"].to_string();
    env.substrate(["answer", &id, "deny", "--reason", "not this one"]).success();
    model.wait_for_request("The user denied this call: not this one", SOON);
    tui.wait_for("I understand", SOON);
    gone(&env);
    assert!(!env.project().join("never").exists());
    let told = journal(&env);
    let said = told.iter().find(|entry| entry["verdict"] == "answer").expect("it is journaled");
    assert!(said.to_string().contains("allowed by the user, from the command line"), "{said}");
    tui.exit();
}

#[test]
fn a_dialog_that_is_answered_in_top_runs_the_tool_or_does_not() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        bash("touch made"),
        bash("touch never"),
        Turn::text("I understand"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    asked(&env, &tui, DIALOG);
    let pane = Pane::start(&env);
    pane.line("substrate top");
    wait_until(SOON, "the call", || {
        pane.screen().contains("> ! permission") && pane.screen().contains("\ntouch made")
    });
    pane.keys("y");
    wait_until(SOON, "the file", || env.project().join("made").exists());
    wait_until(SOON, "the second call", || pane.screen().contains("\ntouch never"));
    // A key that comes right after the call changed is not taken as an answer to it: press until it counts.
    wait_until(SOON, "the denial", || {
        pane.keys("n");
        waiting(&env).is_empty()
    });
    tui.wait_for("I understand", SOON);
    pane.wait(" 1 Needs you  2");
    assert!(!env.project().join("never").exists());
    let told = journal(&env);
    let said = told.iter().find(|entry| entry["verdict"] == "answer").expect("it is journaled");
    assert!(said.to_string().contains("allowed by the user, from substrate top"), "{said}");
    pane.keys("q");
    tui.exit();
}

#[test]
fn a_dialog_that_is_answered_in_the_terminal_leaves_no_row() {
    let env = installed();
    // The second dialog comes when the first one is gone from the screen: a key that was pressed once too often must not
    // answer it.
    let is_answered = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_answered);
    let second = Turn::from_request(move |_| {
        wait_until(SOON, "the first dialog is gone", || seen.load(Ordering::Relaxed));
        bash("touch never")
    });
    let model =
        ModelServer::start(Script::new([bash("touch made"), second, Turn::text("not reached")]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    asked(&env, &tui, DIALOG);
    tui.answer("1", DIALOG, SOON);
    is_answered.store(true, Ordering::Relaxed);
    wait_until(SOON, "the second dialog", || {
        waiting(&env).iter().map(|row| row["what"].clone()).collect::<Vec<_>>() == ["touch never"]
    });
    assert!(env.project().join("made").exists());
    tui.wait_for(DIALOG, SOON);
    tui.keys(&["Escape"]);
    gone(&env);
    let late = env.substrate(["answer", "2", "allow"]).code(1).stderr;
    assert!(late.contains("request #2 is closed"), "{late}");
    assert!(!env.project().join("never").exists());
    tui.stop();
}

#[test]
fn a_question_that_is_answered_by_a_command_reaches_the_model() {
    let env = installed();
    let question = json!({"questions": [{
        "question": "Which one?", "header": "Plan", "multiSelect": false,
        "options": [
            {"label": "Alpha", "description": "the first"},
            {"label": "Beta", "description": "the second"},
        ],
    }]});
    let model = ModelServer::start(Script::new([
        Turn::tool("AskUserQuestion", question),
        Turn::text("Beta it is"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    let id = asked(&env, &tui, "Which one?");
    assert_eq!(waiting(&env)[0]["questions"][0]["options"], json!(["Alpha", "Beta"]));
    env.substrate(["answer", &id, "--choose", "Beta"]).success();
    tui.wait_for("Beta it is", SOON);
    let requests = model.main_requests();
    let last = requests.last().unwrap();
    assert!(format!("{last:?}").contains("Which one?"), "{last:?}");
    gone(&env);
    tui.exit();
}

#[test]
fn a_dialog_outlives_a_daemon_that_is_killed_and_one_that_is_frozen() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        bash("touch first"),
        bash("touch second"),
        Turn::text("both done"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    asked(&env, &tui, DIALOG);
    signal(&env, "-KILL", daemon_pid(&env));
    // The hook finds the next daemon by itself, and its row is answered there.
    let id = asked(&env, &tui, DIALOG);
    env.substrate(["answer", &id, "allow"]).success();
    wait_until(SOON, "the first file", || env.project().join("first").exists());
    wait_until(SOON, "the second row", || {
        waiting(&env).iter().any(|row| row["what"] == "touch second")
    });
    tui.wait_for("touch second", SOON);
    tui.wait_for(DIALOG, SOON);
    let pid = daemon_pid(&env);
    signal(&env, "-STOP", pid);
    tui.answer("1", DIALOG, SOON);
    wait_until(SOON, "the second file", || env.project().join("second").exists());
    signal(&env, "-CONT", pid);
    tui.wait_for("both done", SOON);
    gone(&env);
    tui.exit();
}
