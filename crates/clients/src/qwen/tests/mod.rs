//! The client's contract as tables. That its samples are events, and that nothing is said on a channel that it does not
//! honour, is checked for every client by the contract of the testkit.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, ToolClass};

use super::CLIENT;
use crate::testing::{self, all_said};

const ENV: [(&str, &str); 2] = [("SUBSTRATE_CLIENT_PID", "77"), ("QWEN_PROJECT_DIR", "/repo")];

fn sample(name: &str) -> Event {
    testing::sample(&CLIENT, name, &ENV)
}

#[rstest]
#[case("SessionStart", EventKind::SessionStart)]
#[case("UserPromptSubmit", EventKind::UserPromptSubmit)]
#[case::a_model_that_goes_on("_UserPromptSubmit-continued", EventKind::Unknown)]
#[case::our_own_words("_UserPromptSubmit-after-a-block", EventKind::Unknown)]
#[case("PreToolUse", EventKind::PreToolUse)]
#[case("PostToolUse", EventKind::PostToolUse)]
#[case("PostToolBatch", EventKind::PostToolBatch)]
#[case("SubagentStart", EventKind::SubagentStart)]
#[case("SubagentStop", EventKind::SubagentStop)]
#[case("Stop", EventKind::Stop)]
#[case("Notification", EventKind::Notification)]
fn a_payload_is_an_event(#[case] name: &str, #[case] kind: EventKind) {
    let event = sample(name);
    assert_eq!((event.kind, event.n_unknown_fields), (kind, 0));
    assert_eq!(event.config_dir.as_deref(), Some("/home/dev/.qwen"));
    assert_eq!((event.client_pid, event.project_dir.as_deref()), (Some(77), Some("/repo")));
}

#[rstest]
#[case("PreToolUse", ToolClass::Shell, Some("echo from-shell"), &[])]
#[case("PreToolUse-write_file", ToolClass::Edit, None, &["/home/dev/lab/qwen/f.txt"])]
#[case("PostToolUse-write_file", ToolClass::Edit, None, &["/home/dev/lab/qwen/f.txt"])]
#[case("PreToolUse-edit", ToolClass::Edit, None, &["/home/dev/lab/qwen/g.txt"])]
fn a_call_of(
    #[case] name: &str,
    #[case] class: ToolClass,
    #[case] command: Option<&str>,
    #[case] files: &[&str],
) {
    let event = sample(name);
    let call = event.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert_eq!(call.files, files);
    assert!(call.use_id.is_some());
}

#[test]
fn a_subagent_is_told_apart_and_its_id_begins_with_its_type() {
    for name in ["PreToolUse-subagent", "SubagentStart", "SubagentStop"] {
        let Actor::Subagent { id, kind } = sample(name).actor else { panic!("{name}") };
        assert_eq!(
            (id.as_str(), kind.as_str()),
            ("general-purpose-call_82365f05", "general-purpose")
        );
    }
}

#[test]
fn only_tasks_that_run_count() {
    let tasks = |name: &str| match sample(name).detail {
        Detail::Stop { n_background_tasks, again, .. } => (n_background_tasks, again),
        other => panic!("{other:?}"),
    };
    assert_eq!(tasks("Stop"), (1, false));
    assert_eq!(tasks("Stop-again"), (0, true));
}

#[rstest]
#[case(
    EventKind::SessionStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"told"}}"#
)]
#[case(
    EventKind::UserPromptSubmit,
    r#"{"decision":"block","reason":"held","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"told"}}"#
)]
#[case(
    EventKind::PreToolUse,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#
)]
#[case(
    EventKind::PostToolUse,
    r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"told"}}"#
)]
#[case(EventKind::Stop, r#"{"decision":"block","reason":"held","systemMessage":"shown"}"#)]
#[case(EventKind::SubagentStop, r#"{"decision":"block","reason":"held"}"#)]
#[case(EventKind::SubagentStart, "")]
#[case(EventKind::PostToolUseFailure, "")]
#[case(EventKind::PreCompact, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
