//! The engine's hooks, all fifteen: what each answers to a session with an effort, and to one without.

use serde_json::{Map, Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::{SOON, configure, journal};

const SKILL: &str = r#"
phases = ["explore", "choose"]
preload = ["guide.md"]

[[guards]]
name = "no-push"
when = 'runs("git", "push")'
action = "deny"
reason = "Not in this phase."
next = "Leave it."
"#;

/// Session `s1` works on an effort, with the subagent `a1`; session `s2` on nothing.
fn house() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "profile = \"engine\"\n[persist]\nmode = \"off\"\n");
    let skill = env.project().join(".claude/skills/brainstorm");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    write_file(&skill.join("SKILL.md"), b"---\nname: brainstorm\n---\n");
    write_file(&skill.join("effort.toml"), SKILL.as_bytes());
    write_file(&env.project().join("guide.md"), b"Doors before windows.\n");
    for session in ["s1", "s2"] {
        happen(&env, session, "SessionStart", &json!({"source": "startup"}));
    }
    effort(&env, &["start", "brainstorm", "--task", "tasks/login"]);
    for session in ["s1", "s2"] {
        happen(&env, session, "SubagentStart", &json!({"agent_id": "a1", "agent_type": "scout"}));
    }
    env
}

fn payload(env: &TestEnv, session: &str, event: &str, more: &Value) -> Value {
    let mut out = json!({
        "session_id": session, "hook_event_name": event, "cwd": env.project(), "permission_mode": "default",
        "transcript_path": env.root().join(format!("{session}.jsonl")),
    });
    out.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    out
}

fn happen(env: &TestEnv, session: &str, event: &str, more: &Value) -> String {
    env.hook(event, payload(env, session, event, more)).success()
}

fn explained(env: &TestEnv, session: &str, event: &str, more: &Value) -> Value {
    let mut command = env.command(bin("substrate"));
    command.args(["hook", event, "--explain", "--format", "json"]);
    let stdin = payload(env, session, event, more).to_string();
    let told: Run = Running::start(command, stdin.into_bytes()).finish(SOON);
    serde_json::from_str(&told.success()).unwrap()
}

fn effort(env: &TestEnv, args: &[&str]) -> String {
    let vars = [("CLAUDE_SESSION_ID", "s1"), ("CLAUDECODE", "1")];
    env.substrate_with([&["effort"], args].concat(), &vars).success()
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t", "tool_response": {},
        "error": "exit 2"})
}

/// Those fields of the answer that are expected.
fn of(told: &Value, expected: &Value) -> Value {
    let fields = expected.as_object().unwrap().keys();
    fields.map(|name| (name.clone(), told[name].clone())).collect::<Map<_, _>>().into()
}

