//! The session logs with the real client: the tree that a session with one subagent leaves, and what the model is told.

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn};

#[test]
fn a_session_with_one_subagent_leaves_its_tree_and_is_told_where() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install", "--profile", "reminders"]).success();
    env.substrate(["daemon", "start"]).success();
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
