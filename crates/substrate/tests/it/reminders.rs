//! Reminders through the real hook, their commands, and their skills.

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, write_file};

use crate::house::{bytes, configure};

const ANSWER: &str =
    "At the end, repeat your complete final answer: only your last message reaches the caller.";

/// What holds an agent that wants to stop after some work.
fn held(env: &TestEnv, event: &str, again: bool) -> String {
    let mut call = json!({
        "session_id": "s1", "cwd": env.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Glob", "tool_input": {"pattern": "*"}, "tool_use_id": "toolu_1",
    });
    if event == "SubagentStop" {
        call["agent_id"] = json!("a1");
        call["agent_type"] = json!("reviewer");
    }
    env.hook("PreToolUse", call).success();
    held_idle(env, event, again)
}

/// What holds an agent that wants to stop.
fn held_idle(env: &TestEnv, event: &str, again: bool) -> String {
    let project = env.project().display().to_string();
    let mut payload = json!({
        "session_id": "s1", "cwd": project, "hook_event_name": event, "stop_hook_active": again,
        "last_assistant_message": "done", "background_tasks": [], "session_crons": [],
    });
    if event == "SubagentStop" {
        payload["agent_id"] = json!("a1");
        payload["agent_type"] = json!("reviewer");
    }
    let vars = [("CLAUDE_PROJECT_DIR", project.as_str()), ("SUBSTRATE_PERSIST", "off")];
    let out = env.hook_with(event, payload, &vars).success();
    let out: Value = serde_json::from_str(&out).unwrap_or_default();
    out["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_subagent_is_held_twice_and_the_main_thread_once_with_and_without_a_daemon() {
    for with_daemon in [true, false] {
        let env = TestEnv::new();
        let alone = if with_daemon { "" } else { "[daemon]\nautostart = false\n" };
        configure(&env, &format!("profile = \"reminders\"\n{alone}"));
        if with_daemon {
            env.substrate(["daemon", "start"]).success();
        }
        let first = held(&env, "SubagentStop", false);
        assert!(first.contains("check your own work") && first.ends_with(ANSWER), "{first}");
        let second = held(&env, "SubagentStop", true);
        assert!(second.contains("`/reflexion`") && second.ends_with(ANSWER), "{second}");
        for again in [true, false] {
            assert_eq!(held(&env, "SubagentStop", again), "", "it may end");
        }
        assert!(held(&env, "Stop", false).contains("`/reflect`"));
        assert_eq!(held(&env, "Stop", true), "", "it may stop");
        assert_eq!(held_idle(&env, "Stop", false), "", "a turn without tools is not reminded");
    }
}

#[test]
fn a_teams_files_are_told_and_shown() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    configure(&env, "profile = \"reminders\"\n[reminders]\nreflexion = \"From the settings.\"\n");
    let folder = env.project().join(".claude/reminders");
    write_file(&folder.join("validate.md"), "For all.\n");
    write_file(&folder.join("validate.reviewer.md"), "For reviewers.\n");
    write_file(&folder.join("reflect.md"), "");
    assert_eq!(held(&env, "SubagentStop", false), format!("For reviewers.\n{ANSWER}"));
    assert_eq!(held(&env, "SubagentStop", true), format!("From the settings.\n{ANSWER}"));
    assert_eq!(held(&env, "Stop", false), "");
    // A project must not make us read what is not its own.
    let secret = env.root().join("secret");
    write_file(&secret, "token");
    std::os::unix::fs::symlink(&secret, folder.join("reflect.md.new")).unwrap();
    std::fs::rename(folder.join("reflect.md.new"), folder.join("reflect.md")).unwrap();
    assert!(held(&env, "Stop", false).contains("a short look back"));
    write_file(&env.root().join("empty"), "");
    std::fs::rename(env.root().join("empty"), folder.join("reflect.md")).unwrap();

    let show = |args: &[&str]| {
        let inner = env.project().join("src");
        std::fs::create_dir_all(&inner).unwrap();
        let mut command = env.command(substrate_testkit::bin("substrate"));
        command.current_dir(inner).args(["reminders", "show"]).args(args);
        let out = command.output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(show(&["validate"]), format!("For all.\n{ANSWER}\n"));
    assert_eq!(
        show(&["validate", "--agent-type", "reviewer"]),
        format!("For reviewers.\n{ANSWER}\n")
    );
    assert_eq!(show(&["validate", "--agent-type", ""]), format!("For all.\n{ANSWER}\n"));
    assert_eq!(show(&["validate", "--agent-type", "../../x"]), format!("For all.\n{ANSWER}\n"));
    assert_eq!(show(&["validate", "--agent-type", "Explore"]), "");
    assert_eq!(show(&["reflexion"]), format!("From the settings.\n{ANSWER}\n"));
    assert_eq!(show(&["reflect"]), "");
    let list = env.substrate(["reminders"]).success();
    assert!(list.contains("reflect    off (its file is empty)"), "{list}");
    assert!(list.contains("validate   on; the words are in `"), "{list}");
    assert!(list.contains("reflexion  on; the words are in your settings ("), "{list}");
    env.substrate(["reminders", "show", "nothing"]).code(2);
}

#[test]
fn the_skills_come_and_go_with_the_hooks() {
    let env = TestEnv::new();
    let install = ["hooks", "install", "--profile", "reminders"];
    env.substrate(install).success();
    for name in ["reflect", "reflexion"] {
        let text = bytes(&env.config().join(format!("skills/{name}/SKILL.md")));
        assert!(text.starts_with(format!("---\nname: {name}\n").as_bytes()));
    }
    let again = env.substrate(install).code(0);
    assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
    env.substrate(["hooks", "uninstall"]).success();
    assert!(!env.config().join("skills").exists());
    // Even without a manifest.
    for again in [false, true] {
        env.substrate(install).success();
        std::fs::remove_dir_all(env.state()).unwrap();
        if again {
            env.substrate(install).success();
        }
        env.substrate(["hooks", "uninstall"]).success();
        for name in ["reflect", "reflexion", "substrate"] {
            assert!(!env.config().join("skills").join(name).exists(), "{name}");
        }
    }
}

#[test]
fn a_skill_of_that_name_that_is_not_ours_stays() {
    let env = TestEnv::new();
    let mine = env.config().join("skills/reflect/SKILL.md");
    let odd = env.config().join("skills/reflexion/SKILL.md");
    let text = "---\nname: reflect\ndescription: my own\n---\nThink.\n";
    write_file(&mine, text);
    write_file(&odd, b"\xff\xfe no text");
    let install = ["hooks", "install", "--profile", "reminders"];
    let shown = env.substrate(install.iter().chain(&["--dry-run"])).success();
    assert!(shown.contains("reflect/SKILL.md (it is not ours)"), "{shown}");
    for _ in 0..2 {
        let run = env.substrate(install).code(0);
        for name in ["reflect", "reflexion"] {
            let line = format!("{name}/SKILL.md: it is not ours, so it stays as it is");
            assert!(run.stderr.contains(&line), "{}", run.stderr);
        }
        assert!(env.config().join("skills/substrate/SKILL.md").exists());
    }
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&mine), text.as_bytes());
    assert_eq!(bytes(&odd), b"\xff\xfe no text");
    assert!(!env.config().join("skills/substrate").exists());
    // Our script is registered by its path, and a user's own script is left alone in the same way.
    let script = env.config().join("hooks/substrate/stop.sh");
    write_file(&script, b"#!/bin/sh\necho mine\n");
    let run = env.substrate(["hooks", "install", "--scripts"]).code(0);
    assert!(run.stderr.contains("stop.sh: it is not ours"), "{}", run.stderr);
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&script), b"#!/bin/sh\necho mine\n");
}

