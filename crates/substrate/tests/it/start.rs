//! What a new session and a prompt are told, through the real hook: real files, real git.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, wait_until, write_file};

use crate::house::configure;

fn git(env: &TestEnv, args: &[&str]) {
    let mut command = env.command("git");
    command.args(["-c", "user.name=dev", "-c", "user.email=dev@example.org"]).args(args);
    Running::start(command, Vec::new()).finish(Duration::from_secs(20)).success();
}

/// The text that an event gives to the model.
fn told(env: &TestEnv, event: &str, more: &Value) -> String {
    let project = env.project().display().to_string();
    let mut payload = json!({"session_id": "s1", "cwd": project, "hook_event_name": event});
    for (name, value) in more.as_object().unwrap() {
        payload[name] = value.clone();
    }
    let out = env.hook_with(event, payload, &[("CLAUDE_PROJECT_DIR", &project)]).success();
    let out: Value = serde_json::from_str(&out).unwrap_or_default();
    out["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_new_session_knows_the_project_and_a_prompt_its_skills() {
    let env = TestEnv::new();
    configure(&env, "profile = \"locks\"\n");
    git(&env, &["init", "-q", "-b", "main"]);
    write_file(&env.project().join("src/lib.rs"), "");
    write_file(&env.project().join("made/x"), "");
    write_file(&env.project().join(".gitignore"), "made\n");
    git(&env, &["add", "."]);
    git(&env, &["commit", "-q", "-m", "the first step"]);
    let skill = |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\n");
    let of_user = env.config().join("skills/charts/SKILL.md");
    write_file(&of_user, skill("charts", "Draws"));
    write_file(&env.project().join(".claude/skills/layers/SKILL.md"), skill("layers", "Builds"));

    // Git may take too long on a busy machine: ask again until it answers.
    let mut start = String::new();
    wait_until(Duration::from_secs(15), "git's answers", || {
        start = told(&env, "SessionStart", &json!({"source": "clear"}));
        start.contains("Recent commits:") && start.contains("Git status:")
    });
    for part in [
        "[substrate agent-init] Project structure (depth 2):\n  .claude/\n    skills/\n  src/\n    lib.rs\n  .gitignore\n\n",
        "Git status:\n  ## main\n  ?? .claude/\n",
        "the first step",
    ] {
        assert!(start.contains(part), "{part:?} is not in {start}");
    }
    assert!(!told(&env, "SessionStart", &json!({"source": "resume"})).contains("agent-init"));

    let prompt = told(&env, "UserPromptSubmit", &json!({"prompt": "draw a chart of the layers"}));
    let expected = format!(
        "[substrate skills] Skills that may help: charts (Draws), layers (Builds); read {}, .claude/skills/layers/SKILL.md",
        of_user.display()
    );
    assert!(prompt.contains(&expected), "{prompt}");
    let done = json!({"prompt": "<task-notification>charts</task-notification>"});
    assert!(!told(&env, "UserPromptSubmit", &done).contains("skills"));
}
