//! Who is there, and whose turn has ended.

use rstest::rstest;

use super::super::presence::{Process, Status, status};
use super::*;

#[rstest]
#[case::just_now(0, false, false, false, Status::Active)]
#[case::five_minutes(5 * MINUTE, false, false, false, Status::Active)]
#[case::a_moment_more(5 * MINUTE + 1, false, false, false, Status::Idle)]
#[case::half_an_hour(30 * MINUTE, false, false, false, Status::Idle)]
#[case::longer(30 * MINUTE + 1, false, false, false, Status::Offline)]
#[case::waiting_for_days(3 * DAY, false, true, false, Status::Active)]
#[case::ended(0, true, false, false, Status::Offline)]
#[case::ended_with_a_waiter_left(0, true, true, false, Status::Offline)]
#[case::process_gone(0, false, false, true, Status::Offline)]
#[case::clock_set_back(-5, false, false, false, Status::Active)]
fn a_session_is(
    #[case] silent_ms: i64,
    #[case] ended: bool,
    #[case] waiting: bool,
    #[case] gone: bool,
    #[case] expected: Status,
) {
    let now = Timestamp(DAY * 100);
    assert_eq!(status(now, now.plus_ms(-silent_ms), ended, waiting, gone), expected);
}

#[rstest]
#[case::there(Some(7), Some(70), true, false)]
#[case::recycled_pid(Some(7), Some(69), false, true)]
#[case::gone(Some(8), Some(80), false, true)]
#[case::beginning_unknown(Some(7), None, false, false)]
#[case::unknown(None, None, false, false)]
#[case::invalid_pid(Some(-1), Some(1), false, true)]
fn a_process_is(
    #[case] pid: Option<i64>,
    #[case] began: Option<i64>,
    #[case] there: bool,
    #[case] gone: bool,
) {
    let mut stage = stage();
    stage.machine.processes.insert(7, 70);
    let process = Process { pid, began };
    assert_eq!((process.is_there(&stage.machine), process.is_gone(&stage.machine)), (there, gone));
}

fn last_heard(stage: &mut Stage, session: &str) -> i64 {
    let json = stage.call(&outside(), &["identity", "list"], json!({})).unwrap().json;
    let one = json.as_array().unwrap().iter().find(|one| one["session"] == session).unwrap();
    one["last_ms"].as_i64().unwrap()
}

#[test]
fn presence_is_renewed_by_events_but_not_written_at_every_one() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    let begun = stage.now.0;
    stage.pass(15_000);
    let event = stage.event(EventKind::PreToolUse, "s1");
    stage.happen(&event);
    assert_eq!(last_heard(&mut stage, "s1"), begun);
    stage.pass(1);
    let event = stage.event(EventKind::PostToolUse, "s1");
    stage.happen(&event);
    assert_eq!(last_heard(&mut stage, "s1"), begun + 15_001);
}

#[test]
fn a_waiter_that_outlives_its_session_is_not_a_sign_of_life() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    end(&mut stage, "s1", "other");
    let event = stage.event(EventKind::Waiter, "s1");
    stage.happen(&event);
    assert_eq!(stage.call(&outside(), &["agent", "list"], json!({})).unwrap().json, json!([]));
    let event = start(&stage, "s1", StartSource::Resume);
    stage.happen(&event);
    let list = stage.call(&outside(), &["agent", "list"], json!({})).unwrap().json;
    assert_eq!(list[0]["status"], "active");
}

#[test]
fn a_session_that_moved_to_another_process_lives_as_long_as_that() {
    let mut stage = stage();
    begin_in(&mut stage, "s1", 7);
    stage.machine.processes.remove(&7);
    stage.machine.processes.insert(8, 80);
    let status = |stage: &mut Stage| {
        stage.call(&outside(), &["identity", "list"], json!({})).unwrap().json[0]["status"].clone()
    };
    assert_eq!(status(&mut stage), "offline");
    let event = Event { client_pid: Some(8), ..stage.event(EventKind::PreToolUse, "s1") };
    stage.happen(&event);
    assert_eq!(status(&mut stage), "active");
    // If the client does not report its process, the known one is kept.
    let event = start(&stage, "s1", StartSource::Resume);
    stage.happen(&event);
    stage.machine.processes.remove(&8);
    assert_eq!(status(&mut stage), "offline");
}

