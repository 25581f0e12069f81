//! A context overflows under `substrate run`, with the real client in a real terminal: warned, dehydrated, not compacted but
//! started anew, and the new session knows what the old one left.

use serde_json::{Value, json};
use substrate_testkit::{
    Client, ModelServer, Recorded, Script, TestEnv, Turn, Usage, bin, write_file,
};

use crate::house::{SOON, configure, journal, told};

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
    // A command that is run begins an effort, and its session is gone.
    let commands = env.project().join(".claude/commands");
    std::fs::create_dir_all(&commands).unwrap();
    write_file(&commands.join("fix.md"), b"Mend $ARGUMENTS.\n");
    let model = ModelServer::start(Script::new([Turn::text("begun")]));
    assert_eq!(Client::new(&env, &model).print("/fix the door", &[]).result(), "begun");
    let begun = model.main_requests()[0].news();
    assert!(begun.contains("Effort 1 has begun: skill `fix`"), "{begun}");

    let guide = env.project().join("guide.md");
    let read = move || Turn::tool("Read", json!({"file_path": guide}));
    let is_fresh = |request: &Recorded| request.texts().contains(GO_ON);
    let (first, second) = (read.clone(), read.clone());
    let script = Script::new([
        // Twice each: what a hook sees of the transcript may be the answer before.
        Turn::from_request(move |request| match is_fresh(request) {
            true => first(),
            false => at(first(), 140_000),
        }),
        Turn::from_request(move |request| match is_fresh(request) {
            true => Turn::text("went on afresh"),
            false => at(second(), 140_000),
        }),
        at(read(), 155_000),
        at(read(), 155_000),
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
    assert!(old[0].texts().contains("You are working on effort 1"), "SUBSTRATE_EFFORT");
    assert_eq!(count("Your context is at 84 %"), 1);
    assert_eq!(count("Overflow: your context is at 93 %"), 1);
    assert_eq!(count("Dehydrated context of effort"), 0, "not to whoever left it");
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

    let out = env.substrate(["session", "list", "--all", "--format", "json"]).success();
    let out: Value = serde_json::from_str(&out).unwrap();
    let windows = out["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 3, "newest first: {out}");
    for (window, before) in windows.iter().zip(&windows[1..]) {
        assert_eq!(window["prev"], before["id"], "{out}");
        assert_ne!(window["session"], before["session"], "{out}");
    }
    assert!(windows.iter().all(|window| window["effort"] == 1), "{out}");
    assert_eq!(windows[0]["agent"], windows[1]["agent"], "the same agent goes on");
    assert_ne!(windows[1]["agent"], windows[2]["agent"], "and took it over");
    assert_ne!(windows[1]["ended_why"], "compact", "it was not compacted");
    assert_eq!(windows[0]["heartbeat"], 1, "the counting began anew");

    let told = told(&journal(&env));
    let compact = told.iter().position(|event| event == "PreCompact").unwrap();
    assert_eq!(told[compact..compact + 3], ["PreCompact", "SessionEnd", "SessionStart"]);
    tui.exit();
    the_next_is_offered_it(&env);
}

/// The next session, which nobody started for it, is offered what is left to do.
fn the_next_is_offered_it(env: &TestEnv) {
    let model = ModelServer::start(Script::new([Turn::text("so I see")]));
    assert_eq!(Client::new(env, &model).print("what is there?", &[]).result(), "so I see");
    let offered = model.main_requests()[0].news();
    assert!(offered.contains("Unfinished here: effort 1 of skill `fix`"), "{offered}");
    assert!(offered.contains("`substrate effort resume 1` takes it"), "{offered}");
}
