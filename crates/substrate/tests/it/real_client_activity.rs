//! The status of the real client in a real tmux, and what it sends no event for: Esc, a refused dialog, a second terminal on
//! the same session.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Tui, Turn, wait_until, write_file};

use crate::fleet::fleet;
use crate::house::{SOON, journal};

/// An installation, and a repository with a file.
fn installed() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    write_file(&env.project().join("a.txt"), b"one\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

fn write(env: &TestEnv, file: &str) -> Turn {
    let path = env.project().join(file);
    Turn::tool("Write", json!({"file_path": path, "content": "new\n"}))
}

/// The only agent there is, and its status.
fn agent(env: &TestEnv) -> (String, String) {
    let lines = fleet(env);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (name, status) = lines[0].split_once(' ').unwrap();
    (name.to_owned(), status.to_owned())
}

fn status(env: &TestEnv) -> String {
    agent(env).1
}

fn shown(env: &TestEnv) -> String {
    env.substrate(["fleet"]).success()
}

fn is_idle(env: &TestEnv) -> bool {
    shown(env).starts_with("Idle\n  idle")
}

fn n_held(env: &TestEnv) -> usize {
    env.substrate(["locks", "list", "--format", "json"]).success().matches("\"path\"").count()
}

fn n_waiting(env: &TestEnv) -> u64 {
    let out = env.substrate(["daemon", "status", "--format", "json"]).success();
    serde_json::from_str::<Value>(&out).unwrap()["n_waiting"].as_u64().unwrap()
}

fn send(env: &TestEnv, subject: &str) {
    let to = agent(env).0;
    env.substrate(["send", "--to", &to, "--subject", subject, "--body", "x"]).success();
}

fn wait_for_call(env: &TestEnv, tool: &str) {
    wait_until(SOON, tool, || {
        journal(env).iter().any(|entry| entry["event"] == "PreToolUse" && entry["tool"] == tool)
    });
}

fn n_events(env: &TestEnv, event: &str) -> usize {
    journal(env).iter().filter(|entry| entry["event"] == event).count()
}

/// How long it took until that became true.
fn took(what: &str, begun: Instant, holds: impl FnMut() -> bool) -> Duration {
    wait_until(SOON, what, holds);
    let took = begun.elapsed();
    println!("{what}: {took:?} after the key");
    took
}

#[test]
fn esc_while_a_tool_runs_frees_the_file_and_lets_the_mail_in() {
    let env = installed();
    let script = Script::new([
        write(&env, "new.txt"),
        bash("while [ ! -e go ]; do sleep 0.05; done"),
        Turn::text("I am awake"),
    ]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    wait_for_call(&env, "Bash");
    assert_eq!((status(&env).as_str(), n_held(&env)), ("working", 1));
    send(&env, "after all");
    let begun = Instant::now();
    tui.keys(&["Escape"]);
    // The mail is delivered as soon as the turn is known to be over, and starts another.
    model.wait_for_request("\"after all\"", SOON);
    println!("mail: {:?} after the key", begun.elapsed());
    assert_eq!(n_events(&env, "ActivityIdle"), 1);
    tui.wait_for("I am awake", SOON);
    assert_eq!(n_held(&env), 0);
    tui.exit();
}

#[test]
fn esc_while_the_model_answers_makes_the_agent_idle() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        write(&env, "new.txt"),
        Turn::text("never").after(Duration::from_secs(60)),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    wait_until(SOON, "the lease", || n_held(&env) == 1);
    wait_until(SOON, "the second request", || model.main_requests().len() == 2);
    let begun = Instant::now();
    tui.keys(&["Escape"]);
    took("idle", begun, || is_idle(&env));
    took("lease", begun, || n_held(&env) == 0);
    assert!(shown(&env).contains("interrupted by a person"), "{}", shown(&env));
    tui.stop();
}

/// Presses the number of the answer that starts like this, until the dialog has taken it. Returns the time of the first
/// press.
fn answer(tui: &Tui<'_>, words: &str) -> Instant {
    tui.wait_for("Do you want to proceed?", SOON);
    let screen = tui.screen();
    let line = screen.lines().find(|line| line.contains(&format!(". {words}"))).unwrap();
    let number = line.split('.').next().unwrap().trim().chars().last().unwrap().to_string();
    let begun = Instant::now();
    tui.answer(&number, "Do you want to proceed?", SOON);
    begun
}

#[test]
fn no_in_a_dialog_makes_the_agent_idle() {
    let env = installed();
    let model = ModelServer::start(Script::new([bash("touch made"), Turn::text("woken")]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");
    wait_until(SOON, "the dialog", || status(&env) == "attention");
    let pressed = answer(&tui, "No");
    took("idle", pressed, || is_idle(&env));
    send(&env, "what now");
    model.wait_for_request("\"what now\"", SOON);
    assert!(!env.project().join("made").exists());
    tui.stop();
}

#[test]
fn two_terminals_on_one_session_are_one_agent_until_both_are_closed() {
    let env = installed();
    let model = ModelServer::start(Script::new([Turn::text("first answer"), Turn::text("second")]));
    let client = Client::new(&env, &model);
    let first = client.interactive(&[]);
    first.type_line("begin");
    first.wait_for("first answer", SOON);
    let (name, _) = agent(&env);
    let session = journal(&env)[0]["session"].as_str().unwrap().to_owned();
    let second = client.interactive(&["--resume", &session]);
    wait_until(SOON, "the second start", || n_events(&env, "SessionStart") == 2);
    second.exit();
    wait_until(SOON, "its end", || n_events(&env, "ClientLeft") == 1);
    assert_eq!(agent(&env), (name, "done".to_owned()), "the first terminal is still there");
    send(&env, "are you there");
    model.wait_for_request("\"are you there\"", SOON);
    first.exit();
    wait_until(SOON, "the end", || fleet(&env).is_empty());
    let all = env.substrate(["fleet", "--all"]).success();
    assert!(all.contains(&format!("claude --resume {session}`")), "{all}");
}

#[test]
fn after_a_woken_turn_that_is_interrupted_mail_still_wakes_the_session() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        Turn::text("first answer"),
        Turn::text("never").after(Duration::from_secs(60)),
        Turn::text("woken again"),
    ]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    tui.wait_for("first answer", SOON);
    wait_until(SOON, "both waiters", || n_waiting(&env) == 2);
    send(&env, "mail one");
    model.wait_for_request("\"mail one\"", SOON);
    let begun = Instant::now();
    tui.keys(&["Escape"]);
    took("idle", begun, || is_idle(&env));
    assert_eq!(n_waiting(&env), 1);
    send(&env, "mail two");
    model.wait_for_request("\"mail two\"", SOON);
    tui.stop();
}

/// The status of the only agent there is, or `none`.
fn shown_status(env: &TestEnv) -> String {
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
    wait_until(SOON, "the start", || shown_status(&env) == "done");
    tui.type_line("make it");
    wait_until(SOON, "the dialog", || shown_status(&env) == "attention");
    wait_until(SOON, "its colour", || style(&env, &socket) == "default,bg=#3a3010");
    // We know about it before the person can see it.
    tui.wait_for("Do you want to proceed?", SOON);
    tui.answer("Enter", "Do you want to proceed?", SOON);
    tui.wait_for("It is made", SOON);
    wait_until(SOON, "the end of the turn", || shown_status(&env) == "done");
    wait_until(SOON, "its colour", || style(&env, &socket) == "default,bg=#12301c");
    assert!(env.project().join("made").exists());
    tui.exit();
    wait_until(SOON, "the end", || shown_status(&env) == "none");
}
