//! The shell library and the scripts, as people use them: in bash and in dash, without a daemon.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, write_file};

const SHELLS: [&str; 2] = ["bash", "dash"];
const LONG: Duration = Duration::from_secs(20);

fn installed() -> TestEnv {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    env
}

fn scripts(env: &TestEnv) -> PathBuf {
    env.config().join("hooks/scripts")
}

fn log(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.project().join("logs/sessions").join(path)).unwrap_or_default()
}

fn payload(env: &TestEnv, event: &str, more: &Value) -> String {
    let mut out = json!({"hook_event_name": event, "session_id": "test", "cwd": env.project()});
    out.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    out.to_string()
}

/// A script of that folder.
fn script(env: &TestEnv, shell: &str, name: &str, input: &str) -> Run {
    let mut command = env.command(shell);
    command.arg(scripts(env).join(name));
    Running::start(command, input.into()).finish(LONG)
}

/// A user's own script.
fn own(env: &TestEnv, shell: &str, text: &str, input: &str) -> Run {
    write_file(&scripts(env).join("own.sh"), text.as_bytes());
    script(env, shell, "own.sh", input)
}

#[test]
fn the_six_scripts_say_and_write_what_they_should() {
    for shell in SHELLS {
        let env = installed();
        let run = |name: &str, event: &str, more: Value| {
            script(&env, shell, name, &payload(&env, event, &more)).success()
        };
        assert_eq!(
            run("setup-project.sh", "Setup", json!({"trigger": "init"})),
            "[Setup:init] Project project initialized\n- Log directory: logs/sessions/\n- Memory directory: .serena/memories/\n"
        );
        assert!(env.project().join(".serena/memories").is_dir());
        let told = run("setup-project.sh", "Setup", json!({"trigger": "maintenance"}));
        assert!(told.contains("[Setup:maintenance] Project project maintained\n"), "{told}");
        assert_eq!(
            run("inject-context.sh", "SessionStart", json!({"source": "startup", "model": "opus"})),
            "[SessionStart] session=test\nLog: logs/sessions/test/\n"
        );
        let start: Value = serde_json::from_str(&log(&env, "test/session-start.jsonl")).unwrap();
        assert_eq!(
            (&start["event"], &start["source"], &start["model"], &start["project"]),
            (&json!("SessionStart"), &json!("startup"), &json!("opus"), &json!("project"))
        );
        assert_eq!(
            run(
                "inject-context.sh",
                "SubagentStart",
                json!({"agent_id": "a1", "agent_type": "reviewer"})
            ),
            "[SubagentStart] session=test agent=a1 type=reviewer\nLog: logs/sessions/test/a1/\n"
        );
        // The client used to leave out the type here. The log of the start has it.
        let stop = |again: bool| json!({"agent_id": "a1", "stop_hook_active": again});
        let told = run("remind-validate.sh", "SubagentStop", stop(false));
        let shown = env.substrate(["reminders", "show", "validate", "--agent-type", "reviewer"]);
        assert_eq!(told, shown.success(), "each checklist has one wording");
        assert_eq!(run("remind-validate.sh", "SubagentStop", stop(true)), "", "not its phase");
        assert_eq!(run("remind-reflexion.sh", "SubagentStop", stop(false)), "", "not its phase");
        let told = run("remind-reflexion.sh", "SubagentStop", stop(true));
        assert!(told.contains("/reflexion"), "{told}");
        let stops: Vec<Value> = log(&env, "test/a1/agent-stop.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let told: Vec<_> = stops
            .iter()
            .map(|stop| (stop["phase"].as_str().unwrap(), stop["agent_type"].as_str().unwrap()))
            .collect();
        assert_eq!(told, [("validation", "reviewer"), ("reflexion", "reviewer")]);
        let told = run("remind-reflect.sh", "Stop", json!({"stop_hook_active": false}));
        assert!(told.contains("/reflect"), "{told}");
        // A team that wants no such reminder has an empty file, wherever the script is run.
        write_file(&env.project().join(".claude/reminders/reflect.md"), b"");
        assert_eq!(run("remind-reflect.sh", "Stop", json!({"stop_hook_active": false})), "");
        std::fs::remove_file(env.project().join(".claude/reminders/reflect.md")).unwrap();
        assert_eq!(run("remind-reflect.sh", "Stop", json!({"stop_hook_active": true})), "");
        assert_eq!(run("checkpoint-session.sh", "SessionEnd", json!({"reason": "other"})), "");
        let end: Value = serde_json::from_str(&log(&env, "test/session-end.jsonl")).unwrap();
        assert_eq!((&end["reason"], &end["agent_count"]), (&json!("other"), &json!(1)));
        let events: Vec<String> = log(&env, "test/events.log")
            .lines()
            .map(|line| line.split(['[', ']']).nth(3).unwrap().to_owned())
            .collect();
        assert_eq!(
            events,
            [
                "Setup",
                "Setup",
                "SessionStart",
                "SubagentStart",
                "SubagentStop",
                "SubagentStop",
                "Stop",
                "Stop",
                "Stop",
                "SessionEnd"
            ]
        );
    }
}

#[test]
fn a_script_runs_by_itself_with_nothing_in_its_environment() {
    let env = installed();
    let file = scripts(&env).join("inject-context.sh");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    let library = scripts(&env).join("lib/hook-utils.sh");
    assert_eq!(library.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let mut command = env.command(file);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    let input = payload(&env, "SessionStart", &json!({}));
    let told = Running::start(command, input.into()).finish(LONG).success();
    assert!(told.contains("Log: logs/sessions/test/\n"), "{told}");
    assert_eq!(log(&env, "test/session-start.jsonl").lines().count(), 1);
}

const EVERYTHING: &str = r#"
set -eu
. "$(dirname "$0")/lib/hook-utils.sh"
parse_hook_input
for part in common setup session_start subagent_start subagent_stop stop session_end; do "parse_$part"; done
ensure_session_dir
ensure_agent_dir
write_session_start_jsonl
write_agent_start_jsonl
read_agent_start
write_agent_stop_jsonl
write_session_end_jsonl
log_event some words
for name in HOOK_EVENT SESSION_ID TRANSCRIPT_PATH CWD PERMISSION_MODE PROJECT_NAME SESSION_LOG_DIR TRIGGER SOURCE MODEL \
  AGENT_ID AGENT_TYPE AGENT_LOG_DIR AGENT_TRANSCRIPT_PATH STOP_HOOK_ACTIVE REASON; do
  eval "printf '%s=%s\n' \"$name\" \"\$$name\""
done
"#;

#[test]
fn every_function_works_and_every_variable_is_set() {
    for shell in SHELLS {
        let env = installed();
        let input = payload(
            &env,
            "SubagentStop",
            &json!({
                "transcript_path": "/t/it's $(touch pwned) `x`.jsonl", "permission_mode": "default", "agent_id": "a1",
                "agent_type": "code reviewer", "agent_transcript_path": "/t/a1.jsonl", "stop_hook_active": true,
            }),
        );
        let project = env.project().display().to_string();
        let told = own(&env, shell, EVERYTHING, &input).code(0);
        assert_eq!(told.stderr, "");
        assert_eq!(
            told.stdout,
            format!(
                "HOOK_EVENT=SubagentStop\nSESSION_ID=test\nTRANSCRIPT_PATH=/t/it's $(touch pwned) `x`.jsonl\nCWD={project}\n\
                 PERMISSION_MODE=default\nPROJECT_NAME=project\nSESSION_LOG_DIR={project}/logs/sessions/test\nTRIGGER=\nSOURCE=\n\
                 MODEL=\nAGENT_ID=a1\nAGENT_TYPE=code reviewer\nAGENT_LOG_DIR={project}/logs/sessions/test/a1\n\
                 AGENT_TRANSCRIPT_PATH=/t/a1.jsonl\nSTOP_HOOK_ACTIVE=true\nREASON=\n"
            )
        );
        assert!(!env.project().join("pwned").exists());
        for file in [
            "session-start.jsonl",
            "session-end.jsonl",
            "a1/agent-start.jsonl",
            "a1/agent-stop.jsonl",
        ] {
            let line = log(&env, &format!("test/{file}"));
            assert_eq!(line.lines().count(), 1, "{file}");
            serde_json::from_str::<Value>(&line).unwrap();
        }
        assert!(log(&env, "test/events.log").ends_with(" phase=reflexion some words\n"));
    }
}

#[test]
fn every_event_sets_its_own_variables() {
    let told = |event: &str, more: Value| {
        let env = installed();
        let text = ". \"$(dirname \"$0\")/lib/hook-utils.sh\"\nparse_hook_input\n\
            echo \"$HOOK_EVENT|$TRIGGER|$SOURCE|$MODEL|$AGENT_ID|$AGENT_TYPE|$STOP_HOOK_ACTIVE|$REASON\"\n";
        own(&env, "dash", text, &payload(&env, event, &more)).success()
    };
    for (event, more, expected) in [
        ("Setup", json!({"trigger": "init"}), "Setup|init||||||"),
        (
            "SessionStart",
            json!({"source": "resume", "model": "opus"}),
            "SessionStart||resume|opus||||",
        ),
        (
            "SessionStart",
            json!({"source": "a new one", "agent_type": "lead"}),
            "SessionStart||a new one|||lead||",
        ),
        (
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "x</y>\nz"}),
            "SubagentStart||||a1|x_/y_ z||",
        ),
        ("SubagentStop", json!({"agent_id": "a1"}), "SubagentStop||||a1||false|"),
        ("Stop", json!({"stop_hook_active": true}), "Stop||||||true|"),
        ("SessionEnd", json!({"reason": "clear"}), "SessionEnd|||||||clear"),
        ("Later", json!({}), "Later|||||||"),
    ] {
        assert_eq!(told(event, more).trim_end(), expected);
    }
}

