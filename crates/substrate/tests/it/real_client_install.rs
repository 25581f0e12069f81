//! The real client after an installation, and after an uninstall.

use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;
use substrate_testkit::{
    Client, ModelServer, Running, Script, TestEnv, Turn, claude, wait_until, write_file,
};

use crate::house::{SOON, journal, told};

fn script() -> Script {
    Script::new([
        Turn::tool("Bash", json!({"command": "echo hi", "description": "greet"})),
        Turn::text("done"),
    ])
}

/// The journal's words, with every usual event once. The client exits without waiting long for its last hooks. On a
/// busy machine these may be late, and a late event is recorded and does nothing.
fn each_once(env: &TestEnv) -> Vec<String> {
    let all = journal(env);
    let (late, acted): (Vec<_>, Vec<_>) = all.into_iter().partition(|entry| entry["why"] == "late");
    assert!(late.iter().all(|entry| entry["event"] == "SessionEnd"), "{late:?}");
    let words = told(&acted);
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse Bash", "PostToolUse Bash", "Stop"]
    {
        assert_eq!(words.iter().filter(|word| *word == event).count(), 1, "{event} in {words:?}");
    }
    let n_ends = words.iter().filter(|word| *word == "SessionEnd").count();
    assert!(n_ends == 1 || (n_ends == 0 && !late.is_empty()), "{words:?}");
    words
}

/// What the client itself says of its settings.
fn client_doctor(env: &TestEnv, model: &ModelServer) -> String {
    let mut command = env.command(claude());
    command
        .arg("doctor")
        .env("ANTHROPIC_BASE_URL", model.base_url())
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1");
    let run = Running::start(command, Vec::new()).finish(Duration::from_secs(30));
    format!("{}{}", run.stdout, run.stderr)
}

#[test]
fn after_an_installation_the_client_is_content_and_fires_our_hooks() {
    let env = TestEnv::new();
    let model = ModelServer::start(script());
    env.substrate(["hooks", "install", "--allow-commands"]).success();
    let said = client_doctor(&env, &model);
    assert!(said.contains("Claude Code doctor") && !said.contains("Invalid settings"), "{said}");
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    let words = each_once(&env);
    env.substrate(["hooks", "uninstall"]).success();
    let n = words.len();
    let model = ModelServer::start(script());
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    assert_eq!(journal(&env).len(), n, "after the uninstall none fires");
    write_file(
        &env.config().join("settings.json"),
        br#"{"hooks":{"PreToolUse":[{"matcher":{},"hooks":[]}]}}"#,
    );
    assert!(client_doctor(&env, &model).contains("Invalid settings"), "the client would have told");
}

#[test]
fn both_scopes_at_once_act_once() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "install", "--project"]).success();
    env.substrate(["daemon", "start"]).success();
    let model = ModelServer::start(script());
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    each_once(&env);
}

#[test]
fn the_scripts_work_for_the_client_too() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    let model = ModelServer::start(script());
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    assert!(told(&journal(&env)).contains(&"PreToolUse Bash".to_owned()));
}

/// The client tells its hooks that its settings have changed, ours included, and calls them until it drops them.
#[rstest]
#[case::an_idle_one(0)]
#[case::one_that_works(20)]
fn an_uninstall_beside_an_open_session_is_final(#[case] n_calls: usize) {
    let env = TestEnv::new();
    let seen = env.root().join("seen");
    let own = json!({"type": "command", "command": format!("touch {}", seen.display())});
    let settings = json!({"hooks": {"ConfigChange": [{"hooks": [own]}]}});
    write_file(&env.config().join("settings.json"), settings.to_string());
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let call = || Turn::tool("Bash", json!({"command": "sleep 0.2", "description": "a step"}));
    let turns = (0..n_calls).map(|_| call()).chain([Turn::text("it is done")]);
    let model =
        ModelServer::start(Script::new(turns).on_prompt("and now", [Turn::text("the second")]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    let event = if n_calls == 0 { "Stop" } else { "PreToolUse Bash" };
    wait_until(SOON, event, || told(&journal(&env)).iter().any(|told| told == event));
    env.substrate(["uninstall", "--yes", "--delete-data"]).code(0);
    wait_until(SOON, "the change is told", || seen.exists());
    tui.wait_for("it is done", SOON);
    tui.type_line("and now");
    tui.wait_for("the second", SOON);
    tui.exit();
    let left = std::fs::read_dir(env.state());
    assert!(left.is_err(), "{:?}", left.map(|left| left.flatten().collect::<Vec<_>>()));
}

/// Every text that the model was sent in the whole session: the system prompt, the tools, and the conversation up to its last
/// request.
fn sent(model: &ModelServer) -> Vec<String> {
    fn collect(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) => out.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
            Value::Object(members) => members.values().for_each(|member| collect(member, out)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let requests = model.main_requests();
    let last = requests.last().expect("the model was asked");
    let mut out = Vec::new();
    for part in ["system", "tools", "messages"] {
        collect(&last.body[part], &mut out);
    }
    out
}

/// What a quiet session costs every user who has us installed: mostly the line in the skill list.
#[test]
fn a_quiet_session_gets_at_most_350_characters_from_us() {
    let env = TestEnv::new();
    let quiet = || {
        let model = ModelServer::start(script());
        let run = Client::new(&env, &model).print("begin", &[]);
        assert_eq!(run.result(), "done");
        sent(&model)
    };
    let n_chars = |texts: &[String]| texts.iter().map(|text| text.chars().count()).sum::<usize>();
    let without = quiet();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let with = quiet();
    let ours: Vec<&str> = with
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.to_lowercase().contains("substrate"))
        .collect();
    let (before, after) = (n_chars(&without), n_chars(&with));
    let added = after.checked_sub(before);
    println!("{before} characters without us, {after} with us; ours: {ours:#?}");
    assert!(added.is_some_and(|added| (1..=350).contains(&added)), "{added:?}: {ours:#?}");
    assert!(ours.iter().any(|line| line.contains("substrate: Mail and coordination")), "{ours:#?}");
}
