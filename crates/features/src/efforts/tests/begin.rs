//! A session that was started for an effort.

use super::*;
use rstest::rstest;

/// A session whose environment names the effort.
fn started_for(stage: &mut Stage, who: One, effort: i64, source: StartSource) -> Outcome {
    let detail = Detail::SessionStart { source, model: None };
    let event =
        Event { wanted_effort: Some(effort), ..event(stage, who, EventKind::SessionStart, detail) };
    stage.told(&event)
}

fn end(stage: &mut Stage, who: One) {
    happen(stage, who, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
}

fn fix(stage: &mut Stage) -> i64 {
    let body = json!({"skill": "fix", "task": "tasks/door"});
    must(stage, LION, "start", body).json["effort"]["id"].as_i64().unwrap()
}

/// The effort of a session's latest window.
fn effort_of(stage: &mut Stage, who: One) -> Value {
    windows(stage, who).last().map_or(Value::Null, |window| window["effort"].clone())
}

const AGAIN: One = One("lion2", None);

#[test]
fn a_session_continues_the_effort_it_was_started_for_not_the_latest() {
    let mut stage = two();
    let older = brainstorm(&mut stage);
    fix(&mut stage);
    end(&mut stage, LION);
    let told = said(&started_for(&mut stage, AGAIN, older, StartSource::Startup));
    assert!(told.starts_with("You are working on effort 1: skill `brainstorm`"), "{told}");
    assert_eq!(effort_of(&mut stage, AGAIN), 1);
    // The conversation goes on, and its agent has begun another effort since.
    must(&mut stage, AGAIN, "resume", json!({"id": 2}));
    started_for(&mut stage, AGAIN, older, StartSource::Compact);
    assert_eq!(effort_of(&mut stage, AGAIN), 2);
}

#[test]
fn a_session_takes_over_from_an_agent_that_is_gone_with_all_it_left() {
    let mut stage = two();
    let effort = brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "Goal: the left door."}));
    end(&mut stage, LION);
    stage.machine.processes.remove(&10);
    let told = said(&started_for(&mut stage, OTTER, effort, StartSource::Startup));
    assert_eq!(told.matches("> Goal: the left door.").count(), 1, "{told}");
    let lion = windows(&mut stage, LION);
    let otter = windows(&mut stage, OTTER);
    let latest = otter.last().unwrap();
    assert_eq!((&latest["effort"], &latest["prev"]), (&json!(1), &lion[0]["id"]));
    assert_eq!(latest["agent"], "CalmOtter");
    tool(&mut stage, OTTER);
    assert_eq!(n_calls(&mut stage, OTTER), 1, "and is counted");
}

#[test]
fn the_first_event_counts_where_no_start_was_seen() {
    let mut stage = two();
    let older = brainstorm(&mut stage);
    fix(&mut stage);
    end(&mut stage, LION);
    let detail = Detail::ToolBefore { call: call("Glob", ToolClass::Read) };
    let event =
        Event { wanted_effort: Some(older), ..event(&stage, AGAIN, EventKind::PreToolUse, detail) };
    stage.told(&event);
    assert_eq!(effort_of(&mut stage, AGAIN), 1);
}

enum But {
    None,
    Finished,
    AnotherProject,
    OwnerIsThere,
}

#[rstest]
#[case::unknown(But::None, 9, "there is no effort 9")]
#[case::finished(But::Finished, 1, "effort 1 is finished")]
#[case::elsewhere(But::AnotherProject, 1, "effort 1 belongs to another project")]
#[case::held(But::OwnerIsThere, 1, "NobleLion is running and works on effort 1")]
fn a_session_is_told_why_it_cannot_have_an_effort(
    #[case] but: But,
    #[case] effort: i64,
    #[case] why: &str,
) {
    let mut stage = two();
    brainstorm(&mut stage);
    match but {
        But::None | But::AnotherProject => end(&mut stage, LION),
        But::Finished => drop(must(&mut stage, LION, "finish", json!({}))),
        But::OwnerIsThere => {}
    }
    let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
    let mut event = event(&stage, OTTER, EventKind::SessionStart, detail);
    event.wanted_effort = Some(effort);
    if matches!(but, But::AnotherProject) {
        event.project = "/other".to_owned();
    }
    let told = said(&stage.told(&event));
    assert!(told.contains(why) && told.contains("substrate effort list"), "{told}");
    assert_eq!(effort_of(&mut stage, OTTER), Value::Null, "and it works on nothing");
}

#[test]
fn a_compaction_that_a_supervisor_turns_into_a_restart_ends_no_window() {
    let mut stage = with("[efforts]\non = true\n[context]\non_auto_compact = \"restart\"\n");
    stage.machine.processes.insert(5, 1);
    let note = json!({"token": "t1", "pid": 5, "child": 10});
    stage.call(&Caller::default(), &["supervise", "note"], note).unwrap();
    brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "Goal: the left door."}));
    let auto = Detail::Because { word: "auto".to_owned() };
    let outcome = happen(&mut stage, LION, EventKind::PreCompact, auto);
    assert!(outcome.verdict.block.is_some());
    assert_eq!(windows(&mut stage, LION)[0]["ended_ms"], Value::Null, "it was not compacted");
    // The client ends, and restarts as the same agent.
    end(&mut stage, LION);
    let told = said(&started_for(&mut stage, AGAIN, 1, StartSource::Startup));
    assert_eq!(told.matches("> Goal: the left door.").count(), 1, "{told}");
    let (old, new) = (windows(&mut stage, LION), windows(&mut stage, AGAIN));
    assert_eq!((old.len(), &old[0]["ended_why"]), (1, &json!("other")));
    assert_eq!((&new[0]["prev"], &new[0]["effort"]), (&old[0]["id"], &json!(1)));
    let later = said(&prompt(&mut stage, AGAIN));
    assert!(!later.contains("Goal"), "once: {later}");
}

#[test]
fn a_new_session_without_a_payload_is_told_what_to_read() {
    let mut stage = two();
    brainstorm(&mut stage);
    log(&mut stage, LION, "two doors");
    end(&mut stage, LION);
    let told = said(&started_for(&mut stage, AGAIN, 1, StartSource::Startup));
    assert!(
        told.contains("left no dehydrated context. Read `tasks/login/1_BRAINSTORM_LOG.md`"),
        "{told}"
    );
    assert!(told.contains("two doors"), "{told}");
}
