//! The real client under `substrate run`: a full context is exchanged for a fresh one, below any wrapper, if there is
//! something to continue with.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use substrate_testkit::{
    Client, ModelServer, PrintRun, Recorded, Script, TestEnv, Turn, Usage, bin,
};

use crate::house::{SOON, configure, journal, told, told_but_stops};

const RESTART: &str = "[context]\non_auto_compact = \"restart\"\n[efforts]\non = true\n";

/// What a fresh session is told at its start, once,
const GO_ON: &str = "Continue effort 1 where the last session left it";
/// and what begins its first turn without a prompt.
const BEGIN: &str = "Continue with effort 1 now";

/// What the client asks for when it compacts.
const SUMMARY: &str = "create a detailed summary";

/// A print run that restarts takes as long as two.
const TWO_RUNS: Duration = Duration::from_secs(100);

/// Enough that a model of 200,000 tokens compacts before its next request.
fn full() -> Usage {
    Usage { input_tokens: 168_000, ..Usage::default() }
}

fn installed(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, settings);
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

/// One turn for the conversation that fills up, another for the fresh one.
fn either(old: fn() -> Turn, fresh: fn() -> Turn) -> Turn {
    Turn::from_request(move |request| if is_fresh(request) { fresh() } else { old() })
}

fn is_fresh(request: &Recorded) -> bool {
    request.texts().contains(GO_ON)
}

fn n_restarts(env: &TestEnv, n: usize) -> bool {
    let list = env.substrate(["supervise", "list", "--format", "json"]).success();
    list.contains(&format!("\"n_restarts\": {n}"))
}

#[rstest]
#[case::without(&[], "")]
#[case::env(&["env", "FOO=1"], "1")]
#[case::a_shell(&["sh", "-c", "FOO=2 \"$@\"; exit $?", "sh"], "2")]
fn a_client_whose_context_is_full_goes_on_with_a_fresh_one(
    #[case] wrapper: &[&str],
    #[case] foo: &str,
) {
    let env = installed(RESTART);
    let script = Script::new([
        either(|| Turn::text("nearly full").usage(full()), || bash("echo foo:$FOO")),
        either(|| Turn::text("not reached"), || Turn::text("went on afresh")),
    ])
    .on_prompt("still there?", [Turn::text("still here")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let substrate = bin("substrate").display().to_string();
    let mut line = vec![substrate.as_str(), "run", "--agent", "NobleLion", "--"];
    line.extend(wrapper);
    let tui = client.interactive_under(&line, &[]);
    tui.type_line("mend the door");
    tui.wait_for("nearly full", SOON);
    env.substrate(["effort", "start", "fix", "--agent", "NobleLion"]).success();
    tui.type_line("and the window");
    // No person types anything from here on.
    tui.wait_for("went on afresh", SOON * 2);

    let requests = model.main_requests();
    let (old, fresh): (Vec<_>, Vec<_>) =
        requests.iter().partition(|one| one.session == requests[0].session);
    assert!(!old.iter().any(|one| is_fresh(one)), "not the old one");
    let first = fresh[0].texts();
    assert_eq!((first.matches(GO_ON).count(), first.matches(BEGIN).count()), (1, 1), "{first}");
    assert!(first.contains("You are working on effort 1: skill `fix`"), "{first}");
    assert!(!first.contains("the door"), "nothing of the old conversation: {first}");
    let second = fresh[1];
    let result = second.tool_results()[0].text.clone();
    assert_eq!(result.lines().next(), Some(&*format!("foo:{foo}")), "the wrapper is there");
    assert!(![GO_ON, BEGIN].iter().any(|text| second.news().contains(text)), "once");
    assert!(model.request_containing(SUMMARY).is_none());

    let agents = env.substrate(["agent", "list", "--all"]).success();
    assert_eq!(agents.matches("NobleLion").count(), 1, "{agents}");
    let told = told_but_stops(&journal(&env));
    let at = told.iter().position(|event| event == "PreCompact").unwrap();
    assert_eq!(told[at..at + 3], ["PreCompact", "SessionEnd", "SessionStart"], "in good order");
    assert!(n_restarts(&env, 1));
    // There is no shell to continue it, so Ctrl+Z must not stop it for good.
    tui.keys(&["C-z"]);
    tui.type_line("still there?");
    tui.wait_for("still here", SOON);
    let last = model.main_requests().pop().unwrap();
    let all = last.texts();
    assert_eq!((all.matches(GO_ON).count(), all.matches(BEGIN).count()), (1, 1), "{all}");
    tui.exit();
}

#[test]
fn in_print_mode_the_prompt_comes_again_with_what_to_go_on_with() {
    let env = installed(RESTART);
    let script = Script::new([
        either(|| bash("substrate effort start fix").usage(full()), || Turn::text("went on")),
        Turn::text("not reached"),
    ]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let substrate = bin("substrate").display().to_string();
    let under = [substrate.as_str(), "run", "--", "env", "FOO=1"];
    let run = client.start_print_under(&under, "mend the door", &[]).finish(TWO_RUNS);
    assert_eq!(PrintRun::new(run).result(), "went on");
    let requests = model.main_requests();
    let fresh: Vec<_> = requests.iter().filter(|one| is_fresh(one)).collect();
    assert_eq!(fresh.len(), 1, "{requests:?}");
    let texts = fresh[0].texts();
    assert_eq!((texts.matches(GO_ON).count(), texts.matches(BEGIN).count()), (1, 0), "{texts}");
    assert_eq!(fresh[0].prompts(), ["mend the door"]);
    assert_ne!(fresh[0].session, requests[0].session, "another session");
}

#[test]
fn without_an_effort_a_full_context_is_compacted_in_profile_engine_too() {
    let env = installed("profile = \"engine\"\n[persist]\nmode = \"off\"\n");
    // The client summarises only what is long enough.
    let script = Script::new([
        bash("echo one"),
        bash("echo two"),
        bash("echo three"),
        bash("echo four"),
        Turn::text("nearly full").usage(full()),
        Turn::text("went on with a summary"),
    ]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let substrate = bin("substrate").display().to_string();
    let tui = client.interactive_under(&[&substrate, "run", "--"], &[]);
    tui.type_line("mend the door");
    tui.wait_for("nearly full", SOON);
    tui.type_line("and the window");
    tui.wait_for("went on with a summary", SOON * 2);
    let requests = model.main_requests();
    let told = told(&journal(&env));
    assert!(model.request_containing(SUMMARY).is_some(), "it was compacted: {told:?}");
    assert!(requests.iter().all(|one| one.session == requests[0].session), "the same session");
    let last = requests.last().unwrap().texts();
    assert!(!last.contains("substrate effort") && !last.contains("Not compacted"), "{last}");
    assert!(n_restarts(&env, 0));
    assert!(told.iter().any(|event| event == "PostCompact"), "{told:?}");
    tui.exit();
}
