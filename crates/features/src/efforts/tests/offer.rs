//! Abandoned work, and a session that was started for nothing in particular.

use rstest::rstest;

use super::*;
use crate::efforts::begin::{Adoption, adoption};

const AUTO: &str = "[efforts]\non = true\nadopt = \"auto\"\n";
const OFF: &str = "[efforts]\non = true\nadopt = \"off\"\n";
const NEW: &str = "fox";
const OTHER: &str = "hare";

/// A session starts in its own terminal, without a named agent.
fn plain(stage: &Stage, session: &str, pid: u32, source: StartSource) -> Event {
    let detail = Detail::SessionStart { source, model: None };
    Event { detail, client_pid: Some(pid), ..stage.event(EventKind::SessionStart, session) }
}

fn starts(stage: &mut Stage, session: &str, pid: u32) -> String {
    stage.machine.processes.insert(pid, 1);
    let event = plain(stage, session, pid, StartSource::Startup);
    said(&stage.told(&event))
}

/// The lion began an effort, left a payload, and is gone.
fn left(settings: &str) -> Stage {
    let mut stage = with(settings);
    brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "Goal: the left door."}));
    // The lion itself was told the payload after a compaction.
    start(&mut stage, LION, StartSource::Compact);
    goes(&mut stage);
    stage
}

