//! The whole life of an effort with the real client. A typed skill begins it, and the tenth call waits for a log entry.
//! Its context overflows under `substrate run` in a real terminal: it is warned, dehydrated, and restarted instead of
//! compacted, and the new session knows what the old one left. The next plain session is offered it and takes it.

use serde_json::json;
use substrate_testkit::{
    Client, ModelServer, Recorded, Script, TestEnv, Turn, Usage, bin, write_file,
};

use crate::house::{
    SOON, await_written, configure, journal, told_but_stops, when_written, windows,
};

const LEFT: &str = "Goal: mend the door. Next: the hinge.";
const GO_ON: &str = "Continue effort 1 where the last session left it: `substrate effort show 1` shows where that is.";

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

fn at(turn: Turn, tokens: u64) -> Turn {
    turn.usage(Usage { input_tokens: tokens, ..Usage::default() })
}

#[test]
fn a_full_context_is_left_behind_and_the_next_one_begins_with_what_it_left() {
    let env = TestEnv::new();
    configure(&env, "profile = \"engine\"\n[persist]\nmode = \"off\"\n");
    std::fs::create_dir(env.project().join(".git")).unwrap();
    write_file(&env.project().join("guide.md"), b"Doors before windows.\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let guide = env.project().join("guide.md");
    let read = move || Turn::tool("Read", json!({"file_path": guide}));
    it_begins_and_is_held_until_it_logs(&env, &read);

    let is_fresh = |request: &Recorded| request.texts().contains(GO_ON);
    let (first, second, folder) = (read.clone(), read.clone(), env.config());
    let script = Script::new([
        Turn::from_request(move |request| match is_fresh(request) {
            true => first(),
            false => at(first(), 140_000),
        }),
        Turn::from_request(move |request| match is_fresh(request) {
            true => Turn::text("went on afresh"),
            false => {
                await_written(&folder, 140_000);
                at(second(), 140_000)
            }
        }),
        at(read(), 155_000),
        when_written(&env, 155_000, at(read(), 155_000)),
        at(bash(&format!("substrate effort dehydrate '{LEFT}'")), 155_000),
        at(read(), 170_000),
        Turn::text("not reached"),
    ])
    .on_prompt("and now?", [Turn::text("the hinge")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let substrate = bin("substrate").display().to_string();
    let tui = client.interactive_under(&[&substrate, "run", "--effort", "1", "--"], &[]);
    tui.type_line("mend it");
    tui.wait_for("went on afresh", SOON * 3);
    tui.type_line("and now?");
    tui.wait_for("the hinge", SOON);

    let requests = model.main_requests();
    let (old, new): (Vec<_>, Vec<_>) =
        requests.iter().partition(|one| one.session == requests[0].session);
    let count = |text: &str| old.iter().filter(|one| one.news().contains(text)).count();
    assert!(
        old[0].texts().contains("You are working on effort 1: skill `implement`"),
        "SUBSTRATE_EFFORT"
    );
    assert_eq!(count("Your context is at 84 % of the point where the client compacts it"), 1);
    assert_eq!(
        count("Overflow: your context is at 93 % of the point where the client compacts it"),
        1
    );
    assert_eq!(count("Dehydrated context of effort"), 0, "not to the session that left it");
    assert!(!requests.iter().any(|one| one.texts().contains("create a detailed summary")));

    assert_eq!(new[0].texts().matches(GO_ON).count(), 1, "{}", new[0].texts());
    assert!(!new[0].texts().contains("mend it"), "nothing of the old conversation");
    let payload = format!("> {LEFT}");
    assert_eq!(new[0].texts().matches(&payload).count(), 1, "{}", new[0].texts());
    for later in &new[1..] {
        assert_eq!(later.texts().matches(&payload).count(), 1, "it stays, and is said once");
        assert!(!later.news().contains(&payload), "{}", later.news());
    }
    assert_eq!(new.len(), 3);

    let windows = windows(&env);
    assert_eq!(windows.len(), 3, "{windows:?}");
    for (window, before) in windows.iter().zip(&windows[1..]) {
        assert_eq!(window["prev"], before["id"], "{windows:?}");
        assert_ne!(window["session"], before["session"], "{windows:?}");
    }
    assert!(windows.iter().all(|window| window["effort"] == 1), "{windows:?}");
    assert_eq!(windows[0]["agent"], windows[1]["agent"], "the same agent goes on");
    assert_ne!(windows[1]["agent"], windows[2]["agent"], "and took it over");
    assert_ne!(windows[1]["ended_why"], "compact", "it was not compacted");
    assert_eq!(windows[0]["heartbeat"], 1, "the counting starts over");

    let told = told_but_stops(&journal(&env));
    let compact = told.iter().position(|event| event == "PreCompact").unwrap();
    assert_eq!(told[compact..compact + 3], ["PreCompact", "SessionEnd", "SessionStart"]);
    tui.exit();
    the_next_is_offered_it_and_takes_it(&env);
}

/// A command that is run begins an effort. Its session logs when it has to, and ends.
fn it_begins_and_is_held_until_it_logs(env: &TestEnv, read: &dyn Fn() -> Turn) {
    let commands = env.project().join(".claude/commands");
    std::fs::create_dir_all(&commands).unwrap();
    write_file(&commands.join("implement.md"), b"Build $ARGUMENTS.\n");
    let mut turns: Vec<Turn> = (1..=10).map(|_| read()).collect();
    turns.extend([bash("substrate effort log 'nine looks'"), read(), Turn::text("begun")]);
    let model = ModelServer::start(Script::new(turns));
    assert_eq!(Client::new(env, &model).print("/implement the door", &[]).result(), "begun");
    let requests = model.main_requests();
    let begun = requests[0].news();
    assert!(begun.contains("Effort 1 has begun: skill `implement`"), "{begun}");
    let results: Vec<_> = (1..=12).map(|at| requests[at].tool_results()[0].clone()).collect();
    let refused: Vec<usize> = (1..=12).filter(|at| results[at - 1].is_error).collect();
    assert_eq!(refused, [10], "{}", results[9].text);
    assert!(results[9].text.contains("tool call 10 of effort 1 (implement)"));
}

/// The next session, which was not started for it, is offered the remaining work, and continues it.
fn the_next_is_offered_it_and_takes_it(env: &TestEnv) {
    let model =
        ModelServer::start(Script::new([bash("substrate effort resume 1"), Turn::text("taken")]));
    assert_eq!(Client::new(env, &model).print("what is there?", &[]).result(), "taken");
    let requests = model.main_requests();
    let offered = requests[0].news();
    assert!(offered.contains("Unfinished here: effort 1 of skill `implement`"), "{offered}");
    assert!(offered.contains("`substrate effort resume 1` takes it"), "{offered}");
    assert!(!requests[0].texts().contains(LEFT), "only the session that takes it is told");
    let taken = requests[1].news();
    assert_eq!(taken.matches(&format!("> {LEFT}")).count(), 1, "{taken}");
    let windows = windows(env);
    assert_eq!(windows[0]["effort"], 1, "{windows:?}");
    assert_ne!(windows[0]["agent"], windows[1]["agent"], "another agent goes on with it");
}
