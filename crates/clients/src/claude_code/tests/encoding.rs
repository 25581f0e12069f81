//! Several wishes in one answer, and text that tries to break out of it.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;
use substrate_core::verdict::Permission;
use substrate_core::{Detail, Event, EventKind, ToolCall, Verdict};

use super::{AT, CLIENT};
use crate::Answer;

fn encode(kind: EventKind, verdict: &Verdict) -> Answer {
    let env_file = Some("/env.sh".to_owned());
    (CLIENT.encode)(&Event { env_file, ..Event::bare("claude-code", kind, AT) }, verdict)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn deny(reason: &str) -> Option<Permission> {
    Some(Permission::Deny { reason: reason.to_owned() })
}

#[rstest]
#[case::denial_context_and_notice(
    EventKind::PreToolUse,
    Verdict { permission: deny("no"), context: text("c"), notice: text("n"), ..Verdict::default() },
    r#"{"systemMessage":"n","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no","additionalContext":"c"}}"#
)]
#[case::block_and_notice(
    EventKind::Stop,
    Verdict { block: text("b"), notice: text("n"), ..Verdict::default() },
    r#"{"decision":"block","reason":"b","systemMessage":"n"}"#
)]
#[case::block_and_context(
    EventKind::PostToolUse,
    Verdict { block: text("b"), context: text("c"), ..Verdict::default() },
    r#"{"decision":"block","reason":"b","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c"}}"#
)]
#[case::refused_request_and_notice(
    EventKind::PermissionRequest,
    Verdict { permission: deny("no"), notice: text("n"), ..Verdict::default() },
    r#"{"systemMessage":"n","hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#
)]
#[case::blank_text(
    EventKind::UserPromptSubmit,
    Verdict { block: text(" \n"), context: text(""), notice: text(" "), ..Verdict::default() },
    ""
)]
fn together(#[case] kind: EventKind, #[case] verdict: Verdict, #[case] stdout: &str) {
    let expected = Answer { stdout: stdout.to_owned(), ..Answer::default() };
    assert_eq!(encode(kind, &verdict), expected);
}

#[test]
fn a_question_is_answered_by_its_whole_input_and_the_answers() {
    let input = r#"{"questions":[{"question":"Which?","options":[{"label":"Beta"}]}],"x":1}"#;
    let call = ToolCall { input: input.to_owned(), ..ToolCall::default() };
    let event = Event {
        detail: Detail::ToolBefore { call },
        ..Event::bare("claude-code", EventKind::PermissionRequest, AT)
    };
    let choices = vec![("Which?".to_owned(), "Beta \"or\" not".to_owned())];
    let permission = Some(Permission::Allow { choices });
    let answer = (CLIENT.encode)(&event, &Verdict { permission, ..Verdict::default() });
    let said: Value = serde_json::from_str(&answer.stdout).unwrap();
    let decision = &said["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "allow");
    let mut expected: Value = serde_json::from_str(input).unwrap();
    expected["answers"] = serde_json::json!({"Which?": "Beta \"or\" not"});
    assert_eq!(decision["updatedInput"], expected);
}

#[test]
fn a_compaction_that_does_not_happen_gets_no_instructions() {
    let verdict = Verdict { block: text("b"), context: text("c"), ..Verdict::default() };
    let expected = Answer { stderr: "b".to_owned(), exit: 2, ..Answer::default() };
    assert_eq!(encode(EventKind::PreCompact, &verdict), expected);
}

#[rstest]
#[case::plain("AGENT_ID", "NobleLion", Some("export AGENT_ID='NobleLion'\n"))]
#[case::empty("A", "", Some("export A=''\n"))]
#[case::shell_words("_a1", "$(id) `id` \"x\" \\", Some("export _a1='$(id) `id` \"x\" \\'\n"))]
#[case::quotes("A", "it's; 'x'", Some("export A='it'\\''s; '\\''x'\\'''\n"))]
#[case::line_break("A", "x\nrm -rf", None)]
#[case::nul("A", "x\0y", None)]
#[case::no_name("", "x", None)]
#[case::digit_first("1A", "x", None)]
#[case::assignment_in_the_name("A=1;B", "x", None)]
#[case::other_letters("Ä", "x", None)]
fn an_export_is_quoted_or_left_out(
    #[case] name: &str,
    #[case] value: &str,
    #[case] expected: Option<&str>,
) {
    let exports = vec![(name.to_owned(), value.to_owned())];
    let answer =
        encode(EventKind::SessionStart, &Verdict { exports, ..Verdict::default() }).exports;
    assert_eq!(answer.map(|exports| exports.text).as_deref(), expected);
}

#[test]
fn bad_exports_do_not_take_good_ones_with_them() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let exports = vec![pair("A", "1"), pair("B C", "2"), pair("D", "3")];
    let answer = encode(EventKind::Setup, &Verdict { exports, ..Verdict::default() });
    assert_eq!(answer.exports.unwrap().text, "export A='1'\nexport D='3'\n");
}

#[test]
fn without_a_file_nothing_is_exported() {
    let exports = vec![("A".to_owned(), "1".to_owned())];
    let event = Event::bare("claude-code", EventKind::SessionStart, AT);
    let answer = (CLIENT.encode)(&event, &Verdict { exports, ..Verdict::default() });
    assert_eq!(answer, Answer::default());
}

/// What a POSIX shell makes of one `export NAME=…` line whose value has only single quotes and `\'`.
fn as_the_shell_reads(line: &str) -> String {
    let (mut out, mut quoted) = (String::new(), false);
    let mut chars = line.strip_suffix('\n').unwrap().split_once('=').unwrap().1.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => out.extend(chars.next()),
            _ => {
                assert!(quoted, "`{c}` is outside quotes in {line}");
                out.push(c);
            }
        }
    }
    assert!(!quoted);
    out
}

proptest! {
    #[test]
    fn any_text_arrives_as_it_was_and_nothing_else_does(
        kind in prop::sample::select(EventKind::ALL),
        context in any::<Option<String>>(),
        block in any::<Option<String>>(),
        notice in any::<Option<String>>(),
        reason in any::<String>(),
    ) {
        let permission = Some(Permission::Deny { reason: reason.clone() });
        let verdict = Verdict { permission, context, block, notice, ..Verdict::default() };
        let answer = encode(kind, &verdict);
        prop_assert!(answer.exit == 0 || answer.stdout.is_empty());
        if answer.stdout.is_empty() || kind == EventKind::PreCompact {
            return Ok(());
        }
        let said: Value = serde_json::from_str(&answer.stdout).unwrap();
        prop_assert!(said.is_object());
        let particular = &said["hookSpecificOutput"];
        for (found, wished) in [
            (&said["reason"], verdict.block.as_ref()),
            (&said["systemMessage"], verdict.notice.as_ref()),
            (&particular["additionalContext"], verdict.context.as_ref()),
            (&particular["permissionDecisionReason"], Some(&reason)),
        ] {
            prop_assert!(found.is_null() || found.as_str() == wished.map(String::as_str));
        }
        if !particular.is_null() {
            prop_assert_eq!(particular["hookEventName"].as_str(), Some(kind.name()));
        }
    }

    #[test]
    fn a_shell_reads_any_exported_value_as_it_was(value in r#"[ -~'"$`\\äß…😀]{0,40}"#) {
        let exports = vec![("A".to_owned(), value.clone())];
        let answer = encode(EventKind::SessionStart, &Verdict { exports, ..Verdict::default() });
        prop_assert_eq!(as_the_shell_reads(&answer.exports.unwrap().text), value);
    }
}
