//! The client's contract as tables. That its samples are events, and that nothing is said on a channel that it does not
//! honour, is checked for every client by the contract of the testkit.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, StartSource, ToolClass};

use super::CLIENT;
use crate::Input;
use crate::install::{Form, Wanted};
use crate::testing::{self, all_said, decoded};

const ROOT: &str = "be77da61-41a8-40f1-b32a-ce8311971dfd";

fn sample(name: &str) -> Event {
    testing::sample(&CLIENT, name, &[("SUBSTRATE_CLIENT_PID", "77"), ("COPILOT_HOME", "/c/")])
}

#[rstest]
#[case("SessionStart", EventKind::SessionStart)]
#[case("SessionEnd", EventKind::SessionEnd)]
#[case("UserPromptSubmit", EventKind::UserPromptSubmit)]
#[case("UserPromptSubmit-subagent", EventKind::UserPromptSubmit)]
#[case::our_own_words("_UserPromptSubmit-after-a-block", EventKind::Unknown)]
#[case("PreToolUse", EventKind::PreToolUse)]
#[case("PreToolUse-subagent", EventKind::PreToolUse)]
#[case("PermissionRequest", EventKind::PermissionRequest)]
#[case("PermissionRequest-subagent", EventKind::PermissionRequest)]
#[case("PostToolUse", EventKind::PostToolUse)]
#[case("PostToolUseFailure", EventKind::PostToolUseFailure)]
#[case("SubagentStart", EventKind::SubagentStart)]
#[case("SubagentStop", EventKind::SubagentStop)]
#[case("Stop", EventKind::Stop)]
#[case::it_stops_twice("_Stop-subagent", EventKind::Unknown)]
fn a_payload_is_an_event_of_the_root_session(#[case] name: &str, #[case] kind: EventKind) {
    let event = sample(name);
    assert_eq!((event.kind, event.n_unknown_fields), (kind, 0));
    assert_eq!(event.session.unwrap().as_str(), ROOT);
    assert_eq!((event.client_pid, event.config_dir.as_deref()), (Some(77), Some("/c")));
    assert_eq!(event.cwd, "/home/dev/lab/copilot");
}

/// Some events carry no name of their own: the hook's argument says it.
#[test]
fn an_event_without_a_name_has_the_one_it_was_registered_by() {
    let stdin = br#"{"sessionId":"s1","agentName":"general-purpose"}"#;
    let event = decoded(&CLIENT, "SubagentStart", stdin, &[]);
    assert_eq!((event.kind, event.name.as_str()), (EventKind::SubagentStart, "SubagentStart"));
}

#[test]
fn a_subagent_is_told_apart_and_its_prompt_is_not_a_persons() {
    for name in ["PreToolUse-subagent", "PostToolUse-subagent", "SubagentStart", "SubagentStop"] {
        let Actor::Subagent { id, kind } = sample(name).actor else { panic!("{name}") };
        assert_eq!(
            (id.as_str(), kind.as_str()),
            ("6411e4eb-cfca-49ee-aab5-31e7cfff7ceb", "general-purpose")
        );
    }
    let is_persons = |name: &str| match sample(name).detail {
        Detail::Prompt { from_person, .. } => from_person,
        other => panic!("{other:?}"),
    };
    assert!(is_persons("UserPromptSubmit") && !is_persons("UserPromptSubmit-subagent"));
    let Detail::SessionStart { source, .. } = sample("SessionStart").detail else { panic!() };
    assert_eq!(source, StartSource::Startup);
}

#[rstest]
#[case("Bash", r#"{"command":"ls"}"#, ToolClass::Shell, Some("ls"), &[])]
#[case("Write", r#"{"path":"/a","file_text":"x"}"#, ToolClass::Edit, None, &["/a"])]
#[case("Edit", r#"{"path":"/a","old_str":"x","new_str":"y"}"#, ToolClass::Edit, None, &["/a"])]
#[case("Read", r#"{"path":"/a"}"#, ToolClass::Read, None, &["/a"])]
#[case("Agent", r#"{"prompt":"go"}"#, ToolClass::Agent, None, &[])]
#[case(
    "apply_patch",
    r#""*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch\n""#,
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
    let stdin = format!(r#"{{"tool_name":"{tool}","tool_input":{input}}}"#);
    let before = decoded(&CLIENT, "PreToolUse", stdin.as_bytes(), &[]);
    let call = before.tool().unwrap();
    assert_eq!((call.class, call.command.as_deref()), (class, command));
    assert_eq!(call.files, files);
    let after = decoded(&CLIENT, "PostToolUse", stdin.as_bytes(), &[]);
    assert_eq!(after.tool().unwrap().use_id, call.use_id, "both ends have the same id");
}

#[test]
fn a_result_is_what_the_tool_returned() {
    let Detail::ToolAfter { response, .. } = sample("PostToolUse-subagent").detail else {
        panic!()
    };
    assert!(response.contains("in-sub"), "{response}");
}

/// The client reads the hooks of a repository that were registered with Claude Code, its waiters as well.
#[test]
fn a_hook_of_another_client_that_it_runs_is_its_own() {
    let claude = crate::DEFAULT;
    let env = [("COPILOT_PROJECT_DIR", "/repo")];
    let given = Input {
        event: "Stop",
        stdin: br#"{"session_id":"s1"}"#,
        cwd: "/",
        env: &env,
        at: testing::AT,
        waits: false,
    };
    assert_eq!(crate::running(claude, &given).name, CLIENT.name);
    assert_eq!(crate::running(claude, &Input { env: &[], ..given }).name, claude.name);
    let waiter = (CLIENT.decode)(&Input { waits: true, ..given }).unwrap();
    assert_eq!(waiter.kind, EventKind::Unknown);
}

/// The file is ours alone, and the client wants to be told its version.
#[test]
fn a_new_file_has_a_version_and_nothing_is_left_of_it() {
    let install = &CLIENT.install;
    let entries = (install.entries)(Form::User { program: "/opt/substrate-hook" });
    let wanted = Wanted { entries, ..Wanted::default() };
    let added = (install.format.add)("", &wanted).unwrap();
    let json: serde_json::Value = serde_json::from_str(&added.text).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], 15);
    assert!((install.format.remove)(&added.text, &[]).unwrap().is_empty);
}

#[rstest]
#[case(EventKind::SessionStart, r#"{"additionalContext":"told"}"#)]
#[case(
    EventKind::UserPromptSubmit,
    r#"{"decision":"block","reason":"held","additionalContext":"told"}"#
)]
#[case(
    EventKind::PreToolUse,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no","additionalContext":"told"}}"#
)]
#[case(EventKind::PostToolUse, r#"{"additionalContext":"told"}"#)]
#[case(EventKind::SubagentStart, r#"{"additionalContext":"told"}"#)]
#[case(
    EventKind::Stop,
    r#"{"decision":"block","reason":"held\n\n(Substrate wrote this, not a person.)"}"#
)]
#[case(
    EventKind::SubagentStop,
    r#"{"decision":"block","reason":"held\n\n(Substrate wrote this, not a person.)"}"#
)]
#[case(EventKind::PostToolUseFailure, "")]
#[case(EventKind::PermissionRequest, "")]
#[case(EventKind::PreCompact, "")]
#[case(EventKind::SessionEnd, "")]
#[case(EventKind::Unknown, "")]
fn all_that_can_be_said_at(#[case] kind: EventKind, #[case] expected: &str) {
    assert_eq!(all_said(&CLIENT, kind), expected);
}
