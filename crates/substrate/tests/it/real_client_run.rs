//! The real client under `substrate run`: a full context is exchanged for a fresh one.

use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, Usage, bin};

use crate::house::{SOON, configure, journal, told};

const PROMPT: &str = "Continue the work that your previous context window left: `substrate effort show` says where you are.";

/// So much that a model of 200,000 tokens compacts before its next request.
fn full() -> Usage {
    Usage { input_tokens: 168_000, ..Usage::default() }
}

#[test]
fn a_client_whose_context_is_full_goes_on_with_a_fresh_one() {
    let env = TestEnv::new();
    configure(&env, "[context]\non_auto_compact = \"restart\"\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let script = Script::new([Turn::text("nearly full").usage(full()), Turn::text("not reached")])
        .on_prompt(PROMPT, [Turn::text("went on afresh")])
        .on_prompt("still there?", [Turn::text("still here")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let substrate = bin("substrate").display().to_string();
    let tui = client.interactive_under(&[&substrate, "run", "--agent", "NobleLion", "--"], &[]);
    tui.type_line("begin");
    tui.wait_for("nearly full", SOON);
    tui.type_line("and on");
    tui.wait_for("went on afresh", SOON * 2);
    let requests = model.main_requests();
    let fresh: Vec<_> = requests.iter().filter(|one| one.texts().contains(PROMPT)).collect();
    assert_eq!(fresh.len(), 1, "once");
    assert_eq!(fresh[0].prompts(), [PROMPT], "and nothing of the old conversation");
    assert_ne!(fresh[0].session, requests[0].session, "another session");
    assert!(!requests.iter().any(|one| one.texts().contains("create a detailed summary")));
    let agents = env.substrate(["agent", "list", "--all"]).success();
    assert_eq!(agents.matches("NobleLion").count(), 1, "{agents}");
    let told = told(&journal(&env));
    let at = told.iter().position(|event| event == "PreCompact").unwrap();
    assert_eq!(told[at..at + 3], ["PreCompact", "SessionEnd", "SessionStart"], "in good order");
    let list = env.substrate(["supervise", "list", "--format", "json"]).success();
    assert!(list.contains("\"n_restarts\": 1") && list.contains("\"NobleLion\""), "{list}");
    // No shell is there to let it go on, so Ctrl+Z must not stop it for good.
    tui.keys(&["C-z"]);
    tui.type_line("still there?");
    tui.wait_for("still here", SOON);
    tui.exit();
}