fn goes(stage: &mut Stage) {
    happen(stage, LION, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
    stage.machine.processes.remove(&10);
    stage.pass(7_200 * SECOND);
}

fn resume(stage: &mut Stage, session: &str, id: i64) -> Result<Output, VerbError> {
    let caller = Caller { session: Some(session.to_owned()), ..caller(LION) };
    stage.call(&caller, &["effort", "resume"], json!({"id": id}))
}

fn after_a_call(stage: &mut Stage, session: &str) -> String {
    let call = shell("substrate effort resume 1");
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
    let event = Event { detail, ..stage.event(EventKind::PostToolUse, session) };
    said(&stage.told(&event))
}

const OFFER: &str = "Unfinished here: effort 1 of skill `brainstorm` (phase `explore`) in `tasks/login`, which NobleLion left 2h ago. If the user wants to continue it, `substrate effort resume 1` takes it over and tells you what NobleLion left.";

#[rstest]
#[case::offered("offer", StartSource::Startup, None, None, Adoption::Offer)]
#[case::taken("auto", StartSource::Startup, None, None, Adoption::Auto)]
#[case::off("off", StartSource::Startup, None, None, Adoption::Off)]
#[case::not_said_how("offer", StartSource::Other, None, None, Adoption::Offer)]
#[case::resumed("offer", StartSource::Resume, None, None, Adoption::Off)]
#[case::cleared("auto", StartSource::Clear, None, None, Adoption::Off)]
#[case::compacted("auto", StartSource::Compact, None, None, Adoption::Off)]
#[case::forked("auto", StartSource::Fork, None, None, Adoption::Off)]
#[case::as_an_agent("auto", StartSource::Startup, Some("NobleLion"), None, Adoption::Off)]
#[case::for_something("auto", StartSource::Startup, None, Some(7), Adoption::Off)]
fn a_session_adopts(
    #[case] word: &str,
    #[case] source: StartSource,
    #[case] agent: Option<&str>,
    #[case] effort: Option<i64>,
    #[case] expected: Adoption,
) {
    let stage = two();
    let event = Event {
        wanted_agent: agent.map(str::to_owned),
        wanted_effort: effort,
        ..plain(&stage, NEW, 30, source)
    };
    assert_eq!(adoption(word, &event, source), expected);
}

#[test]
fn an_abandoned_effort_is_offered_taken_over_and_its_payload_told() {
    let mut stage = left(ON);
    assert_eq!(starts(&mut stage, NEW, 30), OFFER);
    assert_eq!(windows(&mut stage, One(NEW, None))[0]["effort"], Value::Null, "only offered");
    let taken = resume(&mut stage, NEW, 1).unwrap();
    assert!(
        taken.text.starts_with("You go on with it.\nYou are working on effort 1"),
        "{}",
        taken.text
    );
    let told = after_a_call(&mut stage, NEW);
    assert_eq!(told.matches("> Goal: the left door.").count(), 1, "{told}");
    assert!(!after_a_call(&mut stage, NEW).contains("Goal"), "once");
    assert_eq!(starts(&mut stage, OTHER, 40), "", "its new owner is running");
}

#[test]
fn with_auto_the_first_of_two_sessions_takes_the_effort() {
    let mut stage = left(AUTO);
    let first = starts(&mut stage, NEW, 30);
    assert!(first.starts_with("You are working on effort 1: skill `brainstorm`"), "{first}");
    assert_eq!(first.matches("> Goal: the left door.").count(), 1, "{first}");
    assert_eq!(starts(&mut stage, OTHER, 40), "");
    assert_eq!(windows(&mut stage, One(OTHER, None))[0]["effort"], Value::Null);
}

#[test]
fn of_two_sessions_offered_an_effort_only_the_first_gets_it() {
    let mut stage = left(ON);
    assert_eq!(
        (starts(&mut stage, NEW, 30), starts(&mut stage, OTHER, 40)),
        (OFFER.to_owned(), OFFER.to_owned())
    );
    resume(&mut stage, OTHER, 1).unwrap();
    let refused = error(resume(&mut stage, NEW, 1));
    assert!(refused.contains("is running and works on effort 1"), "{refused}");
}

#[rstest]
#[case::settings(OFF, true, true)]
#[case::there(ON, false, true)]
#[case::silent_but_running(ON, false, false)]
fn nothing_is_offered(#[case] settings: &str, #[case] is_gone: bool, #[case] is_active: bool) {
    let mut stage = with(settings);
    brainstorm(&mut stage);
    if is_gone {
        goes(&mut stage);
    } else if !is_active {
        // A person went to lunch and left the client open.
        stage.pass(7_200 * SECOND);
    }
    assert_eq!(starts(&mut stage, NEW, 30), "");
    if !is_gone {
        let refused = error(resume(&mut stage, NEW, 1));
        assert!(refused.contains("NobleLion is running"), "{refused}");
    }
}

#[test]
fn efforts_that_are_finished_or_of_another_project_are_not_offered() {
    let mut stage = left(ON);
    let elsewhere =
        Event { project: "/other".to_owned(), ..plain(&stage, NEW, 30, StartSource::Startup) };
    assert_eq!(said(&stage.told(&elsewhere)), "");
    resume(&mut stage, OTHER, 1).unwrap_err();
    start(&mut stage, OTTER, StartSource::Startup);
    must(&mut stage, OTTER, "resume", json!({"id": 1}));
    must(&mut stage, OTTER, "finish", json!({}));
    assert_eq!(starts(&mut stage, OTHER, 40), "");
}

#[test]
fn the_most_recently_used_effort_is_offered() {
    let mut stage = two();
    brainstorm(&mut stage);
    stage.pass(SECOND);
    must(&mut stage, LION, "start", json!({"skill": "fix", "task": "tasks/door"}));
    stage.pass(SECOND);
    must(&mut stage, LION, "log", json!({"text": "back to it", "effort": 1}));
    goes(&mut stage);
    assert!(starts(&mut stage, NEW, 30).starts_with("Unfinished here: effort 1"));
}

#[test]
fn the_former_owner_learns_that_its_effort_was_taken_over() {
    let mut stage = left(ON);
    starts(&mut stage, NEW, 30);
    resume(&mut stage, NEW, 1).unwrap();
    stage.machine.processes.insert(10, 2);
    let back = start(&mut stage, LION, StartSource::Resume);
    let told = back.verdict.context.unwrap();
    assert!(told.contains("Effort 1 is now "), "{told}");
    assert_eq!(windows(&mut stage, LION).last().unwrap()["effort"], Value::Null);
    for _ in 0..20 {
        assert_eq!(denial(&tool(&mut stage, LION)), None);
    }
    let refused = error(run(&mut stage, LION, "log", json!({"text": "x", "effort": 1})));
    assert!(refused.contains("effort 1 is "), "{refused}");
}
