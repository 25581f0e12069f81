//! The interactive client under tmux.
use std::time::Duration;

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, wait_until};

use crate::{Notes, bash};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn it_takes_a_typed_prompt_and_shows_the_scripted_answer() {
    let env = TestEnv::new();
    let script = Script::new([bash("echo typed"), Turn::text("the first answer")])
        .on_prompt("and now?", [Turn::text("the second answer")]);
    let model = ModelServer::start(script);
    let notes = Notes::new(&env, "");
    let hooks = notes.hooks(&["SessionStart", "UserPromptSubmit", "PreToolUse", "SessionEnd"]);
    let client = Client::new(&env, &model).hooks(&hooks);

    let tui = client.interactive(&[]);
    tui.type_line("hello there");
    tui.wait_for("the first answer", SOON);
    tui.type_line("and now?");
    tui.wait_for("the second answer", SOON);
    tui.exit();

    let expected =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "UserPromptSubmit", "SessionEnd"];
    assert_eq!(notes.events(), expected);
    assert_eq!(model.main_requests()[0].prompts(), ["hello there"]);
}

#[test]
fn compaction_and_clear_keep_the_script_in_step() {
    let env = TestEnv::new();
    let script = Script::new([
        bash("echo one"),
        Turn::text("answer one"),
        Turn::text("answer two"),
        Turn::text("answer three"),
    ])
    .on_prompt("fresh", [Turn::text("answer fresh")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);

    let tui = client.interactive(&[]);
    tui.type_line("begin");
    tui.wait_for("answer one", SOON);
    tui.type_line("/compact");
    tui.wait_for("Compacted", SOON);
    tui.type_line("go on");
    tui.wait_for("answer two", SOON);
    tui.type_line("/clear");
    // The next line must not be typed into the command that still runs: a cleared screen has an empty prompt below it.
    wait_until(SOON, "the screen is cleared", || {
        let screen = tui.screen();
        !screen.contains("answer two") && screen.lines().any(|line| line.trim() == "❯")
    });
    tui.type_line("fresh");
    tui.wait_for("answer fresh", SOON);
    tui.stop();
}

#[test]
fn a_lost_terminal_ends_the_client() {
    let env = TestEnv::new();
    let model = ModelServer::start(Script::default());
    let notes = Notes::new(&env, "");
    let client =
        Client::new(&env, &model).settings(&json!({"hooks": notes.hooks(&["SessionEnd"])}));

    let tui = client.interactive(&[]);
    tui.stop();

    wait_until(SOON, "SessionEnd", || notes.events() == ["SessionEnd"]);
}
