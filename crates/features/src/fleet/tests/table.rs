//! What each event makes of its actor, row by row.

use super::*;
use crate::fleet::status::{Status, StatusBefore, StatusChange, next};
use EventKind as K;
use Status::{Attention, Done, Error, Working};
use rstest::rstest;
use substrate_core::Timestamp;
use substrate_core::verdict::{Verdict, Wait};

fn event(kind: K, detail: Detail) -> Event {
    Event { detail, ..Event::bare("claude-code", kind, Timestamp(1)) }
}

fn because(word: &str) -> Detail {
    Detail::Because { word: word.to_owned() }
}

fn start(source: StartSource) -> Detail {
    Detail::SessionStart { source, model: None }
}

fn stop_failure() -> Detail {
    let last_message = Some("API Error: 529".to_owned());
    Detail::StopFailure { error: "server_error".to_owned(), last_message }
}

fn asks_for(command: &str) -> StatusBefore {
    let asked = next(None, &event(K::PermissionRequest, before(command)), &Verdict::default());
    let StatusChange { status, asks, .. } = asked.unwrap();
    StatusBefore { status, is_checked: false, asks, why: String::new(), for_ms: 0 }
}

fn was(status: Status) -> StatusBefore {
    StatusBefore {
        status,
        is_checked: false,
        asks: String::new(),
        why: String::new(),
        for_ms: 60_000,
    }
}

#[rstest]
#[case::user_prompt(K::UserPromptSubmit, prompt("go"), Working, "")]
#[case::pre_tool_use(K::PreToolUse, before("ls"), Working, "")]
#[case::post_tool_use(K::PostToolUse, after("ls"), Working, "")]
#[case::post_tool_use_failure(
    K::PostToolUseFailure,
    failed("ls", false),
    Error,
    "Bash failed: Exit code 3 bad"
)]
#[case::interrupted_by_a_person(
    K::PostToolUseFailure,
    failed("ls", true),
    Done,
    "interrupted by a person"
)]
#[case::notification_permission(
    K::Notification,
    notice("permission_prompt"),
    Attention,
    "a person is needed"
)]
#[case::notification_idle(K::Notification, notice("idle_prompt"), Attention, "a person is needed")]
#[case::notification_elicitation(
    K::Notification,
    notice("elicitation_dialog"),
    Attention,
    "a person is needed"
)]
#[case::permission_request(
    K::PermissionRequest,
    before("rm x"),
    Attention,
    "asks for permission: Bash rm x"
)]
#[case::refused_by_the_client(
    K::PermissionDenied,
    failed("rm x", false),
    Attention,
    "was refused Bash rm x: Exit code 3 bad"
)]
#[case::notification_auto_mode(
    K::Notification,
    notice("agent_needs_input"),
    Attention,
    "a person is needed"
)]
#[case::elicitation(K::Elicitation, because("mini"), Attention, "mini asks for something")]
#[case::elicitation_result(K::ElicitationResult, because("accept"), Working, "")]
#[case::teammate_idle(K::TeammateIdle, Detail::Plain, Done, "idle")]
#[case::stop(K::Stop, stop("All tests pass."), Done, "All tests pass.")]
#[case::stop_failure(
    K::StopFailure,
    stop_failure(),
    Error,
    "the turn failed, server_error: API Error: 529"
)]
#[case::session_start(
    K::SessionStart,
    start(StartSource::Startup),
    Done,
    "ready for a first prompt"
)]
#[case::resumed(K::SessionStart, start(StartSource::Resume), Done, "resumed, ready for a prompt")]
#[case::cleared(K::SessionStart, start(StartSource::Clear), Done, "cleared, ready for a prompt")]
#[case::session_end(K::SessionEnd, because("other"), Done, "session ended")]
#[case::subagent_start(K::SubagentStart, Detail::Plain, Working, "")]
#[case::subagent_stop(K::SubagentStop, stop("Reviewed."), Done, "Reviewed.")]
fn an_event_makes_its_actor(
    #[case] kind: K,
    #[case] detail: Detail,
    #[case] status: Status,
    #[case] why: &str,
) {
    for earlier in [None, Some(was(Working)), Some(was(Done))] {
        let found = next(earlier.as_ref(), &event(kind, detail.clone()), &Verdict::default());
        let found = found.unwrap();
        assert_eq!((found.status, found.why.as_str()), (status, why), "{earlier:?}");
    }
}

#[rstest]
#[case::a_task_is_recorded_elsewhere(K::TaskCompleted, Detail::Plain)]
#[case::compaction_changes_nothing(K::SessionStart, start(StartSource::Compact))]
#[case::before_compaction(K::PreCompact, because("auto"))]
#[case::answered_elicitation(K::Notification, notice("elicitation_response"))]
#[case::some_other_notice(K::Notification, notice("auth_success"))]
#[case::settings(K::ConfigChange, because("user_settings"))]
fn an_event_says_nothing(#[case] kind: K, #[case] detail: Detail) {
    assert_eq!(next(Some(&was(Working)), &event(kind, detail), &Verdict::default()), None);
}

