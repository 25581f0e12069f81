//! The files in the project that show leases.

use super::*;

const LOCKS: &str = ".claude/coordination/file-locks.json";

fn mirrored(stage: &Stage) -> Option<Value> {
    stage.effects.iter().find_map(|effect| match effect {
        Effect::Mirror { root, path, text, append: false } if path == LOCKS && root == "/repo" => {
            Some(serde_json::from_str(text).unwrap())
        }
        _ => None,
    })
}

fn log(stage: &Stage) -> String {
    stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Mirror { text, append: true, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn without_the_setting_a_project_is_left_alone() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stop(&mut stage, LION);
    assert_eq!((mirrored(&stage), log(&stage).as_str()), (None, ""));
}

#[test]
fn the_profile_of_seed_4_shows_who_has_what() {
    let mut stage = with("profile = \"locks\"\n");
    edit(&mut stage, LION, "src/a.rs");
    assert_eq!(
        mirrored(&stage).unwrap(),
        json!({"src/a.rs": {
            "agentId": "NobleLion",
            "acquiredAt": "2027-01-15T08:00:00.000Z",
            "lastModified": "2027-01-15T08:00:00.000Z",
        }})
    );
    stage.pass(1_500);
    edited(&mut stage, LION, "src/a.rs");
    let after = mirrored(&stage).unwrap();
    assert_eq!(after["src/a.rs"]["acquiredAt"], "2027-01-15T08:00:00.000Z");
    assert_eq!(after["src/a.rs"]["lastModified"], "2027-01-15T08:00:01.500Z");
    stop(&mut stage, LION);
    assert_eq!(mirrored(&stage).unwrap(), json!({}));
    assert_eq!(
        log(&stage),
        "2027-01-15T08:00:01.500Z [NobleLion] released 1 lock\n\
         2027-01-15T08:00:01.500Z [NobleLion] Stop {\"stop_hook_active\":false,\"verdict\":\"allow\"}\n"
    );
}

#[test]
fn the_log_has_a_line_for_every_event() {
    let mut stage = with("profile = \"locks\"\n");
    let stopping =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let start = Detail::SessionStart { source: StartSource::Startup, model: None };
    let prompt = Detail::Prompt { text: "my own words".to_owned(), from_person: true };
    let end = Detail::Because { word: "other".to_owned() };
    for (who, kind, detail, expected) in [
        (LION, EventKind::SessionStart, start, "[NobleLion] SessionStart {\"source\":\"startup\","),
        (LION, EventKind::UserPromptSubmit, prompt, "[NobleLion] UserPromptSubmit {\"verdict\":"),
        (
            CODER,
            EventKind::SubagentStart,
            Detail::Plain,
            "[NobleLion/coder-1] SubagentStart {\"agent_type\":\"coder\",",
        ),
        (
            CODER,
            EventKind::SubagentStop,
            stopping.clone(),
            "[NobleLion/coder-1] SubagentStop {\"agent_type\":\"coder\",\"stop_hook_active\":false,",
        ),
        (LION, EventKind::Stop, stopping, "[NobleLion] Stop {\"stop_hook_active\":false,"),
        (LION, EventKind::SessionEnd, end, "[NobleLion] SessionEnd {\"reason\":\"other\","),
    ] {
        let event = event(&stage, who, kind, detail);
        stage.told(&event);
        let log = log(&stage);
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(expected)).collect();
        assert_eq!(lines.len(), 1, "{expected}: {log}");
        assert!(!log.contains("my own words"), "{log}");
        let again = Event { waiting_since: Some(stage.now), ..event };
        stage.told(&again);
        assert!(!self::log(&stage).contains(expected), "it is written once");
    }
}

#[test]
fn the_log_has_every_tool_call_and_decision_but_no_secret() {
    let mut stage = with("profile = \"locks\"\n");
    edit(&mut stage, LION, "a.rs");
    assert_eq!(
        log(&stage),
        "2027-01-15T08:00:00.000Z [NobleLion] acquired a.rs\n\
         2027-01-15T08:00:00.000Z [NobleLion] PreToolUse {\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a.rs\"},\"verdict\":\"allow\"}\n"
    );
    edit(&mut stage, OTTER, "a.rs");
    assert!(log(&stage).contains("[CalmOtter] denied a.rs\n"), "{}", log(&stage));
    assert!(log(&stage).contains("\"verdict\":\"deny\""));
    let key = "sk-ant-REDACTED";
    let input = format!("{{\"prompt\":\"{key}\nline {}\"}}", "x".repeat(2_000));
    let call = ToolCall { input, ..call("Task", ToolClass::Agent) };
    let detail = Detail::ToolAfter { call, response: key.to_owned(), duration_ms: None };
    let event = event(&stage, LION, EventKind::PostToolUse, detail);
    stage.told(&event);
    let log = log(&stage);
    assert!(log.contains("[NobleLion] PostToolUse {\"tool_name\":\"Task\""), "{log}");
    assert!(!log.contains("sk-ant-api03") && log.len() < 1_500 && log.lines().count() == 1);
}

#[test]
fn ended_leases_are_not_shown() {
    let mut stage = with("profile = \"locks\"\n");
    edits(&mut stage, LION, "a.rs");
    stage.machine.processes.remove(&10);
    edit(&mut stage, OTTER, "b.rs");
    let shown = mirrored(&stage).unwrap();
    assert_eq!(shown.as_object().unwrap().keys().collect::<Vec<_>>(), ["b.rs"]);
}
