//! A subagent that wants to end.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, WishKind};

use super::{ALL, HOUR, ON, Story, main, pad, sub};
use crate::reminders::face::ANSWER;
use crate::scratchpad::template;

const REASON: &str = "Scratchpad missing or incomplete. Write to .claude/scratchpad/spec-writer/2026-02-08.md with all three required sections before completing.";

#[rstest]
#[case::complete(Some(ALL), None)]
#[case::missing(
    None,
    Some(
        "The file does not exist yet; the sections are \"## What I did\", \"## Cross-agent observations\", \"## Unresolved\"."
    )
)]
#[case::empty(
    Some(""),
    Some("It lacks \"## What I did\", \"## Cross-agent observations\", \"## Unresolved\".")
)]
#[case::incomplete(
    Some("## What I did\n## Unresolved"),
    Some("It lacks \"## Cross-agent observations\".")
)]
fn it_is_held_until_its_scratchpad_is_complete(
    #[case] text: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", "spec-writer");
    if let Some(text) = text {
        story.write(&pad("spec-writer", "2026-02-08"), text);
    }
    let expected = expected.map(|lacks| format!("{REASON} {lacks}\n{ANSWER}"));
    assert_eq!(story.end("a1", "spec-writer"), expected);
}

#[test]
fn it_is_held_at_every_try_until_it_wrote_or_the_client_would_override() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    let mut held = Vec::new();
    for n in 0..8 {
        let detail = Detail::Stop {
            again: n > 0,
            last_message: None,
            n_background_tasks: 0,
            transcript: None,
        };
        let event =
            Event { detail, block_cap: 8, ..story.event(EventKind::SubagentStop, sub("a1", "x")) };
        held.push(story.happen(&event).verdict.block.is_some());
    }
    assert_eq!(held, [true, true, true, true, true, true, true, false]);
    story.write(&pad("x", "2026-02-08"), ALL);
    assert_eq!(story.end("a1", "x"), None);
}

/// A subagent that stops, for the n-th time in its turn.
fn tries(story: &mut Story, n: usize) -> Event {
    let detail =
        Detail::Stop { again: n > 0, last_message: None, n_background_tasks: 0, transcript: None };
    Event { detail, block_cap: 8, ..story.event(EventKind::SubagentStop, sub("a1", "x")) }
}

/// Like an agent that may read but not write: it calls a tool and stops again.
#[test]
fn one_that_cant_write_is_let_go_though_it_calls_tools() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    let mut held = 0;
    for n in 0..40 {
        let event = tries(&mut story, n);
        if story.happen(&event).verdict.block.is_none() {
            break;
        }
        held += 1;
        let event = story.event(EventKind::PostToolUse, sub("a1", "x"));
        story.happen(&event);
    }
    assert_eq!(held, 8);
}

#[test]
fn where_nothing_can_be_written_down_it_is_held_once() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    let mut held = Vec::new();
    for n in 0..4 {
        let event = tries(&mut story, n);
        for need in super::policy::gather(&event, &story.settings) {
            if let Some(found) = story.look_up(&need) {
                story.stage.facts.insert(need, substrate_core::facts::Found::Daily(found));
            }
        }
        held.push(story.stage.happen_reading(&event).verdict.block.is_some());
    }
    assert_eq!(held, [true, false, false, false]);
}

#[test]
fn an_agent_in_plan_mode_is_neither_asked_nor_held() {
    let mut story = Story::new(ON);
    let plan = |event: Event| Event { is_planning: true, ..event };
    let event = plan(story.event(EventKind::SubagentStart, sub("a1", "x")));
    assert_eq!(super::section(&story.happen(&event).verdict), None);
    let event = plan(story.event(EventKind::SubagentStop, sub("a1", "x")));
    assert_eq!(story.happen(&event).verdict.block, None);
    assert!(story.end("a1", "x").is_some(), "and one that may write is");
}

#[test]
fn an_unwritable_project_holds_no_one_and_is_reported_once() {
    let mut story = Story::new(ON);
    story.start();
    story.spawn("a1", "x");
    story.sealed = true;
    assert_eq!(story.end("a1", "x"), None);
    let event = story.event(EventKind::Stop, main());
    let told = story.happen(&event).verdict.notice.unwrap();
    assert!(
        told.contains("subagent x: no scratchpad was required, because .claude/scratchpad/x/"),
        "{told}"
    );
    let event = story.event(EventKind::Stop, main());
    assert_eq!(story.happen(&event).verdict.notice, None);
}

#[test]
fn an_untouched_template_is_not_a_scratchpad() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-08"), &template("x", "2026-02-08"));
    let reason = story.end("a1", "x").unwrap();
    assert!(reason.contains("only its headings"), "{reason}");
    story.write(&pad("x", "2026-02-08"), &(template("x", "2026-02-08") + "none\n"));
    assert_eq!(story.end("a1", "x"), None);
}

#[test]
fn a_file_of_the_day_in_another_zone_counts() {
    for day in ["2026-02-07", "2026-02-09"] {
        let mut story = Story::new(ON);
        story.write(&pad("x", day), ALL);
        story.stage.pass(1_000);
        story.spawn("a1", "x");
        assert!(story.end("a1", "x").is_some(), "it is another agent's");
        story.write(&pad("x", day), ALL);
        assert_eq!(story.end("a1", "x"), None, "{day}");
    }
}

