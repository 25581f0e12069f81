//! The client's contract as tables. That its samples are events, and that nothing is said on a channel that it does not
//! honour, is checked for every client by the contract of the testkit.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, ToolClass};

use super::CLIENT;
use crate::testing::{self, all_said, decoded};

fn sample(name: &str) -> Event {
    testing::sample(&CLIENT, name, &[("SUBSTRATE_CLIENT_PID", "77")])
}

#[rstest]
#[case("SessionStart", EventKind::SessionStart)]
#[case("SessionEnd", EventKind::SessionEnd)]
#[case("UserPromptSubmit", EventKind::UserPromptSubmit)]
#[case("UserPromptSubmit-subagent", EventKind::UserPromptSubmit)]
#[case("PreToolUse", EventKind::PreToolUse)]
#[case("PreToolUse-subagent", EventKind::PreToolUse)]
#[case("PostToolUse", EventKind::PostToolUse)]
#[case("PostToolUseFailure", EventKind::PostToolUseFailure)]
#[case("SubagentStart", EventKind::SubagentStart)]
#[case("SubagentStop", EventKind::SubagentStop)]
#[case("Stop", EventKind::Stop)]
fn a_payload_is_an_event_of_the_root_session(#[case] name: &str, #[case] kind: EventKind) {
    let event = sample(name);
    assert_eq!((event.kind, event.n_unknown_fields), (kind, 0));
    assert_eq!(event.session.unwrap().as_str(), "ses_e1f59661fffeDzgab7oHsnB1ft");
    assert_eq!((event.client_pid, event.cwd.as_str()), (Some(77), "/home/dev/lab/opencode"));
}

#[test]
fn our_own_words_are_not_a_prompt() {
    let stdin = br#"{"prompt":"go on\n\n(Substrate wrote this, not a person.)"}"#;
    assert_eq!(decoded(&CLIENT, "UserPromptSubmit", stdin, &[]).kind, EventKind::Unknown);
}

#[test]
fn a_subagent_is_told_apart_and_its_prompt_is_not_a_persons() {
    for name in ["PreToolUse-subagent", "SubagentStart", "SubagentStop"] {
        let Actor::Subagent { id, kind } = sample(name).actor else { panic!("{name}") };
        assert_eq!((id.as_str(), kind.as_str()), ("ses_e1f5950baffea9CWCtaIVbkxOH", "general"));
    }
    let is_persons = |name: &str| match sample(name).detail {
        Detail::Prompt { from_person, .. } => from_person,
        other => panic!("{other:?}"),
    };
    assert!(is_persons("UserPromptSubmit") && !is_persons("UserPromptSubmit-subagent"));
}

#[rstest]
#[case("bash", r#"{"command":"ls"}"#, ToolClass::Shell, Some("ls"), &[])]
#[case("write", r#"{"filePath":"/a","content":"x"}"#, ToolClass::Edit, None, &["/a"])]
#[case("edit", r#"{"filePath":"/a","oldString":"x"}"#, ToolClass::Edit, None, &["/a"])]
#[case("read", r#"{"filePath":"/a"}"#, ToolClass::Read, None, &["/a"])]
#[case("grep", r#"{"pattern":"x","path":"/a"}"#, ToolClass::Read, None, &["/a"])]
#[case("task", r#"{"prompt":"go"}"#, ToolClass::Agent, None, &[])]
#[case(
    "apply_patch",
    r#"{"patchText":"*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"}"#,
    ToolClass::Edit,
    None,
    &["a", "b"]
)]
fn a_call_of(
    #[case] tool: &str,
    #[case] input: &str,
    #[case] class: ToolClass,
    #[case] command: Option<&str>,
    #[case] files: &[&str],
) {
    let stdin = format!(r#"{{"tool_name":"{tool}","tool_input":{input},"tool_use_id":"c1"}}"#);
    let event = decoded(&CLIENT, "PreToolUse", stdin.as_bytes(), &[]);
    let call = event.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert_eq!(call.files, files);
    assert_eq!(call.use_id.as_deref(), Some("c1"));
}

#[rstest]
#[case(
    EventKind::SessionStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"told"}}"#
)]
#[case(
    EventKind::SubagentStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"told"}}"#
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
#[case(
    EventKind::Stop,
    r#"{"decision":"block","reason":"held\n\n(Substrate wrote this, not a person.)"}"#
)]
#[case(EventKind::SubagentStop, "")]
#[case(EventKind::PostToolUseFailure, "")]
#[case(EventKind::SessionEnd, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
