//! What each hook does to windows and efforts.

use super::*;
use rstest::rstest;

#[rstest]
#[case(StartSource::Startup, "startup")]
#[case(StartSource::Resume, "resume")]
#[case(StartSource::Clear, "clear")]
#[case(StartSource::Compact, "compact")]
#[case(StartSource::Other, "start")]
fn session_start_always_begins_a_window_and_links_it(
    #[case] source: StartSource,
    #[case] why: &str,
) {
    let mut stage = two();
    brainstorm(&mut stage);
    tool(&mut stage, LION);
    start(&mut stage, LION, source);
    let all = windows(&mut stage, LION);
    assert_eq!(all.len(), 2);
    assert_eq!((&all[0]["ended_why"], &all[1]["prev"]), (&json!(why), &all[0]["id"]));
    assert_eq!((&all[1]["heartbeat"], &all[1]["effort"]), (&json!(0), &json!(1)));
}

#[test]
fn an_effort_goes_on_in_its_agents_next_session_and_no_others() {
    let mut stage = two();
    brainstorm(&mut stage);
    tool(&mut stage, LION);
    happen(&mut stage, LION, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
    assert_eq!(windows(&mut stage, LION)[0]["ended_why"], "other");
    let again = One("lion2", None);
    let told = said(&start(&mut stage, again, StartSource::Startup));
    assert!(
        told.contains("You are working on effort 1: skill `brainstorm`, phase `explore`"),
        "{told}"
    );
    let all = windows(&mut stage, again);
    assert_eq!((&all[0]["effort"], &all[0]["agent"]), (&json!(1), &json!("NobleLion")));
    assert_eq!(all[0]["prev"], windows(&mut stage, LION)[0]["id"], "linked over sessions");
    assert_eq!(said(&start(&mut stage, OTTER, StartSource::Clear)), "");
}

#[test]
fn a_session_that_died_silently_ends_when_its_agent_is_back() {
    let mut stage = two();
    brainstorm(&mut stage);
    stage.machine.processes.remove(&10);
    stage.pass(3_600 * SECOND);
    stage.machine.processes.insert(10, 2);
    start(&mut stage, One("lion2", None), StartSource::Startup);
    assert_eq!(windows(&mut stage, LION)[0]["ended_why"], "gone");
    assert_eq!(windows(&mut stage, One("lion2", None))[0]["effort"], 1);
}

#[test]
fn another_project_has_its_own_efforts() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, LION, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
    let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
    let event = Event {
        project: "/other".to_owned(),
        ..event(&stage, One("lion2", None), EventKind::SessionStart, detail)
    };
    assert_eq!(said(&stage.told(&event)), "");
    assert_eq!(windows(&mut stage, One("lion2", None))[0]["effort"], Value::Null);
}

#[test]
fn auto_compaction_ends_the_window_and_a_manual_one_when_it_happens() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, LION, EventKind::PreCompact, Detail::Because { word: "manual".to_owned() });
    assert_eq!(windows(&mut stage, LION)[0]["ended_ms"], Value::Null);
    let auto = Detail::Because { word: "auto".to_owned() };
    let told = said(&happen(&mut stage, LION, EventKind::PreCompact, auto));
    assert!(
        told.starts_with("Keep in the summary: the agent is working on effort 1 (skill brainstorm"),
        "{told}"
    );
    assert_eq!(windows(&mut stage, LION)[0]["ended_why"], "compact");
    // If the compaction fails, the session and its effort go on.
    tool(&mut stage, LION);
    let all = windows(&mut stage, LION);
    assert_eq!((all.len(), &all[1]["effort"], &all[1]["heartbeat"]), (2, &json!(1), &json!(1)));
}

#[test]
fn the_compaction_fork_has_no_window() {
    let mut stage = two();
    brainstorm(&mut stage);
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let actor = Actor::Subagent { id: SafeId::new("fork").unwrap(), kind: String::new() };
    let event = Event { actor, ..event(&stage, LION, EventKind::SubagentStop, detail) };
    stage.told(&event);
    assert_eq!(windows(&mut stage, LION).len(), 1);
    assert_eq!(windows(&mut stage, One("lion", Some("fork"))).len(), 0);
}

#[test]
fn a_prompt_carries_the_status_of_the_effort() {
    let mut stage = two();
    assert_eq!(said(&prompt(&mut stage, LION)), "");
    brainstorm(&mut stage);
    tool(&mut stage, LION);
    tool(&mut stage, LION);
    assert_eq!(
        said(&prompt(&mut stage, LION)),
        "2027-01-15 08:00:00 UTC · effort 1 (brainstorm, phase explore) in `tasks/login` · 2 tool calls since the last log entry."
    );
}

fn messages(stage: &mut Stage, kind: &str) -> Vec<String> {
    let shown = must(stage, LION, "show", json!({"messages": true}));
    let all = shown.json["messages"].as_array().unwrap().clone();
    let of_kind = all.iter().filter(|one| one["kind"] == kind);
    of_kind
        .map(|one| format!("{}: {}", one["who"].as_str().unwrap(), one["body"].as_str().unwrap()))
        .collect()
}

