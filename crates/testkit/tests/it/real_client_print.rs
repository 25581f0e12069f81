//! `claude -p` with a scripted model.
use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, Usage};

use crate::{Notes, bash};

#[test]
fn hooks_fire_for_a_tool_call_and_for_a_subagent() {
    let env = TestEnv::new();
    let script = Script::new([bash("echo from main"), Turn::agent("look"), Turn::text("all done")])
        .subagent("look", [bash("echo from sub"), Turn::text("looked")]);
    let model = ModelServer::start(script);
    let notes = Notes::new(&env, "");
    let events = ["SessionStart", "PreToolUse", "SubagentStart", "SubagentStop", "Stop"];
    let client = Client::new(&env, &model).hooks(&notes.hooks(&events));

    let run = client.print("begin", &[]);

    assert_eq!(run.result(), "all done");
    assert_eq!(
        notes.events(),
        [
            "SessionStart",
            "PreToolUse",
            "PreToolUse",
            "SubagentStart(subagent)",
            "PreToolUse(subagent)",
            "SubagentStop(subagent)",
            "Stop",
        ]
    );
    let main = model.main_requests();
    assert_eq!(main.len(), 3);
    assert_eq!(main[0].prompts(), ["begin"]);
    assert_eq!(main[0].session.as_deref(), Some(run.session_id()));
    assert!(main[1].tool_results()[0].text.starts_with("from main"));
    assert!(main[2].tool_results()[0].text.contains("looked"));
    let sub = model.subagent_requests();
    assert_eq!(sub.len(), 2);
    assert!(sub[1].tool_results()[0].text.starts_with("from sub"));
}

#[test]
fn a_deny_of_a_hook_is_the_tool_result_in_the_next_request() {
    let env = TestEnv::new();
    let model = ModelServer::start(Script::new([bash("touch made"), Turn::text("refused")]));
    let deny = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "red-owl holds it",
    }});
    let notes = Notes::new(&env, &format!("echo '{deny}'"));
    let client = Client::new(&env, &model).hooks(&notes.hooks(&["PreToolUse"]));

    assert_eq!(client.print("begin", &[]).result(), "refused");

    let results = model.main_requests()[1].tool_results();
    assert!(results[0].is_error && results[0].text.contains("red-owl holds it"), "{results:?}");
    assert!(!env.project().join("made").exists());
    let seen = model.request_containing("red-owl holds it").unwrap();
    assert_eq!(seen.thread, substrate_testkit::Thread::Main);
}

#[test]
fn a_stop_block_goes_on_with_the_next_turn() {
    let env = TestEnv::new();
    let script = Script::new([
        Turn::text("I stop"),
        Turn::from_request(|request| {
            let asked = request.news().contains("say please");
            Turn::text(if asked { "please" } else { "what?" })
        }),
    ]);
    let model = ModelServer::start(script);
    let once = "test -e blocked || { touch blocked; echo say please >&2; exit 2; }";
    let notes = Notes::new(&env, once);
    let client = Client::new(&env, &model).hooks(&notes.hooks(&["Stop"]));

    assert_eq!(client.print("begin", &[]).result(), "please");
    assert_eq!(notes.events(), ["Stop", "Stop"]);
}

#[test]
fn the_script_goes_on_after_an_auto_compaction() {
    let env = TestEnv::new();
    let full = Usage { input_tokens: 170_000, ..Usage::default() };
    let script = Script::new([
        bash("echo one"),
        bash("echo two").usage(full),
        bash("echo three"),
        Turn::text("at the end"),
    ]);
    let model = ModelServer::start(script);
    let notes = Notes::new(&env, "");
    let hooks = notes.hooks(&["PreCompact", "PostToolUse", "Stop"]);

    let run = Client::new(&env, &model).hooks(&hooks).print("begin", &[]);

    assert_eq!(run.result(), "at the end");
    let expected = ["PostToolUse", "PostToolUse", "PreCompact", "PostToolUse", "Stop"];
    assert_eq!(notes.events(), expected);
}

#[test]
fn parallel_calls_are_one_turn_and_a_resumed_session_goes_on() {
    let env = TestEnv::new();
    let read = |name: &str| ("Read", json!({"file_path": env.project().join(name)}));
    let script = Script::new([Turn::tools([read("a"), read("b")]), Turn::text("first")])
        .on_prompt("more", [bash("echo more"), Turn::text("second")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);

    let first = client.print("begin", &[]);
    assert_eq!(first.result(), "first");
    assert_eq!(model.main_requests()[1].tool_results().len(), 2);
    let second = client.print("more", &["--resume", first.session_id()]);
    assert_eq!(second.result(), "second");
}
