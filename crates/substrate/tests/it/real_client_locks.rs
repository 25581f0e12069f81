//! Two agents, one tree: the real client, two sessions, and one session with two subagents. And one that wants to throw work
//! away: it is refused, reads why, and the work is still there.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, bin, wait_until, write_file};

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

/// The model of a session that edits `a.txt`, and keeps it while its shell waits.
fn holding(env: &TestEnv, wait: &str) -> ModelServer {
    ModelServer::start(Script::new([
        read(env, "a.txt"),
        edit(env, "a.txt", "one", "two"),
        bash(wait),
        Turn::text("first done"),
    ]))
}

fn wait_until_held(env: &TestEnv) {
    wait_until(SOON, "the first edit", || text(env, "a.txt") == "two\n");
    wait_until(SOON, "its shell", || {
        journal(env).iter().any(|entry| entry["event"] == "PreToolUse" && entry["tool"] == "Bash")
    });
}

/// What a refused agent does: it lets the holder go on (which the test does itself), and waits as it was told.
fn until_free(gate: &std::path::Path) -> String {
    let program = bin("substrate");
    format!("touch {} && {} locks wait a.txt --timeout 30s", gate.display(), program.display())
}

#[test]
fn two_sessions_that_edit_one_file_take_turns() {
    let env = installed();
    let (wait, gate) = gate(&env);
    let first_model = holding(&env, &wait);
    let first = Client::new(&env, &first_model).start_print("begin", &[]);
    wait_until_held(&env);
    let second_model = ModelServer::start(Script::new([
        read(&env, "a.txt"),
        edit(&env, "a.txt", "two", "three"),
        bash("cd . && cat a.txt"),
        read(&env, "b.txt"),
        edit(&env, "b.txt", "one", "elsewhere"),
        bash(&until_free(&gate)),
        edit(&env, "a.txt", "two", "three"),
        Turn::text("both edited"),
    ]));
    let client = Client::new(&env, &second_model);
    let run = client.print("begin", &[]);
    assert_eq!(run.result(), "both edited");
    let results = |at: usize| second_model.main_requests()[at].tool_results()[0].clone();
    let refused = results(2);
    assert!(refused.is_error && refused.text.contains("a.txt"), "{}", refused.text);
    assert!(refused.text.contains("substrate locks wait"), "{}", refused.text);
    assert!(
        !results(1).is_error && !results(3).is_error && !results(4).is_error,
        "harmless work goes on"
    );
    assert!(!results(7).is_error, "after the release it is free: {}", results(7).text);
    assert_eq!(
        (text(&env, "a.txt").as_str(), text(&env, "b.txt").as_str()),
        ("three\n", "elsewhere\n")
    );
    first.finish(LONG).success();
    // The holder learns who is waiting with its next tool result, and its stop frees the file at once.
    let requests = first_model.main_requests();
    let note = "is waiting for `a.txt`, which you hold. Run `substrate locks release ";
    let told: Vec<bool> = requests.iter().map(|request| request.news().contains(note)).collect();
    assert_eq!(told, [false, false, false, true]);
}