#[test]
fn bad_input_and_a_missing_program_harm_no_script() {
    for shell in SHELLS {
        let env = installed();
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for input in [
            "",
            "{ torn",
            "[]",
            "null",
            "\u{feff}{}",
            "{\"session_id\":\"../../../x\",\"cwd\":\"relative\"}",
            &deep,
        ] {
            let run = own(&env, shell, EVERYTHING, input).code(0);
            assert!(run.stdout.contains("REASON=\n"), "{run}");
            if input != "{ torn" {
                continue;
            }
            for name in [
                "setup-project",
                "inject-context",
                "remind-reflect",
                "remind-validate",
                "remind-reflexion",
                "checkpoint-session",
            ] {
                script(&env, shell, &format!("{name}.sh"), input).code(0);
            }
        }
        assert!(!env.root().join("x").exists() && !env.project().join("x").exists());
        let library = scripts(&env).join("lib/hook-utils.sh");
        let text = std::fs::read_to_string(&library).unwrap();
        let line = text.lines().find(|line| line.starts_with("_substrate=")).unwrap();
        write_file(&library, text.replace(line, "_substrate='/nowhere/substrate'").as_bytes());
        write_file(&scripts(&env).join("own.sh"), EVERYTHING.as_bytes());
        let mut command = env.command(shell);
        command.arg(scripts(&env).join("own.sh")).env("PATH", "/usr/bin:/bin");
        let input = payload(&env, "SubagentStop", &json!({}));
        let run = Running::start(command, input.into()).finish(LONG).code(0);
        assert!(run.stdout.starts_with("HOOK_EVENT=\nSESSION_ID=\n"), "{run}");
        std::fs::remove_file(&library).unwrap();
        script(&env, shell, "inject-context.sh", "{}").code(0);
    }
}