#[rstest]
#[case::prompt(EventKind::UserPromptSubmit, false)]
#[case::before_a_tool(EventKind::PreToolUse, false)]
#[case::after_a_tool(EventKind::PostToolUse, false)]
#[case::after_a_failure(EventKind::PostToolUseFailure, false)]
#[case::start(EventKind::SessionStart, true)]
#[case::notification(EventKind::Notification, true)]
#[case::waiter(EventKind::Waiter, true)]
#[case::stop_itself(EventKind::Stop, true)]
#[case::end(EventKind::SessionEnd, true)]
fn a_turn_that_ended_stays_so_at(#[case] kind: EventKind, #[case] expected: bool) {
    let mut stage = stage();
    begin(&mut stage, "s1");
    assert!(has_stopped(&mut stage, "s1"), "no turn has begun yet");
    prompt(&mut stage, "s1");
    assert!(!has_stopped(&mut stage, "s1"));
    let event = stop(&stage, "s1");
    stage.happen(&event);
    assert!(has_stopped(&mut stage, "s1"));
    let event = stage.event(kind, "s1");
    stage.happen(&event);
    assert_eq!(has_stopped(&mut stage, "s1"), expected);
}

#[test]
fn a_subagents_events_do_not_start_the_main_threads_turn() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    let event = stop(&stage, "s1");
    stage.happen(&event);
    for kind in [EventKind::SubagentStart, EventKind::PreToolUse, EventKind::SubagentStop] {
        let event = Event { actor: sub("a1", "reviewer"), ..stage.event(kind, "s1") };
        stage.happen(&event);
        assert!(has_stopped(&mut stage, "s1"), "{kind:?}");
    }
}

#[test]
fn a_blocked_stop_ends_no_turn_and_shows_that_one_goes_on() {
    let mut stage = Stage::new("[probe]\nrules = [\"Stop block: hold on\"]");
    begin(&mut stage, "s1");
    let event = stop(&stage, "s1");
    let outcome = stage.happen(&event);
    assert!(outcome.verdict.block.is_some());
    assert!(!has_stopped(&mut stage, "s1"));
    let idle = idle(&stage, "idle_prompt");
    stage.happen(&idle);
    assert!(has_stopped(&mut stage, "s1"));
    stage.happen(&event);
    assert!(!has_stopped(&mut stage, "s1"));
}

fn prompt(stage: &mut Stage, session: &str) {
    let event = stage.event(EventKind::UserPromptSubmit, session);
    stage.happen(&event);
}

#[test]
fn a_compaction_begins_and_ends_no_turn() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    prompt(&mut stage, "s1");
    let event = start(&stage, "s1", StartSource::Compact);
    stage.happen(&event);
    assert!(!has_stopped(&mut stage, "s1"));
}

#[test]
fn a_waiter_has_no_identity_before_its_session_and_after_its_end() {
    let mut stage = stage();
    let waiter = stage.event(EventKind::Waiter, "s1");
    stage.happen(&waiter);
    assert_eq!(who(&mut stage, &inside("s1")), None, "a waiter makes no session");
    begin(&mut stage, "s1");
    let end = stage.event(EventKind::SessionEnd, "s1");
    stage.happen(&end);
    let since = Some(stage.now.plus_ms(-3_600_000));
    let outcome = stage.happen(&Event { waiting_since: since, ..waiter });
    assert_eq!(outcome.verdict.word(), "allow");
}

fn idle(stage: &Stage, kind: &str) -> Event {
    let detail = Detail::Notification { kind: kind.to_owned(), message: String::new() };
    Event { detail, ..stage.event(EventKind::Notification, "s1") }
}

#[rstest]
#[case::idle("idle_prompt", true)]
#[case::asks_for_permission("permission_prompt", false)]
fn a_client_that_waits_for_a_person_has_stopped_and_is_woken(
    #[case] kind: &str,
    #[case] expected: bool,
) {
    let mut stage = stage();
    begin(&mut stage, "s1");
    prompt(&mut stage, "s1");
    let agent = who(&mut stage, &inside("s1")).unwrap();
    let event = idle(&stage, kind);
    stage.happen(&event);
    let wake = Effect::Wake { key: agent.wake_key() };
    assert_eq!(stage.effects.contains(&wake), expected);
    assert_eq!(has_stopped(&mut stage, "s1"), expected);
}