/// A shell line can't bypass a lease: the model of the second session reads why, and what to do.
#[test]
fn a_line_that_writes_what_another_session_holds_is_refused_until_it_is_free() {
    let env = installed();
    let (wait, gate) = gate(&env);
    let first_model = holding(&env, &wait);
    let first = Client::new(&env, &first_model).start_print("begin", &[]);
    wait_until_held(&env);
    let second_model = ModelServer::start(Script::new([
        bash("sed -i s/two/three/ a.txt"),
        bash("echo three > a.txt"),
        bash("cat a.txt && echo other > b.txt"),
        bash(&until_free(&gate)),
        bash("sed -i s/two/three/ a.txt"),
        Turn::text("written"),
    ]));
    let run = Client::new(&env, &second_model).print("begin", &[]);
    assert_eq!(run.result(), "written");
    let results = |at: usize| second_model.main_requests()[at].tool_results()[0].clone();
    for at in [1, 2] {
        let refused = results(at);
        assert!(refused.is_error, "{}", refused.text);
        assert!(refused.text.contains("`a.txt` is leased by "), "{}", refused.text);
        assert!(refused.text.contains("`substrate locks wait a.txt`"), "{}", refused.text);
    }
    assert!(results(3).text.starts_with("two"), "nothing was written, and reading is free");
    assert!(!results(5).is_error, "after the release it is free: {}", results(5).text);
    assert_eq!(
        (text(&env, "a.txt").as_str(), text(&env, "b.txt").as_str()),
        ("three\n", "other\n")
    );
    first.finish(LONG).success();
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
            bash(&until_free(&gate)),
            edit(&env, "a.txt", "two", "three"),
            Turn::text("edited"),
        ],
    );
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let run = client.print("begin", &[]);
    assert!(!run.session_id().is_empty());
    assert_eq!(text(&env, "a.txt"), "three\n", "after the release it is free");
    let refused =
        model.request_containing("substrate locks wait").expect("one of them was refused");
    assert!(refused.texts().contains("want it"), "the one that came second");
    let denied: Vec<Value> =
        journal(&env).into_iter().filter(|entry| entry["verdict"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_ne!(denied[0]["actor"], "main");
}

/// A parent that waits for its subagent can't release a file, so it does not keep the subagent off it.
#[test]
fn a_subagent_may_edit_what_its_waiting_parent_holds() {
    let env = installed();
    let call = json!({"description": "go on", "prompt": "go on with it", "subagent_type": "general-purpose", "run_in_background": false});
    let script = Script::new([
        read(&env, "a.txt"),
        edit(&env, "a.txt", "one", "two"),
        Turn::tool("Agent", call),
        read(&env, "a.txt"),
        edit(&env, "a.txt", "three", "four"),
        Turn::text("all done"),
    ])
    .subagent(
        "go on with it",
        [read(&env, "a.txt"), edit(&env, "a.txt", "two", "three"), Turn::text("edited")],
    );
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "all done");
    assert_eq!(text(&env, "a.txt"), "four\n");
    let verdicts: Vec<Value> =
        journal(&env).into_iter().filter(|entry| entry["verdict"] == "deny").collect();
    assert_eq!(verdicts, [] as [Value; 0]);
}

/// This seed's profile: a session starts with its project, and a prompt with matching skills.
#[test]
fn a_session_begins_with_its_project_and_a_prompt_with_the_skills_that_fit() {
    let env = installed();
    env.substrate(["hooks", "install", "--profile", "locks"]).success();
    let skill = env.project().join(".claude/skills/deploy-checks");
    std::fs::create_dir_all(&skill).unwrap();
    let about =
        "---\nname: deploy-checks\ndescription: Verifies a deployment before release.\n---\n";
    write_file(&skill.join("SKILL.md"), about.as_bytes());
    let model =
        ModelServer::start(Script::new([bash("echo \"<$AGENT_ID>\""), Turn::text("looked")]));
    let run = Client::new(&env, &model).print("verify the deployment of the release", &[]);
    assert_eq!(run.result(), "looked");
    let requests = model.main_requests();
    let first = requests[0].texts();
    assert!(first.contains("Project structure (depth 2):\n"), "{first}");
    assert!(first.contains("\n  a.txt\n  b.txt"), "{first}");
    assert!(first.contains("[substrate skills]") && first.contains("deploy-checks"), "{first}");
    let echoed = &requests[1].tool_results()[0].text;
    assert!(echoed.trim().len() > 4 && echoed.contains('<'), "AGENT_ID is exported: {echoed}");
}

fn git(env: &TestEnv, args: &[&str]) -> String {
    let out = env.command("git").current_dir(env.project()).args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_reset_is_refused_and_the_tree_is_as_it_was() {
    let env = TestEnv::new();
    write_file(&env.project().join("a.txt"), b"one\n");
    git(&env, &["init", "-q"]);
    git(&env, &["add", "."]);
    git(&env, &["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "one"]);
    write_file(&env.project().join("a.txt"), b"not committed\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let model = ModelServer::start(Script::new([
        bash("cd . && git reset --hard"),
        bash("git status --short && echo 'git reset --hard'"),
        bash("cd . && git reset --hard"),
        Turn::text("done"),
    ]));
    assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    let results = |at: usize| model.main_requests()[at].tool_results()[0].clone();
    let refused = results(1);
    assert!(
        refused.is_error && refused.text.contains("[guards.git-reset-hard]"),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("git stash push -m before-reset"), "{}", refused.text);
    assert!(!results(2).is_error && results(2).text.contains("M a.txt"), "harmless work goes on");
    let again = results(3);
    assert!(
        again.is_error && again.text.contains("No one can be asked in this session"),
        "no one is there to say yes: {}",
        again.text
    );
    assert_eq!(std::fs::read_to_string(env.project().join("a.txt")).unwrap(), "not committed\n");
    let verdicts: Vec<String> = journal(&env)
        .iter()
        .filter(|entry| entry["event"] == "PreToolUse")
        .map(|entry| entry["verdict"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(verdicts, ["deny", "allow", "deny"]);
}
