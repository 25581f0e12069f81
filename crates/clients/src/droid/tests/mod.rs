//! What the documentation promises, as tables. Nothing of it was tried.

use rstest::rstest;
use substrate_core::{EventKind, ToolClass};

use super::CLIENT;
use crate::Evidence;
use crate::testing::{all_said, sample};

#[rstest]
#[case("PreToolUse", ToolClass::Edit, None, &["/home/dev/app/a.txt"])]
#[case("PreToolUse-Execute", ToolClass::Shell, Some("ls"), &[])]
fn a_call_of(
    #[case] name: &str,
    #[case] class: ToolClass,
    #[case] command: Option<&str>,
    #[case] files: &[&str],
) {
    let event = sample(&CLIENT, name, &[]);
    assert_eq!((event.kind, event.n_unknown_fields), (EventKind::PreToolUse, 0));
    let call = event.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert_eq!(call.files, files);
}

#[test]
fn it_is_marked_as_untried() {
    assert_eq!(CLIENT.evidence, Evidence::Documents);
}

#[rstest]
#[case(
    EventKind::SessionStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"told"}}"#
)]
#[case(
    EventKind::PreToolUse,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#
)]
#[case(EventKind::Stop, r#"{"decision":"block","reason":"held"}"#)]
#[case(EventKind::SubagentStart, "")]
#[case(EventKind::Notification, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
