//! The status of the real client in a real tmux, from its start to its end.

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, wait_until};

use crate::fleet::fleet;
use crate::house::SOON;

/// The status of the only agent there is.
fn status(env: &TestEnv) -> String {
    let lines = fleet(env);
    lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or("none").to_owned()
}

/// The socket of the tmux server that the client runs in.
fn socket(env: &TestEnv) -> String {
    let folders = std::fs::read_dir(env.root()).unwrap().map(|entry| entry.unwrap().path());
    let mut servers = folders
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("tmux-"))
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path().display().to_string());
    servers.next().unwrap()
}

/// What the client's pane looks like.
fn style(env: &TestEnv, socket: &str) -> String {
    let mut tmux = env.command("tmux");
    tmux.args(["-S", socket, "show-options", "-pqv", "-t", "%0", "window-style"]);
    String::from_utf8(tmux.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn a_permission_dialog_is_attention_until_it_is_answered() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let model = ModelServer::start(Script::new([
        Turn::tool("Bash", json!({"command": "touch made", "description": "make it"})),
        Turn::text("It is made"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    let socket = socket(&env);
    env.substrate(["tmux", "on", "--socket", &socket]).success();
    wait_until(SOON, "the start", || status(&env) == "done");
    tui.type_line("make it");
    wait_until(SOON, "the dialog", || status(&env) == "attention");
    wait_until(SOON, "its colour", || style(&env, &socket) == "default,bg=#3a3010");
    // We know about it before the person can see it.
    tui.wait_for("Do you want to proceed?", SOON);
    tui.answer("Enter", "Do you want to proceed?", SOON);
    tui.wait_for("It is made", SOON);
    wait_until(SOON, "the end of the turn", || status(&env) == "done");
    wait_until(SOON, "its colour", || style(&env, &socket) == "default,bg=#12301c");
    assert!(env.project().join("made").exists());
    tui.exit();
    wait_until(SOON, "the end", || status(&env) == "none");
}
