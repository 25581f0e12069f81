//! The real client spawns the real hook, and the scripted model records what it was sent.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn};

use crate::house::{configure, hooks, journal, rule, told};

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

#[test]
fn a_session_with_tools_and_a_subagent_is_journaled() {
    let env = TestEnv::new();
    let script = Script::new([
        bash("echo from main"),
        bash("exit 3"),
        Turn::agent("look"),
        Turn::text("all done"),
    ])
    .subagent("look", [bash("echo from sub"), Turn::text("looked")]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).hooks(&hooks(EVENTS)).print("begin", &[]);
    assert_eq!(run.result(), "all done");
    let entries = journal(&env);
    assert_eq!(
        told(&entries),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse Bash",
            "PostToolUse Bash",
            "PreToolUse Bash",
            "PostToolUseFailure Bash",
            "PreToolUse Agent",
            "SubagentStart general-purpose",
            "PreToolUse Bash general-purpose",
            "PostToolUse Bash general-purpose",
            "SubagentStop general-purpose",
            "PostToolUse Agent",
            "Stop",
            "SessionEnd",
        ]
    );
    assert!(entries.iter().all(|entry| entry["session"] == run.session_id()));
    assert!(
        entries.iter().all(|entry| entry["n_unknown_fields"] == 0),
        "the client sends what we know"
    );
    let actors: Vec<&Value> = entries[7..=10].iter().map(|entry| &entry["actor"]).collect();
    assert!(actors[0] != "main" && actors.iter().all(|actor| *actor == actors[0]), "{actors:?}");
}

#[test]
fn a_deny_is_the_tool_result_in_the_next_request() {
    let env = TestEnv::new();
    configure(&env, &rule("PreToolUse", "deny", "red-owl holds it"));
    let model = ModelServer::start(Script::new([bash("touch made"), Turn::text("refused")]));
    let run = Client::new(&env, &model).hooks(&hooks(EVENTS)).print("begin", &[]);
    assert_eq!(run.result(), "refused");
    let results = model.main_requests()[1].tool_results();
    assert!(results[0].is_error && results[0].text.contains("red-owl holds it"), "{results:?}");
    assert!(!env.project().join("made").exists());
    assert_eq!(journal(&env)[2]["verdict"], "deny");
}

#[test]
fn injected_context_is_in_the_next_request_and_exports_are_in_the_shell() {
    let env = TestEnv::new();
    let rules: String = [
        ("SessionStart", "WORD-FROM-SESSION-START"),
        ("UserPromptSubmit", "WORD-FROM-PROMPT"),
        ("PreToolUse", "WORD-FROM-PRE-TOOL"),
        ("PostToolUse", "WORD-FROM-POST-TOOL"),
        ("SubagentStart", "WORD-FROM-SUBAGENT-START"),
    ]
    .map(|(event, word)| rule(event, "inject", word))
    .concat();
    configure(&env, &rules);
    let script =
        Script::new([bash("echo \"<$AGENT_ID>\""), Turn::agent("look"), Turn::text("all done")])
            .subagent("look", [Turn::text("looked")]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).hooks(&hooks(EVENTS)).print("begin", &[]);
    assert_eq!(run.result(), "all done");
    let main = model.main_requests();
    assert!(
        main[0].news().contains("WORD-FROM-SESSION-START")
            && main[0].news().contains("WORD-FROM-PROMPT")
    );
    assert!(
        main[1].news().contains("WORD-FROM-PRE-TOOL")
            && main[1].news().contains("WORD-FROM-POST-TOOL")
    );
    let results = main[1].tool_results();
    assert!(!results[0].text.contains("<>") && results[0].text.contains('<'), "{results:?}");
    let sub = model.subagent_requests();
    assert!(sub[0].news().contains("WORD-FROM-SUBAGENT-START"));
}

#[test]
fn a_stop_block_goes_on_with_the_turn() {
    let env = TestEnv::new();
    configure(&env, &rule("Stop", "deny", "say please"));
    let script = Script::new([
        Turn::text("I stop"),
        Turn::from_request(|request| {
            Turn::text(if request.news().contains("say please") { "please" } else { "what?" })
        }),
    ]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).hooks(&hooks(EVENTS)).print("begin", &[]);
    assert_eq!(run.result(), "please");
    let verdicts: Vec<Value> = journal(&env)
        .into_iter()
        .filter(|entry| entry["event"] == "Stop")
        .map(|entry| entry["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["block", "allow"]);
}

#[test]
fn the_ninth_block_in_a_row_meets_the_cap() {
    let env = TestEnv::new();
    let block = json!({"decision": "block", "reason": "again"}).to_string();
    let mut hooks = hooks(EVENTS);
    let command = json!({"hooks": [{"type": "command", "command": format!("echo '{block}'")}]});
    hooks["Stop"].as_array_mut().unwrap().push(command);
    let model = ModelServer::start(Script::new([]));
    let run = Client::new(&env, &model).hooks(&hooks).print("begin", &[]);
    assert_eq!(run.result(), "", "a turn that ends at the cap has no result");
    assert_eq!(
        model.main_requests().len(),
        9,
        "the first, and one after each of the 8 blocks that are honoured"
    );
    let stops: Vec<Value> =
        journal(&env).into_iter().filter(|entry| entry["event"] == "Stop").collect();
    assert_eq!(stops.len(), 9);
}

#[test]
fn an_interactive_session_is_journaled_to_its_end() {
    let env = TestEnv::new();
    configure(&env, &rule("UserPromptSubmit", "inject", "WORD-FROM-PROMPT"));
    let model = ModelServer::start(Script::new([bash("echo typed"), Turn::text("the answer")]));
    let client = Client::new(&env, &model).hooks(&hooks(EVENTS));
    let tui = client.interactive(&[]);
    tui.type_line("hello there");
    tui.wait_for("the answer", Duration::from_secs(20));
    tui.exit();
    assert!(model.main_requests()[0].news().contains("WORD-FROM-PROMPT"));
    let words = told(&journal(&env));
    assert_eq!(
        words,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse Bash",
            "PostToolUse Bash",
            "Stop",
            "SessionEnd"
        ]
    );
}
