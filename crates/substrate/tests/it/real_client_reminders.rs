//! The real client: each reminder is in one request of its recipient, the answers still arrive, and the session logs are
//! written.

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Thread, Turn};

use crate::house::{introduced, journal};

/// Some work: only a turn with work is reminded.
fn look() -> Turn {
    Turn::tool("Bash", json!({"command": "ls", "description": "look"}))
}

fn installed(flags: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install", "--profile", "reminders"].iter().chain(flags)).success();
    env.substrate(["daemon", "start"]).success();
    env
}

#[test]
fn both_phases_are_seen_once_and_the_answer_reaches_the_parent() {
    let env = installed(&[]);
    let script = Script::new([
        Turn::agent("look"),
        Turn::text("first end of the turn"),
        Turn::text("the whole result"),
    ])
    .subagent(
        "look",
        [
            look(),
            Turn::text("found it"),
            Turn::text("checked: found it"),
            Turn::text("nothing to note; found it in src/lib.rs"),
        ],
    );
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "the whole result");
    let (main, sub) = (model.main_requests(), model.subagent_requests());
    assert_eq!((main.len(), sub.len()), (3, 4), "no agent was asked more often");
    assert_eq!(introduced(&sub, "check your own work"), [2]);
    assert_eq!(introduced(&sub, "One more question"), [3]);
    assert_eq!(introduced(&sub, "At the end, repeat your complete final answer"), [2, 3]);
    assert_eq!(introduced(&main, "a short look back"), [2]);
    assert!(
        main[2].news().contains("At the end, repeat your complete final answer"),
        "no person watches"
    );
    let answer = main[1].tool_results()[0].clone();
    assert!(answer.text.contains("nothing to note; found it in src/lib.rs"), "{}", answer.text);
    let blocks = journal(&env).into_iter().filter(|entry| entry["verdict"] == "block");
    assert_eq!(blocks.count(), 3);
}

#[test]
fn a_model_that_is_reminded_can_invoke_the_skill() {
    let env = installed(&[]);
    let model = ModelServer::start(Script::new([
        look(),
        Turn::text("done"),
        Turn::tool("Skill", json!({"skill": "reflect"})),
        Turn::text("looked back; done"),
    ]));
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "looked back; done");
    let main = model.main_requests();
    assert_eq!(introduced(&main, "a short look back"), [2]);
    assert!(main[3].news().contains("Done, undone"), "{}", main[3].news());
}

/// A turn that only answers has nothing to look back at.
#[test]
fn a_turn_without_tools_ends_without_a_reminder() {
    let env = installed(&[]);
    let model = ModelServer::start(Script::new([Turn::text("42"), Turn::text("reminded")]));
    let run = Client::new(&env, &model).print("what is the answer?", &[]);
    assert_eq!(run.result(), "42");
    let first = model.main_requests()[0].texts();
    assert!(first.contains("[SessionStart] session=") && !first.contains("n/a"), "{first}");
    assert!(!first.contains("&lt;system-reminder&gt;"), "no tags of ours: {first}");
}

#[test]
fn the_projects_prompts_are_asked_by_the_client_itself() {
    let env = installed(&["--project"]);
    let script = Script::new([Turn::agent("look"), Turn::text("done"), Turn::text("done again")])
        .subagent("look", [Turn::text("a"), Turn::text("b"), Turn::text("c")]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("begin", &[]);
    assert!(!run.session_id().is_empty());
    let asked = |words: &str| {
        let requests = model.requests().into_iter();
        requests.filter(|one| one.thread == Thread::Side && one.texts().contains(words)).count()
    };
    assert!(asked("Analyze the conversation and determine if: 1. All user-requested") > 0);
    assert!(asked("Check if: - The subagent completed its assigned task") > 0);
}

#[test]
fn a_session_with_one_subagent_leaves_its_tree_and_is_told_where() {
    let env = installed(&[]);
    let model = ModelServer::start(
        Script::new([Turn::agent("look around"), Turn::text("done"), Turn::text("done")]).subagent(
            "look around",
            [
                Turn::tool("Bash", json!({"command": "ls", "description": "look"})),
                Turn::text("seen"),
                Turn::text("seen"),
                Turn::text("seen"),
            ],
        ),
    );
    let run = Client::new(&env, &model).print("begin", &["--init"]);
    let session = run.session_id().to_owned();
    let folder = env.project().join("logs/sessions").join(&session);
    let block = format!("[SessionStart] session={session}\nLog: logs/sessions/{session}/");
    // The client puts all of it into a reminder of its own, and escapes the tags inside.
    let first = model.main_requests()[0].texts().replace("&lt;", "<");
    assert!(first.contains(&block), "{first}");
    assert!(first.contains("[Setup:init] Project project initialized"), "{first}");
    assert!(env.project().join(".serena/memories").is_dir());

    let agents: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(agents.len(), 1, "{agents:?}");
    let agent = agents[0].file_name().unwrap().to_str().unwrap().to_owned();
    let said = model.subagent_requests()[0].texts();
    assert!(said.contains(&format!("Log: logs/sessions/{session}/{agent}/")), "{said}");
    let line = |path: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(path)).unwrap();
        serde_json::from_str(text.lines().next().unwrap()).unwrap()
    };
    assert_eq!(line("session-start.jsonl")["source"], "startup");
    assert_eq!(line(&format!("{agent}/agent-start.jsonl"))["agent_type"], "general-purpose");
    let stops = std::fs::read_to_string(folder.join(&agent).join("agent-stop.jsonl")).unwrap();
    let phase = |line| serde_json::from_str::<Value>(line).unwrap()["phase"].clone();
    let phases: Vec<Value> = stops.lines().map(phase).collect();
    assert_eq!(phases, ["validation", "reflexion", "end"]);
    assert_eq!(line("session-end.jsonl")["agent_count"], 1);
    let timeline = std::fs::read_to_string(folder.join("events.log")).unwrap();
    let events: Vec<&str> =
        timeline.lines().map(|line| line.split(['[', ']']).nth(3).unwrap()).collect();
    assert_eq!((events[0], events[events.len() - 1]), ("Setup", "SessionEnd"), "{timeline}");
}