#[test]
fn only_a_project_with_that_profile_gets_the_prompts() {
    let prompts = |scope: &[&str]| {
        let env = TestEnv::new();
        // One person's own settings are not the team's.
        configure(&env, "profile = \"reminders\"\n");
        std::fs::create_dir(env.project().join(".git")).unwrap();
        env.substrate(["hooks", "install"].iter().chain(scope)).success();
        let file = if scope.contains(&"--project") {
            env.project().join(".claude/settings.json")
        } else if scope.contains(&"--local") {
            env.project().join(".claude/settings.local.json")
        } else {
            env.config().join("settings.json")
        };
        let n = String::from_utf8(bytes(&file)).unwrap().matches("\"prompt\":").count();
        // Another added profile leaves them. Only a replacing one removes them, and so does an uninstall.
        if n > 0 {
            env.substrate(["hooks", "install", "--project", "--profile", "locks"]).success();
            assert!(String::from_utf8(bytes(&file)).unwrap().contains("\"prompt\":"));
            env.substrate(["hooks", "install", "--project", "--profile", "locks", "--only"])
                .success();
            assert!(!String::from_utf8(bytes(&file)).unwrap().contains("\"prompt\":"));
            env.substrate(["hooks", "install", "--project", "--profile", "all"]).success();
            assert!(String::from_utf8(bytes(&file)).unwrap().contains("\"prompt\":"));
        }
        env.substrate(["hooks", "uninstall"].iter().chain(&scope[..scope.len().min(1)])).success();
        assert!(!file.exists());
        n
    };
    assert_eq!(prompts(&["--project", "--profile", "reminders"]), 2);
    assert_eq!(prompts(&["--project", "--profile", "standard"]), 0);
    assert_eq!(prompts(&["--project"]), 0);
    assert_eq!(prompts(&["--local", "--profile", "reminders"]), 0);
    assert_eq!(prompts(&["--user", "--profile", "reminders"]), 0);
}
