//! A session that wants to end its turn.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, ToolCall, ToolClass};

use super::{ALL, HOUR, ON, Story, main, pad, sub};

const REASON: &str = "Multi-agent delegation detected but no coordinator scratchpad for today. Write to .claude/scratchpad/coordinator/2026-02-08.md before ending session.";

/// A session with a subagent of that type that wrote its scratchpad.
fn delegated(kind: &str) -> Story {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", kind);
    story.write(&pad(kind, "2026-02-08"), ALL);
    assert_eq!(story.end("a1", kind), None);
    story
}

#[rstest]
#[case::missing(None, Some(""))]
#[case::blank(Some("\n \n"), Some(" The file is blank."))]
#[case::written(Some("we shipped it"), None)]
fn a_session_that_delegates_writes_the_coordinators_entry(
    #[case] text: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let mut story = delegated("spec-writer");
    if let Some(text) = text {
        story.write(&pad("coordinator", "2026-02-08"), text);
    }
    assert_eq!(story.stop(), expected.map(|more| format!("{REASON}{more}")));
}

#[test]
fn a_session_is_not_held_for_another_sessions_delegation() {
    let mut story = delegated("spec-writer");
    let other = |event: Event| Event { session: substrate_core::SafeId::new("s2"), ..event };
    let event = other(story.event(EventKind::SessionStart, main()));
    story.happen(&event);
    let event = other(story.event(EventKind::Stop, main()));
    assert_eq!(story.happen(&event).verdict.block, None);
    assert!(story.stop().is_some(), "the other one did");
}

#[rstest]
#[case::coordinator("coordinator")]
#[case::ego("ego")]
fn coordinator_and_ego_are_not_delegates_but_write_scratchpads(#[case] kind: &str) {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", kind);
    assert!(story.end("a1", kind).is_some());
    if kind == "ego" {
        story.write(&pad(kind, "2026-02-08"), ALL);
        assert_eq!(story.end("a1", kind), None);
    }
    assert_eq!(story.stop(), None);
}

#[rstest]
#[case::watched(Some(true), false)]
#[case::unattended(Some(false), true)]
#[case::who_knows(None, false)]
fn its_answer_is_asked_for_again_where_only_the_last_message_counts(
    #[case] attended: Option<bool>,
    #[case] expected: bool,
) {
    let mut story = delegated("x");
    let event = Event { attended, ..story.event(EventKind::Stop, main()) };
    let reason = story.happen(&event).verdict.block.unwrap();
    assert!(reason.starts_with(REASON));
    assert_eq!(reason.ends_with(crate::reminders::face::ANSWER), expected);
}

/// The reminder asks for the answer too.
#[test]
fn the_answer_is_asked_for_once() {
    let mut story = Story::new("[scratchpad]\non = true\n[reminders]\non = true\n");
    story.spawn("a1", "x");
    let call = ToolCall {
        name: "Read".to_owned(),
        class: ToolClass::Read,
        use_id: None,
        files: Vec::new(),
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    };
    let event = story.event(EventKind::PreToolUse, sub("a1", "x"));
    story.happen(&Event { detail: Detail::ToolBefore { call }, ..event });
    let reason = story.end("a1", "x").unwrap();
    assert!(reason.contains("Scratchpad missing") && reason.contains("check your own work"));
    assert_eq!(reason.matches(crate::reminders::face::ANSWER).count(), 1, "{reason}");
    let again = story.end("a1", "x").unwrap();
    assert!(!again.contains("check your own work"), "the reminder counts as told: {again}");
}

#[test]
fn exempt_types_are_not_delegates() {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", "Explore");
    story.write(&pad("Explore", "2026-02-08"), ALL);
    assert_eq!(story.end("a1", "Explore"), None);
    assert_eq!(story.stop(), None);
}

