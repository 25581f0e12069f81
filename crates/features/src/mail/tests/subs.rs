//! Subagents: mail of their own, their agent's mail, and what becomes of it when they end.

use super::*;

/// A subagent `reviewer-1` of NobleLion that has begun to work.
fn with_sub() -> Stage {
    let mut stage = two();
    let event = of_sub(tool(&stage, EventKind::PreToolUse, "lion"), "a1", "reviewer");
    stage.told(&event);
    stage
}

fn sub_stop(stage: &Stage, again: bool) -> Event {
    of_sub(stop(stage, "lion", again), "a1", "reviewer")
}

fn as_sub() -> Caller {
    Caller { agent: Some("NobleLion/reviewer-1".to_owned()), ..inside("lion") }
}

#[test]
fn a_subagent_has_its_own_mail() {
    let mut stage = with_sub();
    let urgent = json!({"priority": "urgent"});
    send_with(&mut stage, &person(), "NobleLion/reviewer-1", "for the sub", &urgent);
    let event = tool(&stage, EventKind::PostToolUse, "lion");
    assert_eq!(said(&stage.told(&event).verdict), None, "not the agent's");
    let event = of_sub(tool(&stage, EventKind::PostToolUse, "lion"), "a1", "reviewer");
    let told = said(&stage.told(&event).verdict);
    let expected = "📬 New message from User (urgent): \"for the sub\" [#1]\n> the text\n";
    assert!(told.as_deref().is_some_and(|told| told.starts_with(expected)), "{told:?}");
    let out = run(&mut stage, &as_sub(), "inbox", json!({}));
    assert!(out.text.contains("#1 from User (urgent)"), "{}", out.text);
    let out = run(&mut stage, &inside("lion"), "inbox", json!({}));
    assert_eq!(out.text, "No unread messages.\n");
}

#[test]
fn a_subagent_that_ends_learns_of_its_own_and_its_agents_mail_once() {
    let mut stage = with_sub();
    send(&mut stage, &person(), "NobleLion/reviewer-1", "own");
    send(&mut stage, &person(), "NobleLion", "the agent's");
    let event = sub_stop(&stage, false);
    let told = stage.told(&event).verdict.block.unwrap();
    let expected = "You have 2 unread messages:
- From: User - \"own\" [#1]
> the text
- From: User - \"the agent's\" [#2] (for your parent NobleLion) (8 characters: `substrate read 2`)
Use `substrate inbox` to read full messages, `substrate reply NUMBER --body \"…\"` to answer.";
    assert_eq!(told, expected);
    let event = sub_stop(&stage, true);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "read");
    let event = of_sub(stop(&stage, "lion", false), "a2", "reviewer");
    assert_eq!(stage.told(&event).verdict.block, None, "one subagent was told");
    let event = stop(&stage, "lion", false);
    let told = stage.told(&event).verdict.block.unwrap();
    assert!(told.contains("\"the agent's\" [#2]\n"), "the agent still gets it: {told}");
}

#[test]
fn the_compaction_fork_is_never_held() {
    let mut stage = two();
    send(&mut stage, &person(), "NobleLion", "hello");
    let event = of_sub(stop(&stage, "lion", false), "fork", "");
    assert_eq!(stage.told(&event).verdict.block, None);
}

#[test]
fn a_subagent_reads_its_agents_mail_without_marking_it() {
    let mut stage = with_sub();
    send(&mut stage, &person(), "NobleLion", "hello");
    let out = run(&mut stage, &as_sub(), "read", json!({"id": 1}));
    assert!(out.text.contains("> the text\n"));
    assert_eq!(state(&mut stage, 1), "queued");
    let (message, _) = refused(&mut stage, &as_sub(), "ack", json!({"ids": [1]}));
    assert_eq!(message, "there is no message #1 in your mailbox");
}

#[test]
fn what_a_subagent_never_saw_goes_to_its_agent() {
    let mut stage = with_sub();
    let event = sub_stop(&stage, false);
    stage.told(&event);
    let event = of_sub(tool(&stage, EventKind::PreToolUse, "lion"), "a1", "reviewer");
    stage.told(&event);
    send(&mut stage, &person(), "NobleLion/reviewer-1", "too late");
    send(&mut stage, &person(), "NobleLion/reviewer-1,NobleLion", "for both");
    let event = sub_stop(&stage, true);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(wakes(&stage), 1);
    let event = stop(&stage, "lion", false);
    let told = stage.told(&event).verdict.block.unwrap();
    let expected = "You have 2 unread messages:
- From: User - \"too late\" [#1] (was for reviewer-1)
> the text
- From: User - \"for both\" [#2]
> the text
Use `substrate inbox` to read full messages, `substrate reply NUMBER --body \"…\"` to answer.";
    assert_eq!(told, expected);
    let (message, hint) = refused(
        &mut stage,
        &person(),
        "send",
        json!({"to": "NobleLion/reviewer-1", "subject": "s", "body": "b"}),
    );
    assert_eq!(message, "the subagent `NobleLion/reviewer-1` has ended");
    assert_eq!(hint, "write to its agent: `--to NobleLion`");
}

#[test]
fn mail_of_subagents_that_vanish_with_their_session_is_not_lost() {
    let mut stage = with_sub();
    send(&mut stage, &person(), "NobleLion/reviewer-1", "hello");
    let event = stage.event(EventKind::SessionEnd, "lion");
    stage.told(&event);
    let event = start(&stage, "lion", StartSource::Resume);
    let told = said(&stage.told(&event).verdict).unwrap();
    assert!(told.contains("\"hello\" [#1] (was for reviewer-1)"), "{told}");
}

#[test]
fn an_answer_to_a_subagent_that_has_ended_reaches_its_agent() {
    let mut stage = with_sub();
    send(&mut stage, &as_sub(), "User", "found something");
    let out = run(&mut stage, &person(), "reply", json!({"id": 1, "body": "go on"}));
    let expected = "Sent #2 to NobleLion/reviewer-1 (working: when its turn ends).\n";
    assert_eq!(out.text, expected, "a subagent that is there works, whatever its agent does");
    run(&mut stage, &as_sub(), "inbox", json!({}));
    let event = sub_stop(&stage, false);
    stage.told(&event);
    let out = run(&mut stage, &person(), "reply", json!({"id": 1, "body": "thanks"}));
    assert_eq!(
        out.json["to"][0],
        json!({"to": "NobleLion", "was_for": "reviewer-1", "reach": "idle: at its next prompt"})
    );
}