/// An event, its own fields, and the answers with an effort and without.
type Row = (&'static str, Value, Value, Value);

fn skill_config(env: &TestEnv) -> Value {
    json!({
        "phases": ["explore", "choose"], "preload": [env.project().join("guide.md")], "warn_at": null, "block_at": null,
        "artifacts": ["1_BRAINSTORM_DEHYDRATED.md"], "folder": env.project().join(".claude/skills/brainstorm"),
        "guards": [{"name": "no-push", "when": "runs(\"git\", \"push\")", "action": "deny",
            "reason": "Not in this phase.", "next": "Leave it."}],
    })
}

/// Windows begin and end, of sessions and of subagents.
fn about_windows(env: &TestEnv) -> Vec<Row> {
    let (task, guide) = (env.project().join("tasks/login"), env.project().join("guide.md"));
    let config = skill_config(env);
    let ending = json!({"agent_id": "a1", "agent_type": "scout", "stop_hook_active": false,
        "last_assistant_message": "found it"});
    vec![
        (
            "SessionStart",
            json!({"source": "clear"}),
            json!({"sessionId": 5, "filesToPreload": [guide], "dehydratedContext": "Goal: the left door.",
                "skillConfig": config, "heartbeatCount": 0, "agentStatus": "done"}),
            json!({"sessionId": 5, "filesToPreload": [], "dehydratedContext": null, "skillConfig": null,
                "agentStatus": "done"}),
        ),
        (
            "SessionEnd",
            json!({"reason": "other"}),
            json!({"sessionId": 1, "sessionEnded": true, "agentStatus": "done"}),
            json!({"sessionId": 2, "sessionEnded": true, "agentStatus": "done"}),
        ),
        (
            "PreCompact",
            json!({"trigger": "auto", "custom_instructions": ""}),
            json!({"sessionEnded": true}),
            json!({"sessionEnded": true}),
        ),
        (
            "SubagentStart",
            json!({"agent_id": "a2", "agent_type": "scout"}),
            json!({"sessionId": 5, "taskDir": task, "logFile": "1_BRAINSTORM_LOG.md", "directives": [],
                "skillConfig": config, "heartbeatCount": 0, "agentStatus": "working"}),
            json!({"sessionId": 5, "taskDir": null, "logFile": null, "skillConfig": null, "agentStatus": "working"}),
        ),
        (
            "SubagentStop",
            ending,
            json!({"sessionId": 3, "sessionEnded": true}),
            json!({"sessionId": 4, "sessionEnded": true}),
        ),
    ]
}

/// Tool calls, and the end of a turn.
fn about_efforts(env: &TestEnv) -> Vec<Row> {
    let guide = env.project().join("guide.md");
    let rule = json!([{"rule": "no-push", "action": "deny", "from": "skill", "origin": "skill `brainstorm`"}]);
    let question = json!({"tool_name": "AskUserQuestion", "tool_use_id": "t", "tool_response": {}, "tool_input": {
        "questions": [{"question": "Which door?"}], "answers": {"Which door?": "The left."}}});
    vec![
        (
            "PreToolUse",
            bash("git push"),
            json!({"allow": false, "heartbeatCount": 1, "contextUsage": null, "overflowWarning": false,
                "pendingPreloads": [guide], "firedRules": rule, "agentStatus": "working"}),
            json!({"allow": true, "contextUsage": null, "overflowWarning": false, "pendingPreloads": [],
                "firedRules": [], "reason": null, "agentStatus": "working"}),
        ),
        (
            "PostToolUse",
            question,
            json!({"heartbeatCount": 0, "dialogueEntry": "Q: Which door?\nA: The left.",
                "pendingInjections": [{"id": 2, "from": "User", "text": "The hinge is new."}], "firedRules": []}),
            json!({"dialogueEntry": null, "pendingInjections": [], "agentStatus": "working"}),
        ),
        (
            "PostToolUseFailure",
            bash("make"),
            json!({"agentStatus": "error", "messageEntry": "Bash failed: exit 2"}),
            json!({"agentStatus": "error", "messageEntry": null}),
        ),
        (
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "done"}),
            json!({"agentStatus": "done", "reason": null, "firedRules": []}),
            json!({"agentStatus": "done", "reason": null}),
        ),
    ]
}

/// Who is there, and what each should do.
fn about_agents(env: &TestEnv) -> Vec<Row> {
    let task = env.project().join("tasks/login");
    let mate = json!({"agent_id": "aalice-1", "agent_type": "alice", "teammate_name": "alice", "team_name": "t"});
    let task_done = json!({"task_id": "4", "task_subject": "Write it"});
    vec![
        (
            "UserPromptSubmit",
            json!({"prompt": "go on"}),
            json!({"sessionId": 1, "taskDir": task, "heartbeat": 0, "agentStatus": "working"}),
            json!({"sessionId": 2, "taskDir": null, "heartbeat": null, "sessionContext": null, "agentStatus": "working"}),
        ),
        (
            "Notification",
            json!({"message": "permission", "notification_type": "permission_prompt"}),
            json!({"agentStatus": "attention"}),
            json!({"agentStatus": "attention"}),
        ),
        (
            "PermissionRequest",
            bash("make"),
            json!({"agentStatus": "attention"}),
            json!({"agentStatus": "attention"}),
        ),
        ("TeammateIdle", mate, json!({"agentStatus": "done"}), json!({"agentStatus": "done"})),
        (
            "TaskCompleted",
            task_done,
            json!({"messageEntry": "#4 Write it"}),
            json!({"messageEntry": null}),
        ),
        (
            "ConfigChange",
            json!({"source": "user_settings"}),
            json!({"agentStatus": "done", "context": null}),
            json!({"agentStatus": "done", "context": null}),
        ),
    ]
}