#[test]
fn questions_to_a_person_are_kept_with_their_answers() {
    let mut stage = two();
    brainstorm(&mut stage);
    let question = |text: &str, answer: Option<&str>| substrate_core::Question {
        text: text.to_owned(),
        answer: answer.map(str::to_owned),
        ..substrate_core::Question::default()
    };
    let questions =
        vec![question("Which one?", Some("Alpha")), question("And why?\nReally?", None)];
    let asked = ToolCall { questions, ..call("ask", ToolClass::Other) };
    after(&mut stage, LION, asked.clone());
    assert_eq!(
        messages(&mut stage, "dialogue"),
        ["NobleLion: Q: Which one?\nA: Alpha\nQ: And why? Really?\nA: (no answer)"]
    );
    after(&mut stage, OTTER, asked.clone());
    after(&mut stage, LION, ToolCall { questions: Vec::new(), ..asked });
    assert_eq!(messages(&mut stage, "dialogue").len(), 1);
}

#[test]
fn failures_and_completed_tasks_are_kept() {
    let mut stage = two();
    brainstorm(&mut stage);
    let failed = |interrupted| Detail::ToolFailed {
        call: shell("make"),
        error: "exit 2\nno rule".to_owned(),
        interrupted,
        duration_ms: None,
    };
    happen(&mut stage, LION, EventKind::PostToolUseFailure, failed(false));
    happen(&mut stage, LION, EventKind::PostToolUseFailure, failed(true));
    assert_eq!(
        messages(&mut stage, "failure"),
        [
            "NobleLion: Bash failed: exit 2 no rule",
            "NobleLion: Bash was interrupted: exit 2 no rule"
        ]
    );
    let task = Detail::Task {
        id: "4".to_owned(),
        subject: "Write it".to_owned(),
        description: Some("with care".to_owned()),
        teammate: None,
    };
    happen(&mut stage, LION, EventKind::TaskCompleted, task);
    assert_eq!(messages(&mut stage, "to-do"), ["NobleLion: #4 Write it: with care"]);
}

/// Hooks that don't concern efforts leave them alone.
#[rstest]
fn other_hooks_change_nothing(
    #[values(
        EventKind::Notification,
        EventKind::TeammateIdle,
        EventKind::ConfigChange,
        EventKind::StopFailure,
        EventKind::PostCompact
    )]
    kind: EventKind,
) {
    let mut stage = two();
    brainstorm(&mut stage);
    tool(&mut stage, LION);
    let before = windows(&mut stage, LION);
    let outcome = happen(&mut stage, LION, kind, Detail::Plain);
    assert!(said(&outcome).is_empty() && denial(&outcome).is_none());
    assert_eq!(windows(&mut stage, LION), before);
}

#[test]
fn a_stop_neither_ends_a_window_nor_is_held() {
    let mut stage = two();
    brainstorm(&mut stage);
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let outcome = happen(&mut stage, LION, EventKind::Stop, detail);
    assert_eq!(outcome.verdict.block, None);
    assert_eq!(windows(&mut stage, LION)[0]["ended_ms"], Value::Null);
}

#[test]
fn an_agent_goes_on_while_the_database_cannot_be_written() {
    let mut stage = two();
    brainstorm(&mut stage);
    for _ in 0..9 {
        tool(&mut stage, LION);
    }
    let event = event(
        &stage,
        LION,
        EventKind::PreToolUse,
        Detail::ToolBefore { call: call("Glob", ToolClass::Read) },
    );
    let outcome = stage.happen_reading(&event);
    assert_eq!(denial(&outcome), None, "our own failure allows it to go on");
    assert!(outcome.failures.iter().any(|failure| failure.feature == "efforts"));
}

/// Subagents hand the files they read to the effort, whose next window may ask for them.
#[test]
fn a_subagents_files_join_the_effort_when_it_ends() {
    let mut stage = two();
    brainstorm(&mut stage);
    let read = |stage: &mut Stage, who: One, path: &str| {
        let call = ToolCall { files: vec![path.to_owned()], ..call("Read", ToolClass::Read) };
        let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
        happen(stage, who, EventKind::PostToolUse, detail);
        stage.pass(SECOND);
    };
    let files = |stage: &mut Stage| {
        run(stage, LION, "show", json!({})).unwrap().json["loaded_files"].clone()
    };
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    read(&mut stage, LION, "/repo/a.rs");
    read(&mut stage, SCOUT, "/repo/b.rs");
    read(&mut stage, SCOUT, "/repo/a.rs");
    read(&mut stage, OTTER, "/repo/elsewhere.rs");
    assert_eq!(files(&mut stage), json!(["/repo/a.rs"]));
    let stop =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    happen(&mut stage, SCOUT, EventKind::SubagentStop, stop);
    assert_eq!(files(&mut stage), json!(["/repo/b.rs", "/repo/a.rs"]));
}
