//! What a client shows beside its events, and a second terminal on the same session.

use super::*;
use crate::fleet::activity::of_main;
use crate::fleet::status::{INTERRUPTED, Status, StatusBefore};
use Activity::{Asking, Working as Works};
use Status::{Attention, Done, Error, Working};
use rstest::rstest;
use substrate_core::{Activity, Dialog, Effect};

const IDLE: Activity = Activity::Idle { in_background: false };
const SHELL: Activity = Activity::Idle { in_background: true };

fn was(status: Status, why: &str, asks: &str) -> StatusBefore {
    let (asks, why) = (asks.to_owned(), why.to_owned());
    StatusBefore { status, is_checked: false, asks, why, for_ms: 1_000 }
}

#[rstest]
#[case::a_tool_was_stopped(was(Working, "", ""), false, IDLE, Some((Done, INTERRUPTED)))]
#[case::a_dialog_was_refused(was(Attention, "asks", "Bash 1"), false, IDLE, Some((Done, INTERRUPTED)))]
#[case::a_command_goes_on(was(Working, "", ""), false, SHELL, Some((Done, "interrupted by a person, a background command goes on")))]
#[case::a_call_had_failed(was(Error, "Bash failed: x", ""), false, IDLE, Some((Done, INTERRUPTED)))]
#[case::the_turn_had_failed(was(Error, "the turn failed, server_error", ""), false, IDLE, None)]
#[case::a_stop_has_said_so(was(Done, "All done.", ""), true, IDLE, None)]
#[case::a_held_turn_was_let_go(was(Done, "All done.", ""), false, IDLE, None)]
#[case::waits_for_a_prompt_in_engine(was(Attention, "waiting", ""), true, IDLE, None)]
#[case::refused_with_words(was(Attention, "asks", "Bash 1"), false, Works, Some((Working, "")))]
#[case::a_subagents_dialog_beside_a_stopped_main(was(Attention, "asks", "Bash 1"), true, Works, Some((Working, "")))]
#[case::background_work_after_a_minute(was(Attention, "waiting", ""), true, Works, None)]
#[case::background_work(was(Done, "All done.", ""), true, Works, None)]
#[case::no_interruption_after_all(was(Done, INTERRUPTED, ""), true, Works, Some((Working, "")))]
#[case::a_dialog_without_an_event(was(Working, "", ""), false, Asking(Dialog::Permission), Some((Attention, "asks for permission in its terminal")))]
#[case::a_question_without_an_event(was(Working, "", ""), false, Asking(Dialog::Input), Some((Attention, "asks you something in its terminal")))]
#[case::a_menu_of_the_person(was(Done, "", ""), true, Asking(Dialog::Menu), None)]
#[case::the_event_has_said_more(
    was(Attention, "asks", "Bash 1"),
    false,
    Asking(Dialog::Permission),
    None
)]
fn the_main_thread_becomes(
    #[case] before: StatusBefore,
    #[case] has_stopped: bool,
    #[case] now: Activity,
    #[case] expected: Option<(Status, &str)>,
) {
    let is_asked = before.status == Attention;
    let found = of_main(Some(&before), has_stopped, is_asked, now);
    let found = found.as_ref().map(|next| (next.status, next.why.as_str()));
    assert_eq!(found, expected);
}

/// A client shows something, half a second ago. Whether that was news.
fn shows(stage: &mut Stage, session: &str, now: Activity) -> bool {
    stage.pass(500);
    let event = stage.shows(session, now, 500);
    let is_news = stage.is_news(&event);
    if is_news {
        stage.happen(&event);
    }
    is_news
}

fn wakes(stage: &Stage) -> usize {
    let is_agent =
        |effect: &&Effect| matches!(effect, Effect::Wake { key } if key.starts_with("agent "));
    stage.effects.iter().filter(is_agent).count()
}

fn text(stage: &mut Stage) -> String {
    call(stage, &["fleet", "list"], json!({})).unwrap().text
}

#[test]
fn an_interrupted_turn_is_over_and_its_agent_can_be_woken() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("sleep 100"));
    assert!(!shows(&mut stage, "lion", Works), "events have said so");
    assert!(shows(&mut stage, "lion", IDLE));
    assert_eq!(wakes(&stage), 1, "its waiter looks for mail");
    assert_eq!(status(&mut stage, "NobleLion"), "done");
    let shown = text(&mut stage);
    assert!(shown.contains("idle       NobleLion"), "{shown}");
    assert!(shown.contains("interrupted by a person"), "{shown}");
    assert!(!shows(&mut stage, "lion", IDLE), "once");
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("again"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    assert!(!shows(&mut stage, "lion", IDLE), "the Stop has said so");
    let shown = text(&mut stage);
    assert!(shown.contains("done       NobleLion") && shown.contains("All done."), "{shown}");
}

#[test]
fn what_was_shown_before_a_turn_began_says_nothing_about_it() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    stage.pass(400);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("quick"));
    // The client is slow to show that it works again.
    stage.pass(100);
    let stale = stage.shows("lion", IDLE, 500);
    assert!(!stage.is_news(&stale));
    stage.happen(&stale);
    assert_eq!(status(&mut stage, "NobleLion"), "working", "even if it was sent");
}

