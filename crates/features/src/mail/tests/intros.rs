//! What is shown at which event.

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
> the text
- From: NobleLion - \"Code review complete\" [#1]
> the text

Use `substrate inbox` to read full messages, `substrate reply NUMBER --body \"…\"` to answer.";
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
    send_long(&mut stage, "CalmOtter", "hello");
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
    let expected = "📬 New message from NobleLion: \"Build completed successfully\" [#1]
> the text
Use `substrate read 1` to see it again, `substrate reply 1 --body \"…\"` to answer.";
    assert_eq!(said(&outcome.verdict).as_deref(), Some(expected));
    for n in 0..2 {
        send(&mut stage, &inside("lion"), "CalmOtter", &format!("n{n}"));
    }
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    let event = notification(&stage, "otter");
    let outcome = stage.told(&event);
    assert!(said(&outcome.verdict).unwrap().starts_with("📬 You have 2 unread messages:\n"));
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
    let expected = "📬 You have 2 unread messages:
- From: User (urgent) - \"now\" [#2]
> the text
- … and 1 more
";
    assert!(said(&stage.told(&event).verdict).unwrap().starts_with(expected));
}

#[test]
fn an_agent_does_not_stop_before_it_has_seen_its_mail() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "Please review this");
    send(&mut stage, &inside("lion"), "CalmOtter", "Status update");
    let event = stop(&stage, "otter", false);
    let outcome = stage.told(&event);
    let expected = "You have 2 unread messages:
- From: User - \"Please review this\" [#1]
> the text
- From: NobleLion - \"Status update\" [#2]
> the text
Use `substrate inbox` to read full messages, `substrate reply NUMBER --body \"…\"` to answer.";
    assert_eq!(outcome.verdict.block.as_deref(), Some(expected));
    let event = stop(&stage, "otter", true);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "read", "its whole body was seen");
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

/// Seen, but only announced: it is announced once more, at the next prompt.
#[test]
fn what_was_only_announced_is_announced_again_at_the_next_prompt_once() {
    let mut stage = two();
    send_long(&mut stage, "CalmOtter", "a long story");
    let event = stop(&stage, "otter", false);
    let held = stage.told(&event).verdict.block.unwrap();
    assert!(
        held.contains("\"a long story\" [#1] (601 characters: `substrate read 1`)\n"),
        "{held}"
    );
    let event = stop(&stage, "otter", true);
    assert_eq!(stage.told(&event).verdict.block, None, "it was seen");
    assert_eq!(state(&mut stage, 1), "seen");
    let event = prompt(&stage, "otter");
    let expected = "📬 You have 1 unread message:
- From: User - \"a long story\" [#1] (601 characters: `substrate read 1`)

Use `substrate read 1` to read it, `substrate reply 1 --body \"…\"` to answer.";
    assert_eq!(said(&stage.told(&event).verdict).as_deref(), Some(expected));
    let event = prompt(&stage, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None, "once");
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
}

#[test]
fn what_was_read_meanwhile_is_not_announced_again() {
    let mut stage = two();
    send_long(&mut stage, "CalmOtter", "a long story");
    for event in [stop(&stage, "otter", false), stop(&stage, "otter", true)] {
        stage.told(&event);
    }
    run(&mut stage, &inside("otter"), "read", json!({"id": 1}));
    let event = prompt(&stage, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None);
}

#[test]
fn the_start_of_a_session_and_its_first_prompt_announce_it_once() {
    let mut stage = two();
    send_long(&mut stage, "CalmOtter", "a long story");
    for event in [stop(&stage, "otter", false), stop(&stage, "otter", true)] {
        stage.told(&event);
    }
    let event = start(&stage, "otter", StartSource::Clear);
    assert!(said(&stage.told(&event).verdict).unwrap().contains("a long story"));
    let event = prompt(&stage, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None);
}

/// Every count is of what was not read, wherever it is told.
#[test]
fn every_count_is_the_same() {
    let mut stage = two();
    for subject in ["one", "two"] {
        send_long(&mut stage, "CalmOtter", subject);
    }
    for event in [stop(&stage, "otter", false), stop(&stage, "otter", true)] {
        stage.told(&event);
    }
    send(&mut stage, &person(), "CalmOtter", "three");
    let status = run(&mut stage, &inside("otter"), "status", json!({}));
    assert_eq!(status.json["n_unread"], 3);
    let poll = run(&mut stage, &inside("otter"), "poll", json!({"peek": true}));
    assert_eq!(poll.json["n_unread"], 3);
    assert!(poll.text.starts_with("📬 You have 3 unread messages:\n"), "{}", poll.text);
    let line = stage.call(&inside("otter"), &["inbox"], json!({"peek": true})).unwrap();
    assert!(line.text.starts_with("3 unread messages.\n"), "{}", line.text);
    let input = json!({"status": {"session": "otter"}});
    let line = run(&mut stage, &inside("otter"), "statusline", input);
    assert_eq!(line.text, "CalmOtter · 3 mail\n");
    let fleet = run(&mut stage, &person(), "fleet list", json!({}));
    assert!(fleet.text.contains("[3 unread]"), "{}", fleet.text);
    let event = stop(&stage, "otter", false);
    let held = stage.told(&event).verdict.block.unwrap();
    assert!(held.starts_with("You have 3 unread messages:\n- From: User - \"three\""), "{held}");
    assert!(held.contains("- … and 2 more\n"), "{held}");
    // "three" was told whole, so it is read by now; "four" comes while no turn runs.
    let event = stop(&stage, "otter", true);
    assert_eq!(stage.told(&event).verdict.block, None);
    send(&mut stage, &person(), "CalmOtter", "four");
    let waiter = stage.event(EventKind::Waiter, "otter");
    let woken = stage.told(&waiter).verdict.block.unwrap();
    assert!(woken.starts_with("You have 3 unread messages:\n- From: User - \"four\""), "{woken}");
    let watch = run(&mut stage, &inside("otter"), "watch", json!({}));
    assert_eq!(watch.json["n_unread"], 3, "{}", watch.text);
}

#[test]
fn a_message_holds_its_reader_twice_at_the_most() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    // A client that does not honour blocks: no stop follows from another.
    for expected in [true, true, false, false] {
        let event = stop(&stage, "otter", false);
        assert_eq!(stage.told(&event).verdict.block.is_some(), expected);
    }
    let event = prompt(&stage, "otter");
    assert!(said(&stage.told(&event).verdict).unwrap().contains("\"hello\" [#1]"));
}