#[test]
fn files_of_the_future_hide_nothing() {
    let mut story = Story::new(ON);
    for day in 10..30 {
        story.write(&pad("x", &format!("2099-01-{day}")), "x");
    }
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-08"), ALL);
    assert_eq!(story.end("a1", "x"), None);
}

#[test]
fn midnight_makes_no_difference() {
    let mut story = Story::new(ON);
    story.stage.pass(11 * HOUR);
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-08"), ALL);
    story.stage.pass(2 * HOUR);
    assert_eq!(story.end("a1", "x"), None, "written on the day it started");
    story.spawn("a2", "x");
    let reason = story.end("a2", "x").unwrap();
    assert!(reason.contains("x/2026-02-09.md with"), "the other one started today: {reason}");
    // For an agent whose start was not seen, only today counts.
    assert!(story.end("a3", "x").is_some());
    story.write(&pad("x", "2026-02-09"), ALL);
    assert_eq!(story.end("a2", "x"), None);
    assert_eq!(story.end("a3", "x"), None);
}

#[test]
fn an_unfinished_file_of_yesterday_is_the_one_to_finish() {
    let mut story = Story::new(ON);
    story.stage.pass(11 * HOUR);
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-08"), "## What I did\n");
    story.stage.pass(2 * HOUR);
    let reason = story.end("a1", "x").unwrap();
    assert!(reason.contains("x/2026-02-08.md with"), "{reason}");
}

#[rstest]
#[case::in_the_project("/repo/.claude/scratchpad/x/2026-02-08.md", true)]
#[case::in_its_tree("/repo/.claude/worktrees/w/.claude/scratchpad/x/2026-02-08.md", true)]
#[case::elsewhere("/other/.claude/scratchpad/x/2026-02-08.md", false)]
#[case::of_another_type("/repo/.claude/scratchpad/y/2026-02-08.md", false)]
fn a_subagent_with_its_own_tree_may_write_in_either(#[case] path: &str, #[case] passes: bool) {
    let mut story = Story::new(ON);
    let in_tree = |event: Event| Event { cwd: "/repo/.claude/worktrees/w".to_owned(), ..event };
    let event = in_tree(story.event(EventKind::SubagentStart, sub("a1", "x")));
    story.happen(&event);
    story.write(path, ALL);
    let event = in_tree(story.event(EventKind::SubagentStop, sub("a1", "x")));
    let reason = story.happen(&event).verdict.block;
    assert_eq!(reason.is_none(), passes);
    if let Some(reason) = reason {
        assert!(reason.contains(" /repo/.claude/scratchpad/x/2026-02-08.md "), "{reason}");
    }
}

#[test]
fn an_unreadable_scratchpad_holds_no_one_and_is_reported() {
    let mut story = Story::new(ON);
    story.write(&pad("x", "2026-02-08"), "");
    story.locked.push("/repo/.claude/scratchpad/x/2026-02-08.md".to_owned());
    story.dark.push("/repo/.claude/scratchpad/y".to_owned());
    for (kind, why) in [("x", "x/2026-02-08.md could not be read"), ("y", "in time")] {
        let event = story.event(EventKind::SubagentStop, sub("a1", kind));
        let outcome = story.happen(&event);
        assert_eq!(outcome.verdict.block, None);
        let said = outcome.wishes.iter().filter(|wished| wished.wish.kind() == WishKind::Notice);
        let said: Vec<&str> = said.map(|wished| wished.wish.words()).collect();
        assert!(said.len() == 1 && said[0].contains(why), "{said:?}");
    }
}

/// Like a hook tried by hand: a type and nothing else.
#[test]
fn a_type_alone_is_enough() {
    let mut story = Story::new(ON);
    let actor = Actor::Main { kind: Some("spec-writer".to_owned()) };
    let by_hand = |event: Event| Event { session: None, project_dir: None, ..event };
    let event = by_hand(story.event(EventKind::SubagentStart, actor.clone()));
    let told = super::section(&story.happen(&event).verdict).unwrap();
    assert!(told.contains(".claude/scratchpad/spec-writer/2026-02-08.md"), "{told}");
    let event = by_hand(story.event(EventKind::SubagentStop, actor));
    assert!(story.happen(&event).verdict.block.unwrap().starts_with(REASON));
    story.write(&pad("spec-writer", "2026-02-08"), ALL);
    assert_eq!(story.happen(&event).verdict.block, None);
}

#[test]
fn a_new_day_needs_a_new_entry_and_old_workers_are_forgotten() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    story.write(&pad("x", "2026-02-08"), ALL);
    story.stage.pass(31 * 24 * HOUR);
    assert_eq!(story.end("a1", "x"), None, "it started then");
    assert!(!story.stage.with(|cx| super::policy::tick(cx).unwrap()));
    assert!(story.end("a1", "x").is_some(), "it is forgotten");
}

#[test]
fn a_busy_database_is_not_a_way_out() {
    let mut story = Story::new(ON);
    story.spawn("a1", "x");
    let event = story.event(EventKind::SubagentStop, sub("a1", "x"));
    story.happen(&event);
    assert!(story.stage.happen_reading(&event).verdict.block.is_some());
}