#[test]
fn a_refused_dialog_and_one_that_goes_on() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("rm x"));
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("rm x"));
    assert!(!shows(&mut stage, "lion", Asking(Dialog::Permission)), "the request has said so");
    assert!(shows(&mut stage, "lion", Works), "no, with words: the turn goes on");
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("rm y"));
    assert!(shows(&mut stage, "lion", IDLE), "no");
    assert_eq!(status(&mut stage, "NobleLion"), "done");
    // A subagent asks while its parent has stopped.
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("again"));
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    let event = of_sub(&stage, "lion", "c1", EventKind::PermissionRequest, before("rm z"));
    stage.told(&event);
    assert_eq!(status(&mut stage, "NobleLion/coder-1"), "attention");
    assert!(shows(&mut stage, "lion", Works));
    assert_eq!(status(&mut stage, "NobleLion/coder-1"), "working");
    assert_eq!(status(&mut stage, "NobleLion"), "done", "only its subagent works");
}

#[test]
fn a_dialog_that_no_event_told_of() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("rm x"));
    assert!(shows(&mut stage, "lion", Asking(Dialog::Permission)));
    assert_eq!(status(&mut stage, "NobleLion"), "attention");
    happens(&mut stage, "lion", EventKind::PostToolUse, after("rm x"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    happens(&mut stage, "lion", EventKind::Notification, notice("agent_needs_input"));
    assert_eq!(status(&mut stage, "NobleLion"), "attention", "auto mode");
    assert!(shows(&mut stage, "lion", Works));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
}

#[test]
fn a_file_of_a_process_that_never_had_the_session_changes_nothing() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    stage.machine.processes.insert(99, 1);
    stage.pass(500);
    for (pid, expected) in [(99, false), (20, false), (10, true)] {
        let event = Event { client_pid: Some(pid), ..stage.shows("lion", IDLE, 500) };
        assert_eq!(stage.is_news(&event), expected);
    }
    // The number of its client, given to another process.
    stage.machine.processes.insert(10, 2);
    let event = Event { client_pid: Some(10), ..stage.shows("lion", IDLE, 500) };
    assert!(!stage.is_news(&event));
}

#[test]
fn strangers_and_ended_sessions_are_not_revived_by_a_file() {
    let mut stage = two();
    assert!(!shows(&mut stage, "nobody", IDLE));
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let ended = Detail::Because { word: "other".to_owned() };
    happens(&mut stage, "lion", EventKind::SessionEnd, ended);
    assert!(!shows(&mut stage, "lion", IDLE));
}

/// The same session in process 11, in a second terminal.
fn second(stage: &Stage, kind: EventKind, detail: Detail) -> Event {
    let pane = Pane::of(&format!("{SOCKET},1,0"), "%9");
    Event { client_pid: Some(11), pane, ..of(stage, "lion", kind, detail) }
}

#[test]
fn closing_one_of_two_terminals_leaves_the_other() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("make"));
    stage.machine.processes.insert(11, 1);
    let resume = Detail::SessionStart { source: StartSource::Resume, model: None };
    let event = second(&stage, EventKind::SessionStart, resume.clone());
    stage.told(&event);
    assert_eq!(status(&mut stage, "NobleLion"), "working", "the first terminal works");
    let end = || Detail::Because { word: "prompt_input_exit".to_owned() };
    let event = second(&stage, EventKind::SessionEnd, end());
    stage.told(&event);
    stage.machine.processes.remove(&11);
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    // The second again, and now it dies without a word.
    stage.machine.processes.insert(11, 2);
    let event = second(&stage, EventKind::SessionStart, resume);
    stage.told(&event);
    let event = second(&stage, EventKind::UserPromptSubmit, prompt("here"));
    stage.told(&event);
    stage.machine.processes.remove(&11);
    assert_eq!(status(&mut stage, "NobleLion"), "working", "the first is still there");
    assert!(shows(&mut stage, "lion", IDLE), "and shows that it has nothing to do");
    assert_eq!(status(&mut stage, "NobleLion"), "done");
    // The first is closed as well.
    happens(&mut stage, "lion", EventKind::SessionEnd, end());
    assert_eq!(status(&mut stage, "NobleLion"), "(not shown)");
}

#[test]
fn a_process_that_went_to_another_session_has_left_the_first() {
    let mut stage = two();
    stage.machine.processes.insert(11, 1);
    let resume = Detail::SessionStart { source: StartSource::Resume, model: None };
    let event = second(&stage, EventKind::SessionStart, resume.clone());
    stage.told(&event);
    // Without an end of the first, as after a crash of its hook.
    let other =
        Event { session: SafeId::new("third"), ..second(&stage, EventKind::SessionStart, resume) };
    stage.told(&other);
    let end = Detail::Because { word: "other".to_owned() };
    happens(&mut stage, "lion", EventKind::SessionEnd, end);
    assert_eq!(status(&mut stage, "NobleLion"), "(not shown)", "no client has it open");
}

#[test]
fn how_an_agent_can_be_reached_is_in_its_line() {
    let mut stage = two();
    stage.machine.beside.insert("lion".to_owned());
    stage.machine.waiting.insert("otter".to_owned());
    happens(&mut stage, "otter", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    let shown = text(&mut stage);
    let line = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("NobleLion").ends_with("All done.  (mail wakes it)"), "{shown}");
    assert!(line("CalmOtter").ends_with("(polling for mail)"), "{shown}");
}