#[test]
fn every_hook_answers_with_an_effort_and_without() {
    let env = house();
    env.substrate(["effort", "inject", "--effort", "1", "The hinge is new."]).success();
    effort(&env, &["dehydrate", "Goal: the left door."]);
    let n_recorded = journal(&env).len();
    let rows = [about_windows(&env), about_efforts(&env), about_agents(&env)].concat();
    assert_eq!(rows.len(), 15);
    for (event, more, with, without) in rows {
        let is_refused = with["allow"] == false;
        let told = explained(&env, "s1", event, &more);
        let common = json!({"found": true, "effortId": 1, "skill": "brainstorm", "phase": "explore", "allow": !is_refused});
        assert_eq!(of(&told, &common), common, "{event} with an effort: {told}");
        assert_eq!(of(&told, &with), with, "{event} with an effort: {told}");
        let told = explained(&env, "s2", event, &more);
        let common = json!({"found": false, "effortId": null, "skill": null, "phase": null, "heartbeatCount": null,
            "allow": true});
        assert_eq!(of(&told, &common), common, "{event} without an effort: {told}");
        assert_eq!(of(&told, &without), without, "{event} without an effort: {told}");
    }
    assert_eq!(journal(&env).len(), n_recorded, "and nothing of it happened");
    let windows = env.substrate(["session", "list", "--all", "--format", "json"]).success();
    assert_eq!(windows.matches("\"ended_ms\": null").count(), 4, "{windows}");
}

#[test]
fn the_tenth_call_and_a_full_context_are_explained() {
    let env = house();
    let read = json!({"tool_name": "Glob", "tool_input": {"pattern": "*"}, "tool_use_id": "t"});
    for _ in 0..8 {
        happen(&env, "s1", "PreToolUse", &read);
    }
    let line = json!({"type": "assistant", "isSidechain": false, "message": {"model": "claude-opus-5-5", "usage": {
        "input_tokens": 4, "cache_read_input_tokens": 151_000, "output_tokens": 9}}});
    write_file(&env.root().join("s1.jsonl"), format!("{line}\n"));
    let ninth = explained(&env, "s1", "PreToolUse", &read);
    let full =
        json!({"allow": true, "heartbeatCount": 9, "contextUsage": 0.9, "overflowWarning": true});
    assert_eq!(of(&ninth, &full), full, "{ninth}");
    assert!(ninth["context"].as_str().unwrap().contains("Overflow: your context is at 90 %"));
    happen(&env, "s1", "PreToolUse", &read);
    let tenth = explained(&env, "s1", "PreToolUse", &read);
    assert_eq!((&tenth["allow"], &tenth["heartbeatCount"]), (&json!(false), &json!(9)), "{tenth}");
    assert!(tenth["reason"].as_str().unwrap().contains("substrate effort log"), "{tenth}");
    let line = explained(&env, "s1", "UserPromptSubmit", &json!({"prompt": "go on"}));
    assert!(
        line["sessionContext"].as_str().unwrap().contains(
            "effort 1 (brainstorm, phase explore) in `tasks/login` · 9 tool calls since the last log entry."
        ),
        "{line}"
    );
    effort(&env, &["log", "nine looks"]);
    let after = explained(&env, "s1", "PreToolUse", &read);
    assert_eq!((&after["allow"], &after["heartbeatCount"]), (&json!(true), &json!(1)), "{after}");
    let unknown = explained(&env, "s9", "PreToolUse", &read);
    assert_eq!((&unknown["allow"], &unknown["found"]), (&json!(true), &json!(false)), "{unknown}");
}

#[test]
fn a_session_that_was_started_for_an_effort_works_on_it() {
    let env = house();
    happen(&env, "s1", "SessionEnd", &json!({"reason": "other"}));
    let start = |session: &str, id: &str| {
        let body = payload(&env, session, "SessionStart", &json!({"source": "startup"}));
        env.hook_with("SessionStart", body, &[("SUBSTRATE_EFFORT", id)]).success()
    };
    let told = start("s3", "1");
    assert!(told.contains("You are working on effort 1: skill `brainstorm`"), "{told}");
    let told = start("s4", "1");
    assert!(told.contains("is running and works on effort 1"), "{told}");
    assert!(!start("s5", "one; rm").contains("effort"));
}
