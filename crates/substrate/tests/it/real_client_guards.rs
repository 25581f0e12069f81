//! The real client wants to throw work away: it is refused, reads why, and the work is still there.

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, write_file};

use crate::house::journal;

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
    let bash =
        |command: &str| Turn::tool("Bash", json!({"command": command, "description": "a step"}));
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
