//! What is told at which event.

use super::*;
use rstest::rstest;

#[test]
fn a_silent_mailbox_says_nothing() {
    let mut stage = two();
    for event in [
        start(&stage, "otter", StartSource::Startup),
        prompt(&stage, "otter"),
        tool(&stage, EventKind::PostToolUse, "otter"),
        stop(&stage, "otter", false),
        stage.event(EventKind::Waiter, "otter"),
    ] {
        let outcome = stage.told(&event);
        assert_eq!(said(&outcome.verdict), None, "{}", event.name);
        assert!(!outcome.verdict.receipt, "{}", event.name);
    }
}

#[test]
fn a_start_introduces_the_mailbox() {
    let mut stage = two();
    send(&mut stage, &inside("lion"), "CalmOtter", "Code review complete");
    send_with(&mut stage, &person(), "CalmOtter", "Deploy fix", &json!({"priority": "urgent"}));
    let event = start(&stage, "otter", StartSource::Startup);
    let outcome = stage.told(&event);
    let expected = "📬 You have 2 unread messages:
- From: User (urgent) - \"Deploy fix\" [#2]
- From: NobleLion - \"Code review complete\" [#1]

Use `substrate inbox` to read full messages.";
    assert_eq!(said(&outcome.verdict).as_deref(), Some(expected));
    assert!(outcome.verdict.receipt);
}

#[rstest]
#[case::startup(StartSource::Startup, true)]
#[case::clear(StartSource::Clear, true)]
#[case::other(StartSource::Other, true)]
#[case::compact(StartSource::Compact, true)]
#[case::resume(StartSource::Resume, false)]
fn what_was_seen_but_not_read_is_told_again_at(
    #[case] source: StartSource,
    #[case] expected: bool,
) {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = prompt(&stage, "otter");
    stage.told(&event);
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    assert_eq!(state(&mut stage, 1), "seen");
    let event = start(&stage, "otter", source);
    let outcome = stage.told(&event);
    assert_eq!(said(&outcome.verdict).is_some(), expected);
    assert_eq!(state(&mut stage, 1), "seen");
}

#[test]
fn a_prompt_brings_what_is_new() {
    let mut stage = two();
    send(&mut stage, &inside("lion"), "calmotter", "Build completed successfully");
    let event = prompt(&stage, "otter");
    let outcome = stage.told(&event);
    let expected = "📬 New message from NobleLion: \"Build completed successfully\" [#1]";
    assert_eq!(said(&outcome.verdict).as_deref(), Some(expected));
    for n in 0..2 {
        send(&mut stage, &inside("lion"), "CalmOtter", &format!("n{n}"));
    }
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    let event = notification(&stage, "otter");
    let outcome = stage.told(&event);
    assert!(said(&outcome.verdict).unwrap().starts_with("📬 You have 2 new messages:\n"));
}

#[rstest]
#[case(EventKind::PostToolUse)]
#[case(EventKind::PostToolUseFailure)]
fn only_urgent_mail_comes_between_tool_calls(#[case] kind: EventKind) {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "later");
    let event = tool(&stage, kind, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None);
    send_with(&mut stage, &person(), "CalmOtter", "now", &json!({"priority": "urgent"}));
    let event = tool(&stage, kind, "otter");
    let expected = "📬 New message from User (urgent): \"now\" [#2]";
    assert_eq!(said(&stage.told(&event).verdict).as_deref(), Some(expected));
}

#[test]
fn nobody_stops_before_it_knows() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "Please review this");
    send(&mut stage, &inside("lion"), "CalmOtter", "Status update");
    let event = stop(&stage, "otter", false);
    let outcome = stage.told(&event);
    let expected = "You have 2 unread messages:
- From: User - \"Please review this\" [#1]
- From: NobleLion - \"Status update\" [#2]
Use `substrate inbox` to read full messages.";
    assert_eq!(outcome.verdict.block.as_deref(), Some(expected));
    let event = stop(&stage, "otter", true);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "seen");
}

#[test]
fn a_waiter_wakes_only_who_has_stopped() {
    let mut stage = two();
    let event = prompt(&stage, "otter");
    stage.told(&event);
    send(&mut stage, &person(), "CalmOtter", "hello");
    assert_eq!(wakes(&stage), 1);
    let waiter = stage.event(EventKind::Waiter, "otter");
    assert_eq!(stage.told(&waiter).verdict.block, None);
    run(&mut stage, &inside("otter"), "inbox", json!({}));
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    send(&mut stage, &person(), "CalmOtter", "again");
    let woken = stage.told(&waiter).verdict.block.unwrap();
    assert!(woken.contains("- From: User - \"again\" [#2]\n"), "{woken}");
}

#[test]
fn a_long_list_is_told_in_portions_and_nothing_is_forgotten() {
    let mut stage = two();
    for n in 0..13 {
        send(&mut stage, &person(), "CalmOtter", &format!("n{n}"));
    }
    let event = stop(&stage, "otter", false);
    let first = stage.told(&event).verdict.block.unwrap();
    assert!(first.starts_with("You have 13 unread messages:\n"), "{first}");
    assert!(first.contains("- … and 3 more\n"), "{first}");
    let event = stop(&stage, "otter", true);
    let second = stage.told(&event).verdict.block.unwrap();
    assert!(second.starts_with("You have 3 unread messages:\n"), "{second}");
    assert!(second.contains("\"n12\" [#13]"), "{second}");
}
