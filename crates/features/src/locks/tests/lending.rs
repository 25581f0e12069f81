//! Parents that wait for their subagents.

use super::*;
use rstest::rstest;

#[test]
fn a_subagent_may_edit_what_its_waiting_parent_holds_but_siblings_exclude_each_other() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.pass(SECOND);
    agent(&mut stage, LION);
    stage.pass(SECOND);
    assert!(edits(&mut stage, CODER, "a.rs"));
    assert!(!edits(&mut stage, TESTER, "a.rs"), "its sibling");
    assert!(!edits(&mut stage, OTTER, "a.rs"), "another agent");
    assert_eq!(held(&mut stage), ["a.rs NobleLion/coder-1 held"]);
    assert_eq!(
        history(&mut stage, "a.rs")[..2],
        ["NobleLion acquired", "NobleLion/coder-1 taken over"]
    );
    really_stop(&mut stage, CODER);
    agent_over(&mut stage, LION);
    assert!(edits(&mut stage, LION, "a.rs"), "and the parent goes on");
}

#[test]
fn a_waiting_parent_lends_its_reserved_globs() {
    let mut stage = two();
    run(&mut stage, &caller(LION), "acquire", json!({"paths": ["src/**"]})).unwrap();
    agent(&mut stage, LION);
    stage.pass(SECOND);
    assert!(edits(&mut stage, CODER, "src/a.rs"));
    assert!(!edits(&mut stage, TESTER, "src/a.rs"));
    assert!(!edits(&mut stage, OTTER, "src/b.rs"));
}

/// What ends the waiting.
#[rstest]
#[case::background_ends_at_once(EventKind::PostToolUse)]
#[case::failed(EventKind::PostToolUseFailure)]
#[case::broken_off_and_asked_again(EventKind::UserPromptSubmit)]
#[case::restarted(EventKind::SessionStart)]
fn a_parent_that_does_not_wait_keeps_its_files(#[case] kind: EventKind) {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    agent(&mut stage, LION);
    let detail = match kind {
        EventKind::PostToolUse => {
            Detail::ToolAfter { call: agent_call(), response: String::new(), duration_ms: None }
        }
        EventKind::PostToolUseFailure => Detail::ToolFailed {
            call: agent_call(),
            error: String::new(),
            interrupted: false,
            duration_ms: None,
        },
        EventKind::UserPromptSubmit => {
            Detail::Prompt { text: "go on".to_owned(), from_person: true }
        }
        _ => Detail::SessionStart { source: StartSource::Resume, model: None },
    };
    let event = event(&stage, LION, kind, detail);
    stage.told(&event);
    stage.pass(SECOND);
    assert!(!edits(&mut stage, CODER, "a.rs"));
}

#[test]
fn a_parent_that_stops_or_ends_waits_for_no_one() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let rows = |stage: &mut Stage| {
        stage.with(|cx| (*crate::locks::status::open_calls(cx.db, "lion", "main").unwrap()).clone())
    };
    agent(&mut stage, LION);
    assert_eq!(rows(&mut stage), ["toolu_agent"]);
    stop(&mut stage, LION);
    assert_eq!(rows(&mut stage), [""; 0], "a parent that stops waits for no one");
    agent(&mut stage, LION);
    end(&mut stage, LION);
    assert_eq!(rows(&mut stage), [""; 0]);
    agent(&mut stage, LION);
    stage.pass(25 * 60 * MINUTE);
    stage.with(|cx| crate::locks::release::tick(cx).unwrap());
    assert_eq!(rows(&mut stage), [""; 0], "and nothing is remembered for ever");
}

#[test]
fn a_file_that_the_parent_is_editing_is_not_lent() {
    let mut stage = two();
    agent(&mut stage, LION);
    edit(&mut stage, LION, "a.rs");
    stage.pass(SECOND);
    assert!(!edits(&mut stage, CODER, "a.rs"), "a call beside the other one");
    edited(&mut stage, LION, "a.rs");
    assert!(edits(&mut stage, CODER, "a.rs"));
}

#[test]
fn an_older_subagent_is_not_the_one_that_the_parent_waits_for() {
    let mut stage = two();
    reads(&mut stage, CODER);
    stage.pass(SECOND);
    edits(&mut stage, LION, "a.rs");
    agent(&mut stage, LION);
    stage.pass(SECOND);
    assert!(!edits(&mut stage, CODER, "a.rs"), "it runs in the background");
    assert!(edits(&mut stage, TESTER, "a.rs"));
}

#[test]
fn a_subagent_that_waits_for_its_own_subagent_lends_too_and_so_does_the_parent_of_both() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    agent(&mut stage, LION);
    stage.pass(SECOND);
    edits(&mut stage, CODER, "b.rs");
    let call = ToolCall { use_id: Some("toolu_2".to_owned()), ..agent_call() };
    let detail = Detail::ToolBefore { call };
    let event = event(&stage, CODER, EventKind::PreToolUse, detail);
    stage.told(&event);
    stage.pass(SECOND);
    assert!(edits(&mut stage, TESTER, "a.rs") && edits(&mut stage, TESTER, "b.rs"));
    assert!(!edits(&mut stage, CODER, "b.rs"), "not the other way");
}
