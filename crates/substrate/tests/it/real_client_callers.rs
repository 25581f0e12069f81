//! What the real client lets its agent run, and as whom.

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn};

use crate::house::{daemon_pid, plain};

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

/// Runs these lines one after the other. Returns the result of each.
fn lines(env: &TestEnv, lines: &[&str], args: &[&str]) -> Vec<String> {
    let turns = lines.iter().map(|line| bash(line)).chain([Turn::text("done")]);
    let model = ModelServer::start(Script::new(turns));
    let run = Client::new(env, &model).print("begin", args);
    assert_eq!(run.result(), "done");
    let requests = model.main_requests();
    (0..lines.len())
        .map(|at| requests[at + 1].tool_results().last().unwrap().text.clone())
        .collect()
}

#[test]
fn the_rules_let_agents_run_their_commands_and_nothing_rides_along() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--allow-commands"]).success();
    env.substrate(["daemon", "start"]).success();
    let daemon = daemon_pid(&env);
    let (allowed, refused) = (
        [
            "substrate agent whoami",
            "substrate locks",
            "substrate effort",
            "substrate send --to User --subject hello --body 'a && b'",
            "substrate inbox | head -3",
        ],
        [
            "substrate run -- touch opened",
            "substrate hooks uninstall",
            "substrate down",
            "substrate locks guard install",
            "substrate agent whoami && touch opened",
            "substrate agent whoami; substrate down",
            "substrate send --to User --subject \"$(touch opened)\" --body x",
            "substrate --verbose run -- touch opened",
        ],
    );
    let all: Vec<&str> = allowed.into_iter().chain(refused).collect();
    let said = lines(&env, &all, &["--permission-mode", "default"]);
    let is_asked = |said: &str| {
        ["approval", "permission", "can't be checked"].iter().any(|word| said.contains(word))
    };
    let wrong: Vec<_> = all
        .iter()
        .zip(&said)
        .filter(|(line, said)| is_asked(said) != refused.contains(*line))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(daemon_pid(&env), daemon);
    assert!(!env.project().join("opened").exists());
}

#[test]
fn no_variable_and_no_flag_makes_a_command_anothers() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let _none = env
        .hook_with("SessionStart", plain("s2", "SessionStart"), &[("AGENT_ID", "Other")])
        .code(0);
    let bare = "env -i PATH=$PATH HOME=$HOME SUBSTRATE_HOME=$SUBSTRATE_HOME substrate";
    let (name, send) = ("agent whoami --format json", "send --to User --subject hello --body x");
    let said = lines(
        &env,
        &[
            &format!("{bare} {name}"),
            &format!("{bare} {send}"),
            &format!("{bare} inbox --session-id s2"),
            "substrate run -- touch opened",
            &format!(
                "nohup sh -c 'while [ ! -e go ]; do sleep 0.05; done; substrate {send}; echo > sent' > /dev/null 2>&1 &"
            ),
            "touch go; while [ ! -e sent ]; do sleep 0.05; done",
        ],
        &[],
    );
    assert!(said[0].contains("\"address\"") && !said[0].contains("User"), "{}", said[0]);
    assert!(said[2].contains("can't act for Other"), "{}", said[2]);
    assert!(said[3].contains("`substrate run` is only for the user"), "{}", said[3]);
    assert!(!env.project().join("opened").exists());
    let inbox = env.substrate(["inbox"]).success();
    let name =
        said[0].split("\"address\": \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert_eq!(inbox.matches(name).count(), 2, "{name} in {inbox}");
}
