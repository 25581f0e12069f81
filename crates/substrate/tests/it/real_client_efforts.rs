//! Efforts with the real client: restarted, held until there is a log entry, with subagents side by side.

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, Usage, write_file};

use crate::house::{configure, when_written, windows};

/// An installation with the engine, a repository, and the skill `fix` with this configuration.
fn installed(toml: &str) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "profile = \"engine\"\n[persist]\nmode = \"off\"\n");
    std::fs::create_dir(env.project().join(".git")).unwrap();
    let skill = env.config().join("skills/fix");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::create_dir(env.project().join("sub")).unwrap();
    write_file(&skill.join("SKILL.md"), b"---\nname: fix\ndescription: Mends things.\n---\n");
    write_file(&skill.join("effort.toml"), toml.as_bytes());
    write_file(&env.project().join("sub/AGENTS.md"), b"Only tabs in here.\n");
    write_file(&env.project().join("sub/a.txt"), b"one\n");
    write_file(&env.project().join("guide.md"), b"Doors before windows.\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

fn read(env: &TestEnv) -> Turn {
    Turn::tool("Read", json!({"file_path": env.project().join("guide.md")}))
}

fn agent(env: &TestEnv) -> String {
    windows(env)[0]["agent"].as_str().unwrap().to_owned()
}

#[test]
fn the_next_session_begins_with_what_the_last_one_left_once() {
    let env = installed("preload = [\"guide.md\"]\n");
    let model = ModelServer::start(Script::new([
        bash("substrate effort start fix --task tasks/door"),
        bash("substrate effort log 'the door is on the left'"),
        bash(
            "substrate effort dehydrate --body-file - <<'END'\nGoal: mend the door.\nNext: the hinge.\nEND",
        ),
        Turn::text("done"),
    ]));
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    let requests = model.main_requests();
    assert!(
        requests.iter().any(|one| one.news().contains("> Doors before windows.")),
        "the file to preload"
    );
    assert!(requests.iter().all(|one| !one.texts().contains("Dehydrated context of effort")));
    let name = agent(&env);
    let first_request = || {
        let model = ModelServer::start(Script::new([Turn::text("went on")]));
        let client = Client::new(&env, &model).var("AGENT_ID", &name);
        assert_eq!(client.print("go on", &[]).result(), "went on");
        model.main_requests()[0].texts()
    };
    let second = first_request();
    assert!(second.contains("You are working on effort 1: skill `fix`"), "{second}");
    assert_eq!(second.matches("> Goal: mend the door.\n> Next: the hinge.").count(), 1, "{second}");
    assert!(second.contains("> Doors before windows."), "{second}");
    let third = first_request();
    assert!(!third.contains("Goal: mend"), "{third}");
    assert!(third.contains("Read `tasks/door/1_FIX_LOG.md`"), "{third}");
    let log = std::fs::read_to_string(env.project().join("tasks/door/1_FIX_LOG.md")).unwrap();
    assert!(log.contains("the door is on the left"), "{log}");
    let all = windows(&env);
    assert_eq!(all.len(), 3);
    assert_eq!((&all[0]["prev"], &all[1]["prev"]), (&all[1]["id"], &all[2]["id"]), "newest first");
}

/// A project's own skill, as people write them, without a word about efforts.
fn implement(env: &TestEnv) {
    let skill = env.project().join(".claude/skills/implement");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: implement\ndescription: Builds things.\n---\nBuild $ARGUMENTS.\n";
    write_file(&skill.join("SKILL.md"), text.as_bytes());
}

#[test]
fn a_typed_skill_begins_an_effort_that_the_next_plain_session_is_offered_and_takes() {
    let env = installed("");
    implement(&env);
    let mut turns: Vec<Turn> = (1..=10).map(|_| read(&env)).collect();
    turns.extend([
        bash("substrate effort log 'nine looks'"),
        read(&env),
        bash("substrate effort dehydrate 'Goal: build the door.'"),
        Turn::text("built a part"),
    ]);
    let model = ModelServer::start(Script::new(turns));
    assert_eq!(
        Client::new(&env, &model).print("/implement the door", &[]).result(),
        "built a part"
    );
    let requests = model.main_requests();
    let begun = "Effort 1 has begun: skill `implement`, task `tasks/";
    let n_told = requests.iter().filter(|one| one.news().contains(begun)).count();
    assert_eq!(n_told, 1, "{}", requests[0].news());
    assert!(requests[0].news().contains(begun), "{}", requests[0].news());
    let errors: Vec<bool> = (1..=13).map(|at| requests[at].tool_results()[0].is_error).collect();
    let refused: Vec<bool> = (1..=13).map(|at| at == 10).collect();
    assert_eq!(errors, refused, "{}", requests[10].tool_results()[0].text);
    assert!(requests[10].tool_results()[0].text.contains("tool call 10 of effort 1 (implement)"));

    let model = ModelServer::start(Script::new([
        bash("substrate effort resume 1"),
        read(&env),
        Turn::text("went on"),
    ]));
    assert_eq!(Client::new(&env, &model).print("what is left to do?", &[]).result(), "went on");
    let requests = model.main_requests();
    let offer = "Unfinished here: effort 1 of skill `implement`";
    assert!(requests[0].news().contains(offer), "{}", requests[0].news());
    assert!(!requests[0].texts().contains("Goal: build"), "only the session that takes it is told");
    let told = requests[2].texts();
    assert_eq!(told.matches("> Goal: build the door.").count(), 1, "{told}");
    let all = windows(&env);
    assert_eq!((all.len(), &all[0]["effort"], &all[1]["effort"]), (2, &json!(1), &json!(1)));
    assert_ne!(all[0]["agent"], all[1]["agent"], "another agent goes on with it");
}

#[test]
fn the_models_own_use_of_a_skill_begins_an_effort_and_a_second_use_asks() {
    let env = installed("phases = [\"look\", \"mend\"]\n");
    let skill = || Turn::tool("Skill", json!({"skill": "fix", "args": "the door"}));
    let script = Script::new([skill(), Turn::text("begun")])
        .on_prompt("go on", [skill(), Turn::text("asked")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let run = client.print("mend the door", &[]);
    assert_eq!(run.result(), "begun");
    let told = model.main_requests()[1].news();
    assert!(told.contains("Effort 1 has begun: skill `fix`, phase `look`"), "{told}");
    assert_eq!(client.print("go on", &["--resume", run.session_id()]).result(), "asked");
    let told = model.main_requests()[3].news();
    assert!(told.contains("Effort 1 of skill `fix`") && told.contains("Ask the user"), "{told}");
}

#[test]
fn the_tenth_call_waits_for_a_log_entry_and_directions_come_with_the_file() {
    let env = installed("");
    let mut turns = vec![bash("substrate effort start fix")];
    turns.push(Turn::tool("Read", json!({"file_path": env.project().join("sub/a.txt")})));
    turns.extend((2..=10).map(|_| read(&env)));
    turns.extend([bash("substrate effort log 'nine looks'"), read(&env), Turn::text("done")]);
    let model = ModelServer::start(Script::new(turns));
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    let requests = model.main_requests();
    let result = |at: usize| requests[at].tool_results()[0].clone();
    assert!(requests[2].news().contains("> Only tabs in here."), "{}", requests[2].news());
    assert!(requests[8].news().contains("7 tool calls of effort 1"), "{}", requests[8].news());
    for at in 1..=10 {
        assert!(!result(at).is_error, "{at}: {}", result(at).text);
    }
    assert!(
        result(11).is_error && result(11).text.contains("tool call 10 of effort 1"),
        "{}",
        result(11).text
    );
    assert!(!result(12).is_error && !result(13).is_error, "{}", result(12).text);
    assert_eq!(windows(&env)[0]["heartbeat"], 1);
}

#[test]
fn a_parent_with_three_subagents_keeps_its_own_count_and_window() {
    let env = installed("block_at = 4\nwarn_at = 0\n");
    let names = ["look once", "look twice", "look often"];
    let agents = names.map(|prompt| {
        ("Agent", json!({"description": prompt, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false}))
    });
    let script = Script::new([
        bash("substrate effort start fix"),
        Turn::tools(agents),
        read(&env),
        bash("substrate effort log 'they are back'"),
        Turn::text("all done"),
    ])
    .subagent(names[0], [read(&env), Turn::text("once")])
    .subagent(names[1], [read(&env), read(&env), Turn::text("twice")])
    .subagent(
        names[2],
        [
            read(&env),
            read(&env),
            read(&env),
            read(&env),
            bash("substrate effort log 'looked often'"),
            read(&env),
            Turn::text("often"),
        ],
    );
    let model = ModelServer::start(script);
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "all done");
    let all = windows(&env);
    let main = all.iter().find(|window| window["actor"] == "main").unwrap();
    assert_eq!(
        all.iter().filter(|window| window["actor"] == "main").count(),
        1,
        "one window throughout"
    );
    assert_eq!(main["ended_why"], "other", "it ended with its session");
    let mut counts: Vec<i64> = Vec::new();
    for window in all.iter().filter(|window| window["actor"] != "main") {
        assert_eq!((&window["parent"], &window["effort"]), (&main["id"], &main["effort"]));
        assert_eq!(window["ended_why"], "stop");
        counts.push(window["heartbeat"].as_i64().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2], "each for itself; the third starts over after its entry");
    // Three calls started them, so the parent's fourth is refused, whatever they did.
    let requests = model.main_requests();
    let refused = requests[3].tool_results()[0].clone();
    assert!(
        refused.is_error && refused.text.contains("tool call 4 of effort 1"),
        "{}",
        refused.text
    );
    let often = model.subagent_requests();
    let refusals =
        often.iter().filter(|one| one.news().contains("tool call 4 of effort 1")).count();
    assert_eq!(refusals, 1);
    let log = std::fs::read_dir(env.project().join("tasks")).unwrap().flatten().next().unwrap();
    let log = std::fs::read_to_string(log.path().join("1_FIX_LOG.md")).unwrap();
    let name = agent(&env);
    assert!(
        log.contains(&format!("· {name}/general-purpose-")) && log.contains("looked often"),
        "{log}"
    );
    assert!(log.contains(&format!("· {name}\n\nthey are back")), "{log}");
}

#[test]
fn an_overflow_is_warned_of_and_what_was_dehydrated_comes_back_after_the_compaction() {
    let env = installed("");
    let at = |tokens: u64| Usage { input_tokens: tokens, ..Usage::default() };
    let model = ModelServer::start(Script::new([
        bash("substrate effort start fix --task tasks/door"),
        read(&env).usage(at(140_000)),
        when_written(&env, 140_000, read(&env).usage(at(140_000))),
        read(&env).usage(at(155_000)),
        when_written(&env, 155_000, read(&env).usage(at(155_000))),
        bash("substrate effort dehydrate 'Goal: mend the door.'").usage(at(155_000)),
        read(&env).usage(at(175_000)),
        read(&env),
        Turn::text("went on"),
    ]));
    let client = Client::new(&env, &model);
    assert_eq!(client.print("begin", &[]).result(), "went on");
    let requests = model.main_requests();
    let told = |text: &str| requests.iter().filter(|one| one.news().contains(text)).count();
    assert_eq!(told("Your context is at 84 % of the point where the client compacts it"), 1);
    assert_eq!(told("Overflow: your context is at 93 %"), 1);
    assert_eq!(told("> Goal: mend the door."), 1, "after the compaction, once");
    let summary = model
        .requests()
        .into_iter()
        .find(|request| request.texts().contains("create a detailed summary"))
        .unwrap();
    assert!(
        summary.texts().contains("the agent is working on effort 1 (skill fix)"),
        "the summariser knows"
    );
    let all = windows(&env);
    assert_eq!(
        (all.len(), &all[1]["ended_why"], &all[0]["prev"]),
        (2, &json!("compact"), &all[1]["id"])
    );
}

#[test]
fn a_refusal_is_not_repeated_when_its_way_out_needs_a_permission_that_is_not_given() {
    let env = installed("block_at = 2\nwarn_at = 0\n");
    let model = ModelServer::start(Script::new([
        bash("substrate effort start fix"),
        read(&env),
        read(&env),
        bash("substrate effort log 'may I?'"),
        read(&env),
        read(&env),
        Turn::text("not stuck"),
    ]));
    let client = Client::new(&env, &model);
    let allowed =
        ["--permission-mode", "default", "--allowedTools", "Bash(substrate effort start:*)"];
    assert_eq!(client.print("begin", &allowed).result(), "not stuck");
    let requests = model.main_requests();
    let errors: Vec<bool> = (1..=6).map(|at| requests[at].tool_results()[0].is_error).collect();
    assert_eq!(errors, [false, false, true, true, false, false]);
    assert!(requests[3].tool_results()[0].text.contains("[heartbeat]"));
}

#[test]
fn what_the_client_loads_itself_is_not_told_again() {
    let env = installed("");
    write_file(&env.project().join("CLAUDE.md"), b"Root words.\n@AGENTS.md\n");
    write_file(&env.project().join("AGENTS.md"), b"Imported words.\n");
    write_file(&env.project().join("sub/CLAUDE.md"), b"Nested words.\n");
    let model = ModelServer::start(Script::new([
        Turn::tool("Read", json!({"file_path": env.project().join("sub/a.txt")})),
        Turn::text("done"),
    ]));
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    let told = model.main_requests()[1].texts();
    for words in ["Root words.", "Imported words.", "Nested words.", "Only tabs in here."] {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
}