#[test]
fn only_a_delegate_that_wrote_is_a_sign_of_delegation() {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", "x");
    assert!(story.end("a1", "x").is_some());
    assert_eq!(story.stop(), None, "nothing was written");
    story.write(&pad("x", "2026-02-08"), "half an entry");
    assert_eq!(story.stop().unwrap(), REASON, "its file is there, though it never ended well");
}

#[test]
fn what_a_delegate_wrote_into_its_own_tree_is_a_sign() {
    let mut story = Story::new(ON);
    story.start();
    let in_tree = |event: Event| Event { cwd: "/repo/.claude/worktrees/w".to_owned(), ..event };
    for kind in [EventKind::SubagentStart, EventKind::SubagentStop] {
        story.write("/repo/.claude/worktrees/w/.claude/scratchpad/x/2026-02-08.md", ALL);
        let event = in_tree(story.event(kind, sub("a1", "x")));
        assert_eq!(story.happen(&event).verdict.block, None);
    }
    assert_eq!(story.stop().unwrap(), REASON);
}

#[test]
fn it_is_held_only_when_its_background_tasks_are_done() {
    let mut story = delegated("x");
    let stop = |story: &Story, n_background_tasks| Event {
        detail: Detail::Stop {
            again: false,
            last_message: None,
            n_background_tasks,
            transcript: None,
        },
        ..story.event(EventKind::Stop, main())
    };
    let event = stop(&story, 2);
    assert_eq!(story.happen(&event).verdict.block, None);
    let event = stop(&story, 0);
    assert!(story.happen(&event).verdict.block.is_some());
    let event = Event { kind: EventKind::Waiter, ..event };
    assert_eq!(story.happen(&event).verdict.block, None);
}

#[test]
fn midnight_makes_no_difference() {
    let mut story = Story::new(ON);
    story.stage.pass(11 * HOUR);
    story.start();
    story.write(&pad("coordinator", "2026-02-08"), "the plan");
    story.stage.pass(2 * HOUR);
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-09"), ALL);
    assert_eq!(story.end("a1", "x"), None);
    assert_eq!(story.stop(), None, "the session began yesterday, and so did its entry");
}

#[test]
fn an_old_entry_does_not_count_for_ever() {
    let mut story = delegated("x");
    story.write(&pad("coordinator", "2026-02-08"), "done");
    assert_eq!(story.stop(), None);
    story.stage.pass(72 * HOUR);
    assert_eq!(story.stop(), None, "nothing was delegated since");
    story.spawn("a2", "x");
    story.write(&pad("x", "2026-02-11"), ALL);
    assert_eq!(story.end("a2", "x"), None);
    assert!(story.stop().unwrap().contains("coordinator/2026-02-11.md"));
    story.write(&pad("coordinator", "2026-02-11"), "done again");
    assert_eq!(story.stop(), None);
}

#[test]
fn a_session_of_a_certain_agent_is_a_session_like_others() {
    let mut story = delegated("x");
    let ego = Actor::Main { kind: Some("ego".to_owned()) };
    let event = story.event(EventKind::Stop, ego);
    assert_eq!(story.happen(&event).verdict.block.unwrap(), REASON);
}

#[test]
fn an_unreadable_coordinator_entry_holds_no_one() {
    let mut story = delegated("x");
    story.dark.push("/repo/.claude/scratchpad/coordinator".to_owned());
    story.stage.facts = substrate_core::Facts::default();
    let event = story.event(EventKind::Stop, main());
    let verdict = story.happen(&event).verdict;
    assert_eq!(verdict.block, None);
    assert!(verdict.notice.unwrap().contains("substrate scratchpad check"));
}

#[test]
fn when_it_is_off_nothing_is_remembered() {
    let mut story = Story::new("");
    story.start();
    story.spawn("a1", "x");
    let n = story.stage.with(|cx| {
        cx.db.first("select count(*) from scratchpad_actors", &[], |row| row.int(0)).unwrap()
    });
    assert_eq!(n, Some(0));
}