#[rstest]
#[case::the_call_itself_ends(K::PostToolUse, after("rm x"), 9, Some(Working))]
#[case::the_call_itself_fails(K::PostToolUseFailure, failed("rm x", false), 9, Some(Error))]
#[case::it_is_refused(K::PermissionDenied, failed("rm x", false), 9, Some(Attention))]
#[case::another_call_ends_beside_it(K::PostToolUse, after("ls"), 90_000, None)]
#[case::another_call_begins_beside_it(K::PreToolUse, before("ls"), 50, None)]
#[case::another_call_begins_later(K::PreToolUse, before("ls"), 5_000, Some(Working))]
#[case::the_client_says_it_again(K::Notification, notice("permission_prompt"), 6_000, None)]
#[case::a_new_prompt(K::UserPromptSubmit, prompt("go on"), 9, Some(Working))]
#[case::the_turn_ends(K::Stop, stop("ok"), 9, Some(Done))]
fn a_dialog_is_open_until(
    #[case] kind: K,
    #[case] detail: Detail,
    #[case] for_ms: i64,
    #[case] expected: Option<Status>,
) {
    let open = StatusBefore { for_ms, ..asks_for("rm x") };
    let found = next(Some(&open), &event(kind, detail), &Verdict::default());
    assert_eq!(found.map(|next| next.status), expected);
}

#[rstest]
#[case::a_reminder_says_nothing_new(was(Done), true, None)]
#[case::nobody_has_looked(was(Done), false, Some(Attention))]
#[case::a_failed_turn_stays_one(was(Error), false, None)]
fn an_idle_notice_after(
    #[case] earlier: StatusBefore,
    #[case] is_checked: bool,
    #[case] expected: Option<Status>,
) {
    let earlier = StatusBefore { is_checked, ..earlier };
    let found =
        next(Some(&earlier), &event(K::Notification, notice("idle_prompt")), &Verdict::default());
    assert_eq!(found.map(|next| next.status), expected);
}

#[test]
fn a_stop_that_is_held_goes_on_and_one_that_waits_for_mail_is_done() {
    let held = Verdict { block: Some("mail".to_owned()), ..Verdict::default() };
    let waits = Verdict {
        wait: Some(Wait { key: "k".to_owned(), until: Timestamp(9) }),
        ..Verdict::default()
    };
    let stop = event(K::Stop, stop("x"));
    assert_eq!(next(None, &stop, &held).unwrap().status, Working);
    assert_eq!(next(None, &stop, &waits).unwrap().status, Done);
    let again = Event { waiting_since: Some(Timestamp(0)), ..event(K::Stop, Detail::Plain) };
    assert_eq!(next(Some(&was(Done)), &again, &waits), None, "its last words stay");
    let idle = event(K::TeammateIdle, Detail::Plain);
    assert_eq!(next(None, &idle, &held).unwrap().status, Working);
    let refused = event(K::UserPromptSubmit, prompt("go"));
    assert_eq!(next(Some(&was(Done)), &refused, &held), None);
}

#[test]
fn an_unattended_session_asks_no_one() {
    let unattended = Event { attended: Some(false), ..event(K::PermissionRequest, before("rm x")) };
    assert_eq!(next(Some(&was(Working)), &unattended, &Verdict::default()), None);
    let refused = event(K::PermissionDenied, failed("rm x", false));
    let refused = Event { attended: Some(false), ..refused };
    let next = next(Some(&was(Working)), &refused, &Verdict::default()).unwrap();
    assert_eq!(next.status, Working);
}

#[test]
fn background_tasks_are_told_and_words_are_one_line_without_secrets() {
    let mut detail = stop("x");
    if let Detail::Stop { n_background_tasks, .. } = &mut detail {
        *n_background_tasks = 2;
    }
    let found = next(None, &event(K::Stop, detail), &Verdict::default()).unwrap();
    assert_eq!(found.why, "2 background tasks are running");
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
    let words = format!("line\u{1b}[31m one\nkey {key} {}", "y".repeat(900));
    let found = next(None, &event(K::Stop, stop(&words)), &Verdict::default()).unwrap();
    assert!(found.why.starts_with("line [31m one key ") && !found.why.contains(&key), "{found:?}");
    assert!(found.why.chars().count() <= 161);
}

#[test]
fn the_order_is_error_attention_working_checked_done() {
    assert!(Status::ALL.is_sorted_by(|a, b| a > b && a.rank() > b.rank()));
    assert!(Status::ALL.iter().all(|status| Status::named(status.name()) == Some(*status)));
}
