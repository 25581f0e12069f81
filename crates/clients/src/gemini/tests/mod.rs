//! The client's contract as tables. That its samples are events, and that nothing is said on a channel that it does not
//! honour, is checked for every client by the contract of the testkit.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, StartSource, ToolClass};

use super::CLIENT;
use crate::install::{Form, What};
use crate::testing::{self, all_said, decoded};

const ENV: [(&str, &str); 2] = [("SUBSTRATE_CLIENT_PID", "77"), ("GEMINI_PROJECT_DIR", "/repo")];

fn sample(name: &str) -> Event {
    testing::sample(&CLIENT, name, &ENV)
}

#[rstest]
#[case("SessionStart", EventKind::SessionStart)]
#[case("SessionEnd", EventKind::SessionEnd)]
#[case("BeforeAgent", EventKind::UserPromptSubmit)]
#[case::our_own_words("_BeforeAgent-after-a-block", EventKind::Unknown)]
#[case("BeforeTool", EventKind::PreToolUse)]
#[case("AfterTool", EventKind::PostToolUse)]
#[case("AfterTool-failed", EventKind::PostToolUseFailure)]
#[case("AfterAgent", EventKind::Stop)]
#[case("Notification", EventKind::Notification)]
#[case::before_every_request("_PreCompress", EventKind::Unknown)]
#[case("_BeforeModel", EventKind::Unknown)]
fn a_payload_is_an_event(#[case] name: &str, #[case] kind: EventKind) {
    let event = sample(name);
    assert_eq!((event.kind, event.n_unknown_fields), (kind, 0));
    assert_eq!(event.config_dir.as_deref(), Some("/home/dev/.gemini"));
    assert_eq!((event.client_pid, event.project_dir.as_deref()), (Some(77), Some("/repo")));
}

/// In a terminal, `session_id` changes several times within one turn.
#[test]
fn a_session_is_known_by_its_transcript_whatever_its_id() {
    let session = |name: &str| sample(name).session.unwrap().as_str().to_owned();
    let lasting = "session-2026-11-15T19-09-563d9717";
    for name in ["BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd-clear"] {
        assert_eq!(session(name), lasting, "{name}");
    }
    assert_ne!(session("SessionStart-clear"), lasting, "another conversation");
    let bare = decoded(&CLIENT, "PreToolUse", br#"{"session_id":"s1"}"#, &[]);
    assert_eq!(bare.session.unwrap().as_str(), "s1");
}

#[rstest]
#[case("BeforeTool", ToolClass::Shell, Some("touch zz.txt"), &[])]
#[case("BeforeTool-in-subagent", ToolClass::Shell, Some("echo in-sub"), &[])]
#[case("BeforeTool-invoke_agent", ToolClass::Agent, None, &[])]
#[case("AfterTool-failed", ToolClass::Edit, None, &["/home/dev/lab/gemini/none.txt"])]
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
    assert_eq!(event.actor, Actor::Main { kind: None }, "subagents can't be told apart");
}

#[test]
fn both_ends_of_a_call_have_the_same_id_and_other_calls_have_others() {
    let id = |name: &str| sample(name).tool().unwrap().use_id.clone().unwrap();
    assert_eq!(id("BeforeTool"), id("AfterTool"));
    assert_eq!(id("BeforeTool-in-subagent"), id("AfterTool-in-subagent"));
    assert_ne!(id("BeforeTool"), id("BeforeTool-in-subagent"));
}

#[test]
fn a_failure_says_why_and_a_stop_what_was_said_last() {
    let Detail::ToolFailed { error, .. } = sample("AfterTool-failed").detail else { panic!() };
    assert_eq!(error, "File not found: /home/dev/lab/gemini/none.txt");
    let Detail::Stop { again, last_message, .. } = sample("AfterAgent").detail else { panic!() };
    assert_eq!((again, last_message.as_deref()), (false, Some("fin")));
    let Detail::SessionStart { source, .. } = sample("SessionStart-clear").detail else { panic!() };
    assert_eq!(source, StartSource::Clear);
}

/// A call that can't be read must be known as one, and the timeout is in milliseconds.
#[test]
fn our_commands_name_events_in_our_words_and_survive_a_missing_program() {
    let entries = (CLIENT.install.entries)(Form::User { program: "/opt/substrate-hook" });
    let entry = entries.iter().find(|entry| entry.event == "BeforeTool").unwrap();
    let What::Shell { command, .. } = &entry.what else { panic!() };
    assert!(command.starts_with("[ -x /opt/substrate-hook ] || exit 0; "), "{command}");
    assert!(command.ends_with(" /opt/substrate-hook gemini PreToolUse"), "{command}");
    let wanted = crate::install::Wanted { entries, ..Default::default() };
    let text = (CLIENT.install.format.add)("", &wanted).unwrap().text;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 15_000);
    assert_eq!(json["hooks"]["AfterAgent"][0]["hooks"][0]["timeout"], 600_000);
}

#[rstest]
#[case(
    EventKind::SessionStart,
    r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"told"}}"#
)]
#[case(
    EventKind::UserPromptSubmit,
    r#"{"decision":"block","reason":"held","hookSpecificOutput":{"hookEventName":"BeforeAgent","additionalContext":"told"}}"#
)]
#[case(EventKind::PreToolUse, r#"{"decision":"deny","reason":"no"}"#)]
#[case(
    EventKind::PostToolUse,
    r#"{"decision":"block","reason":"held","hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"told"}}"#
)]
#[case(
    EventKind::PostToolUseFailure,
    r#"{"decision":"block","reason":"held","hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"told"}}"#
)]
#[case(
    EventKind::Stop,
    r#"{"decision":"block","reason":"held\n\n(Substrate wrote this, not a person.)"}"#
)]
#[case(EventKind::SessionEnd, "")]
#[case(EventKind::PermissionRequest, "")]
#[case(EventKind::PreCompact, "")]
#[case(EventKind::Notification, "")]
#[case(EventKind::SubagentStart, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
