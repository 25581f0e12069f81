//! The client's contract as tables. That its samples are events, and that nothing is said on a channel that it does not
//! honour, is checked for every client by the contract of the testkit.

use rstest::rstest;
use substrate_core::verdict::Permission;
use substrate_core::{
    Activity, Actor, Detail, Event, EventKind, StartSource, Timestamp, ToolClass, Verdict,
};

use super::CLIENT;
use crate::testing::{self, AT, all_said, decoded};

fn sample(name: &str) -> Event {
    testing::sample(&CLIENT, name, &[])
}

#[rstest]
#[case("SessionStart-startup", EventKind::SessionStart)]
#[case("SessionEnd", EventKind::SessionEnd)]
#[case("UserPromptSubmit", EventKind::UserPromptSubmit)]
#[case("PreToolUse-Bash", EventKind::PreToolUse)]
#[case("PermissionRequest", EventKind::PermissionRequest)]
#[case("PostToolUse-Bash", EventKind::PostToolUse)]
#[case("PreCompact-auto", EventKind::PreCompact)]
#[case("PostCompact-manual", EventKind::PostCompact)]
#[case("SubagentStart", EventKind::SubagentStart)]
#[case("SubagentStop", EventKind::SubagentStop)]
#[case("Stop", EventKind::Stop)]
#[case("Interrupt", EventKind::Activity)]
#[case("_PreModelRequest", EventKind::Unknown)]
fn a_payload_is_an_event(#[case] name: &str, #[case] kind: EventKind) {
    let event = sample(name);
    assert_eq!((event.kind, event.n_unknown_fields), (kind, 0));
    assert_eq!(event.config_dir.as_deref(), Some("/home/dev/.codex"));
    assert_eq!(event.cwd, "/home/dev/lab/codex");
}

#[test]
fn an_interrupt_is_a_turn_that_ended_without_a_stop() {
    let event = sample("Interrupt");
    assert_eq!(event.activity(), Some(Activity::Idle { in_background: false }));
    assert_eq!(event.name, Activity::IDLE);
    assert_eq!(event.detail, Detail::Activity { now: event.activity().unwrap(), since: AT });
}

#[test]
fn a_patch_names_all_of_its_files() {
    for name in ["PreToolUse-apply_patch", "PostToolUse-apply_patch"] {
        let event = sample(name);
        let call = event.tool().unwrap();
        assert_eq!(
            (call.class, call.files.as_slice()),
            (ToolClass::Edit, &["new.txt".to_owned(), "a.txt".to_owned()][..])
        );
        assert_eq!(call.command, None);
    }
}

#[rstest]
#[case("PreToolUse-Bash", ToolClass::Shell, Some("echo NEEDS-APPROVAL"))]
#[case("PreToolUse-code-mode", ToolClass::Shell, Some("echo via-code-mode"))]
#[case("PreToolUse-spawn_agent", ToolClass::Agent, None)]
#[case("PreToolUse-collaborationspawn_agent", ToolClass::Agent, None)]
#[case("PreToolUse-collaborationwait_agent", ToolClass::Other, None)]
fn a_call_of(#[case] name: &str, #[case] class: ToolClass, #[case] command: Option<&str>) {
    let event = sample(name);
    let call = event.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert!(call.use_id.is_some());
}

/// `session_id` is the root's, and the subagent has an id of its own.
#[test]
fn a_subagent_is_told_apart_and_its_prompt_is_not_a_persons() {
    let event = sample("UserPromptSubmit-subagent");
    let Actor::Subagent { id, kind } = &event.actor else { panic!("{:?}", event.actor) };
    assert_eq!((id.as_str(), kind.as_str()), ("01a1e091-3fcf-7181-bf52-bd2e374cd05d", "explorer"));
    assert_eq!(event.session.as_ref().unwrap().as_str(), "01a1e091-3e79-7340-b91a-56fec3c165bb");
    assert!(matches!(event.detail, Detail::Prompt { from_person: false, .. }));
    assert!(matches!(sample("UserPromptSubmit").detail, Detail::Prompt { from_person: true, .. }));
}

#[rstest]
#[case("SessionStart-startup", StartSource::Startup)]
#[case("SessionStart-clear", StartSource::Clear)]
#[case("SessionStart-compact", StartSource::Compact)]
fn a_session_starts_by(#[case] name: &str, #[case] expected: StartSource) {
    let Detail::SessionStart { source, .. } = sample(name).detail else { panic!() };
    assert_eq!(source, expected);
}

#[test]
fn the_command_that_we_register_names_the_clients_process() {
    let event =
        decoded(&CLIENT, "", b"{}", &[("SUBSTRATE_CLIENT_PID", "77"), ("CODEX_HOME", "/c/")]);
    assert_eq!((event.client_pid, event.config_dir.as_deref()), (Some(77), Some("/c")));
}

/// The client drops an answer with a key that it does not know, and lets the call pass. So every byte counts.
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
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no","additionalContext":"told"}}"#
)]
#[case(
    EventKind::PermissionRequest,
    r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#
)]
#[case(
    EventKind::PostToolUse,
    r#"{"decision":"block","reason":"held","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"told"}}"#
)]
#[case(EventKind::Stop, r#"{"decision":"block","reason":"held"}"#)]
#[case(EventKind::SubagentStop, r#"{"decision":"block","reason":"held"}"#)]
#[case(
    EventKind::SubagentStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"told"}}"#
)]
#[case(EventKind::PreCompact, "")]
#[case(EventKind::PostCompact, "")]
#[case(EventKind::SessionEnd, "")]
#[case(EventKind::Activity, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}

#[rstest]
#[case(Permission::Ask { reason: "sure?".to_owned() })]
#[case(Permission::Allow { choices: Vec::new() })]
fn a_word_that_would_let_a_call_pass_is_never_said(#[case] permission: Permission) {
    let verdict = Verdict { permission: Some(permission), ..Verdict::default() };
    for kind in [EventKind::PreToolUse, EventKind::PermissionRequest] {
        let answer = (CLIENT.encode)(&Event::bare(CLIENT.name, kind, AT), &verdict);
        assert_eq!(answer.stdout, "");
    }
}

#[test]
fn usage_is_read_off_a_transcript() {
    let line = r#"{"timestamp":"2026-11-18T07:25:46.938Z","ordinal":10,"type":"token_usage_record","payload":{"response_id":"resp_1","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":5}}}"#;
    let usage = (CLIENT.dialect.usage)(line).unwrap();
    assert_eq!(
        (usage.id.as_str(), usage.tokens.input, usage.tokens.cache_read, usage.tokens.output),
        ("resp_1", 60, 40, 5)
    );
    assert_eq!(usage.at, Some(Timestamp(1_794_986_746_938)));
    assert!(line.contains(CLIENT.dialect.usage_mark));
}
