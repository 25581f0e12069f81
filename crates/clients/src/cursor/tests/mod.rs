//! What the documentation promises, as tables. Nothing of it was tried.

use rstest::rstest;
use substrate_core::{EventKind, ToolClass};

use super::CLIENT;
use crate::Evidence;
use crate::install::{Form, Wanted};
use crate::testing::{all_said, sample};

#[rstest]
#[case("preToolUse", ToolClass::Edit, None, &["/home/dev/app/a.txt"])]
#[case("preToolUse-Shell", ToolClass::Shell, Some("ls"), &[])]
fn a_call_of(
    #[case] name: &str,
    #[case] class: ToolClass,
    #[case] command: Option<&str>,
    #[case] files: &[&str],
) {
    let event = sample(&CLIENT, name, &[]);
    assert_eq!((event.kind, event.n_unknown_fields), (EventKind::PreToolUse, 0));
    assert_eq!(event.session.as_ref().unwrap().as_str(), "668320d2-2fd8-4888-b33c-2a466fec86e7");
    let call = event.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert_eq!(call.files, files);
}

#[test]
fn it_is_marked_as_untried_and_its_hooks_stand_without_groups() {
    assert_eq!(CLIENT.evidence, Evidence::Documents);
    let entries = (CLIENT.install.entries)(Form::User { program: "/opt/substrate-hook" });
    let wanted = Wanted { entries, ..Wanted::default() };
    let text = (CLIENT.install.format.add)("", &wanted).unwrap().text;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hook = &json["hooks"]["preToolUse"][0];
    assert!(hook["command"].as_str().unwrap().ends_with(" cursor PreToolUse"), "{hook}");
    assert_eq!((&json["version"], &hook["timeout"]), (&1.into(), &15.into()));
}

#[rstest]
#[case(EventKind::SessionStart, r#"{"additional_context":"told"}"#)]
#[case(EventKind::UserPromptSubmit, r#"{"continue":false,"user_message":"held"}"#)]
#[case(EventKind::PreToolUse, r#"{"agent_message":"no","permission":"deny","user_message":"no"}"#)]
#[case(EventKind::PostToolUse, r#"{"additional_context":"told"}"#)]
#[case(EventKind::Stop, r#"{"followup_message":"held\n\n(Substrate wrote this, not a person.)"}"#)]
#[case(EventKind::SubagentStop, "")]
#[case(EventKind::PreCompact, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