#[test]
fn the_worked_example_of_the_docs_works() {
    let doc = include_str!("../../../../docs/custom-hooks.md");
    let (_, from) = doc.split_once("```bash\n").unwrap();
    let (example, _) = from.split_once("```").unwrap();
    let (_, from) = doc.split_once("```json\n").unwrap();
    let (entry, _) = from.split_once("```").unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    assert!(entry["hooks"]["SessionStart"][0]["hooks"][0]["command"].is_string());
    for shell in SHELLS {
        let env = installed();
        let input = payload(&env, "SessionStart", &json!({"source": "startup"}));
        let run = own(&env, shell, &in_shell(shell, example), &input).code(0);
        assert_eq!(run.stdout, "project: session test begins (startup) on branch none.\n");
        assert!(log(&env, "test/events.log").ends_with(" source=startup branch=none\n"));
    }
}

/// As people have always written them.
const USUAL: &str = r#"#!/bin/bash
# my-custom-hook.sh

source "$(dirname "$0")/lib/hook-utils.sh"
parse_hook_input

cat << EOF
<system-reminder>
Custom reminder for session ${SESSION_ID}
Project: ${PROJECT_NAME}
</system-reminder>
EOF
"#;

#[test]
fn a_usual_custom_hook_works_unchanged() {
    for shell in SHELLS {
        let env = installed();
        let input = payload(&env, "PostToolUse", &json!({"tool_name": "Bash", "tool_input": {}}));
        assert_eq!(
            own(&env, shell, &in_shell(shell, USUAL), &input).success(),
            "<system-reminder>\nCustom reminder for session test\nProject: project\n</system-reminder>\n"
        );
    }
}

/// Dash has no other name for `.`.
fn in_shell(shell: &str, text: &str) -> String {
    if shell == "dash" { text.replace("source ", ". ") } else { text.to_owned() }
}

#[test]
fn the_files_come_and_go_with_the_installation() {
    let env = installed();
    write_file(&scripts(&env).join("mine.sh"), b"#!/bin/sh\n");
    env.substrate(["hooks", "uninstall"]).success();
    let left: Vec<_> =
        scripts(&env).read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.sh"], "the user's own stays");
}
