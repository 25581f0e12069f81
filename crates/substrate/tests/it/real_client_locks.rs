//! Two agents, one tree: the real client, two sessions, and one session with two subagents.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, wait_until, write_file};

use crate::house::{SOON, journal};

const LONG: Duration = Duration::from_secs(60);

/// An installation, and a repository with two files.
fn installed() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    write_file(&env.project().join("a.txt"), b"one\n");
    write_file(&env.project().join("b.txt"), b"one\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

fn read(env: &TestEnv, file: &str) -> Turn {
    Turn::tool("Read", json!({"file_path": env.project().join(file)}))
}

fn edit(env: &TestEnv, file: &str, from: &str, to: &str) -> Turn {
    let file = env.project().join(file);
    Turn::tool("Edit", json!({"file_path": file, "old_string": from, "new_string": to}))
}

fn text(env: &TestEnv, file: &str) -> String {
    std::fs::read_to_string(env.project().join(file)).unwrap()
}

fn gate(env: &TestEnv) -> (String, std::path::PathBuf) {
    let gate = env.project().join(".git/go");
    (format!("while [ ! -e {} ]; do sleep 0.05; done", gate.display()), gate)
}

#[test]
fn two_sessions_that_edit_one_file_take_turns() {
    let env = installed();
    let (wait, gate) = gate(&env);
    let first_model = ModelServer::start(Script::new([
        read(&env, "a.txt"),
        edit(&env, "a.txt", "one", "two"),
        bash(&wait),
        Turn::text("first done"),
    ]));
    let first = Client::new(&env, &first_model);
    let first = first.start_print("begin", &[]);
    wait_until(SOON, "the first edit", || text(&env, "a.txt") == "two\n");
    wait_until(SOON, "its shell", || {
        journal(&env).iter().any(|entry| entry["event"] == "PreToolUse" && entry["tool"] == "Bash")
    });
    let second_model = ModelServer::start(Script::new([
        read(&env, "a.txt"),
        edit(&env, "a.txt", "two", "three"),
        bash("cd . && cat a.txt"),
        read(&env, "b.txt"),
        edit(&env, "b.txt", "one", "elsewhere"),
        Turn::text("refused"),
    ]));
    let client = Client::new(&env, &second_model);
    let run = client.print("begin", &[]);
    assert_eq!(run.result(), "refused");
    let results = |at: usize| second_model.main_requests()[at].tool_results()[0].clone();
    let refused = results(2);
    assert!(refused.is_error && refused.text.contains("a.txt"), "{}", refused.text);
    assert!(refused.text.contains("substrate locks wait"), "{}", refused.text);
    assert!(
        !results(1).is_error && !results(3).is_error && !results(4).is_error,
        "harmless work goes on"
    );
    assert_eq!(
        (text(&env, "a.txt").as_str(), text(&env, "b.txt").as_str()),
        ("two\n", "elsewhere\n")
    );
    write_file(&gate, b"");
    first.finish(LONG).success();
    let third_model = ModelServer::start(Script::new([
        read(&env, "a.txt"),
        edit(&env, "a.txt", "two", "three"),
        Turn::text("edited"),
    ]));
    assert_eq!(Client::new(&env, &third_model).print("begin", &[]).result(), "edited");
    assert_eq!(text(&env, "a.txt"), "three\n", "after the release it is free");
}

#[test]
fn two_subagents_of_one_session_exclude_each_other() {
    let env = installed();
    let (wait, gate) = gate(&env);
    let both = ["hold it", "want it"].map(|prompt| {
        ("Agent", json!({"description": prompt, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": true}))
    });
    let script = Script::new([
        Turn::tools(both),
        Turn::text("waiting for them"),
        Turn::text("still waiting"),
        Turn::text("all done"),
    ])
    .subagent(
        "hold it",
        [read(&env, "a.txt"), edit(&env, "a.txt", "one", "two"), bash(&wait), Turn::text("held")],
    )
    .subagent(
        "want it",
        [
            bash(&format!(
                "while ! grep -q two {}; do sleep 0.05; done",
                env.project().join("a.txt").display()
            )),
            read(&env, "a.txt"),
            edit(&env, "a.txt", "two", "three"),
            bash(&format!("touch {}", gate.display())),
            Turn::text("refused"),
        ],
    );
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let run = client.print("begin", &[]);
    assert!(!run.session_id().is_empty());
    assert_eq!(text(&env, "a.txt"), "two\n");
    let refused =
        model.request_containing("substrate locks wait").expect("one of them was refused");
    assert!(refused.texts().contains("want it"), "the one that came second");
    let denied: Vec<Value> =
        journal(&env).into_iter().filter(|entry| entry["verdict"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_ne!(denied[0]["actor"], "main");
}
