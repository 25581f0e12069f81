//! Claims, receipts, and what happens when an answer gets lost.

use super::*;
use substrate_core::{Fate, Outcome, RequestId};

fn offered(stage: &mut Stage, event: &Event) -> Option<RequestId> {
    let outcome = stage.happen(event);
    said(&outcome.verdict).map(|_| outcome.request)
}

#[test]
fn of_two_verdicts_at_once_one_has_the_message() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let (first, second) = (stop(&stage, "otter", false), prompt(&stage, "otter"));
    assert!(offered(&mut stage, &first).is_some());
    assert!(offered(&mut stage, &second).is_none());
    assert_eq!(state(&mut stage, 1), "queued");
}

#[test]
fn an_unconfirmed_claim_runs_out_after_ten_seconds() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    offered(&mut stage, &event).unwrap();
    stage.pass(9_999);
    let event = stop(&stage, "otter", false);
    assert!(offered(&mut stage, &event).is_none());
    stage.pass(1);
    let event = stop(&stage, "otter", false);
    assert!(offered(&mut stage, &event).is_some());
}

#[test]
fn what_did_not_reach_the_client_is_free_at_once() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    let request = offered(&mut stage, &event).unwrap();
    stage.printed(request, false);
    assert_eq!(wakes(&stage), 1);
    assert!(offered(&mut stage, &event).is_some());
}

#[test]
fn a_late_receipt_still_finds_its_messages() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    let request = offered(&mut stage, &event).unwrap();
    stage.printed(request, false);
    stage.printed(request, true);
    assert_eq!(state(&mut stage, 1), "injected");
    assert!(
        offered(&mut stage, &event).is_some(),
        "a stop that is not another one proves the loss"
    );
}

#[test]
fn printed_and_followed_by_work_is_seen() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    let request = offered(&mut stage, &event).unwrap();
    assert_eq!(state(&mut stage, 1), "queued");
    stage.printed(request, true);
    assert_eq!(state(&mut stage, 1), "injected");
    stage.pass(SECOND);
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    assert_eq!(state(&mut stage, 1), "read");
    stage.pass(HOUR);
    let event = stop(&stage, "otter", false);
    assert!(offered(&mut stage, &event).is_none());
}

#[test]
fn a_prompt_that_overtakes_a_block_brings_the_message_itself() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    stage.told(&event);
    let event = prompt(&stage, "otter");
    assert!(said(&stage.told(&event).verdict).unwrap().contains("\"hello\" [#1]"));
}

#[test]
fn a_woken_turn_keeps_the_message_in_flight_until_it_works() {
    let mut stage = two();
    let event = stop(&stage, "otter", false);
    stage.told(&event);
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stage.event(EventKind::Waiter, "otter");
    assert!(stage.told(&event).verdict.block.is_some());
    let event = notification(&stage, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None);
    assert_eq!(state(&mut stage, 1), "injected");
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "read");
}

#[test]
fn a_stop_that_still_waits_proves_nothing_about_later_words() {
    let mut stage = two();
    let waiting = stop(&stage, "otter", false);
    stage.told(&waiting);
    stage.pass(MINUTE);
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = prompt(&stage, "otter");
    stage.told(&event);
    let again = Event { waiting_since: Some(waiting.at), at: stage.now, ..waiting };
    stage.told(&again);
    assert_eq!(state(&mut stage, 1), "injected");
}

#[test]
fn what_a_dead_session_may_have_seen_is_told_to_the_next() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = prompt(&stage, "otter");
    stage.told(&event);
    assert_eq!(state(&mut stage, 1), "injected");
    stage.pass(DAY);
    let event = Event {
        wanted_agent: Some("CalmOtter".to_owned()),
        ..start(&stage, "otter-2", StartSource::Startup)
    };
    assert!(said(&stage.told(&event).verdict).unwrap().contains("\"hello\" [#1]"));
    let event = tool(&stage, EventKind::PreToolUse, "otter-2");
    stage.told(&event);
    assert_eq!(state(&mut stage, 1), "read");
}

#[test]
fn what_is_in_flight_is_not_told_again_however_long_it_takes() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = stop(&stage, "otter", false);
    stage.told(&event);
    stage.pass(HOUR);
    let event = notification(&stage, "otter");
    assert_eq!(said(&stage.told(&event).verdict), None);
    assert_eq!(state(&mut stage, 1), "injected");
    let asked = run(&mut stage, &inside("otter"), "poll", json!({})).text;
    assert!(asked.contains("\"hello\" [#1]"), "who asks gets what was not read: {asked}");
    assert_eq!(state(&mut stage, 1), "read");
}

#[test]
fn an_answer_without_the_words_claims_nothing() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    // A client that honours one block in a row: the block is held back.
    let event = Event { block_cap: 1, ..stop(&stage, "otter", false) };
    assert_eq!(stage.told(&event).verdict.block, None);
    let event = prompt(&stage, "otter");
    assert!(said(&stage.told(&event).verdict).is_some());
}

#[test]
fn status_shows_every_step() {
    let mut stage = two();
    let long = json!({"body": "x".repeat(601)});
    send_with(&mut stage, &inside("lion"), "CalmOtter", "hello", &long);
    let event = prompt(&stage, "otter");
    stage.told(&event);
    stage.pass(SECOND);
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    stage.pass(SECOND);
    run(&mut stage, &inside("otter"), "read", json!({"id": "#1"}));
    stage.pass(SECOND);
    run(&mut stage, &inside("otter"), "ack", json!({"ids": [1]}));
    let out = run(&mut stage, &inside("lion"), "status", json!({"id": 1}));
    let one = &out.json["deliveries"][0];
    let begun = one["queued_ms"].as_i64().unwrap();
    let steps = ["injected_ms", "seen_ms", "read_ms", "acked_ms"];
    let times: Vec<i64> = steps.iter().map(|key| one[key].as_i64().unwrap() - begun).collect();
    assert_eq!(times, [0, 1_000, 2_000, 3_000]);
    assert_eq!((&one["channel"], &one["state"]), (&json!("UserPromptSubmit"), &json!("acked")));
    assert!(out.text.contains("CalmOtter: acked - queued "), "{}", out.text);
}

#[test]
fn a_waiter_looks_again_when_an_unprinted_claim_ends() {
    let mut stage = Stage::new("[persist]\nmode = \"wake\"\n");
    begin_as(&mut stage, "otter", "CalmOtter");
    stage.machine.processes.insert(7, 70);
    let waiter = |stage: &Stage| {
        let again = false;
        let detail =
            Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None };
        let event = stage.event(EventKind::Waiter, "otter");
        Event { client_pid: Some(7), attended: Some(true), detail, ..event }
    };
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = waiter(&stage);
    let lost = stage.happen(&event);
    assert!(lost.verdict.block.is_some(), "claimed, and never printed");
    let event = waiter(&stage);
    let parked = stage.happen(&event).verdict.wait.unwrap();
    let left = parked.until.since(stage.now);
    assert!((1..=10_001).contains(&left), "{left}");
    stage.pass(left);
    let event = waiter(&stage);
    assert!(stage.told(&event).verdict.block.is_some(), "it is told after all");
}

#[test]
fn what_can_not_be_noted_is_not_said() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let event = prompt(&stage, "otter");
    let outcome = stage.happen_reading(&event);
    assert!(outcome.verdict.is_silent(), "{:?}", outcome.verdict);
    assert!(stage.told(&event).verdict.context.unwrap().contains("hello"));
}

/// A row of that table can't be written.
fn forbid(stage: &mut Stage, what: &str, table: &str) {
    let sql = format!(
        "create trigger forbidden before {what} on {table} begin select raise(abort, 'no'); end"
    );
    stage.with(|cx| cx.db.execute(&sql, &[]).unwrap());
}

fn fates(outcome: &Outcome) -> Vec<Fate> {
    outcome.of("mail").map(|wished| wished.fate).collect()
}

#[test]
fn what_can_not_be_claimed_is_withdrawn() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    forbid(&mut stage, "update", "deliveries");
    let event = prompt(&stage, "otter");
    let outcome = stage.happen_failing(&event);
    assert_eq!(outcome.failures.len(), 1, "{:?}", outcome.failures);
    assert_eq!(fates(&outcome), [Fate::Withdrawn, Fate::Withdrawn]);
    assert!(outcome.verdict.is_silent(), "{:?}", outcome.verdict);
    stage.with(|cx| cx.db.execute("drop trigger forbidden", &[]).unwrap());
    let outcome = stage.told(&event);
    assert_eq!(fates(&outcome), [Fate::Whole, Fate::Whole]);
}

#[test]
fn a_block_that_can_not_be_counted_is_withdrawn_and_claims_nothing() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    forbid(&mut stage, "insert", "stop_cycle");
    let event = stop(&stage, "otter", true);
    let outcome = stage.happen_failing(&event);
    assert_eq!(fates(&outcome), [Fate::Withdrawn, Fate::Withdrawn]);
    assert_eq!(outcome.verdict.block, None);
    let event = prompt(&stage, "otter");
    assert!(said(&stage.told(&event).verdict).is_some());
}

#[test]
fn of_a_list_that_was_cut_only_the_lines_that_fit_are_told() {
    let mut stage = two();
    for n in 0..9 {
        let subject = format!("n{n} {}", "long ".repeat(18));
        send(&mut stage, &person(), "CalmOtter", &subject);
    }
    let long = "x".repeat(8_000);
    stage.set(&format!(
        "[persist]\nmode = \"off\"\n[probe]\nrules = [\"UserPromptSubmit context: {long}\"]\n"
    ));
    let event = prompt(&stage, "otter");
    let first = said(&stage.told(&event).verdict).unwrap();
    assert!(first.contains("… (cut; `substrate inbox` shows all of it)"), "{first}");
    stage.set("[persist]\nmode = \"off\"\n");
    let event = tool(&stage, EventKind::PreToolUse, "otter");
    stage.told(&event);
    let event = prompt(&stage, "otter");
    let second = said(&stage.told(&event).verdict).unwrap();
    let n_first = (0..9).filter(|n| first.contains(&format!("[#{}]", n + 1))).count();
    assert!((1..9).contains(&n_first), "{first}");
    for id in 1..=9 {
        let whole = |said: &str| {
            let after = said.split(&format!("[#{id}]")).nth(1);
            after.is_some_and(|after| after.starts_with("\n> the text\n"))
        };
        assert!(whole(&first) != whole(&second) || id == n_first, "each is told once: {id}");
    }
    let cut = format!("[#{n_first}]");
    assert!(first.contains(&cut), "it may have been cut in its body: {first}");
}

/// Calls of one message run one after the other, and the model has not been asked in between.
#[test]
fn what_went_with_a_tools_result_is_not_seen_by_the_next_call() {
    let mut stage = two();
    send_with(&mut stage, &person(), "CalmOtter", "now", &json!({"priority": "urgent"}));
    let event = tool(&stage, EventKind::PostToolUse, "otter");
    assert!(said(&stage.told(&event).verdict).is_some());
    for kind in [EventKind::PreToolUse, EventKind::PermissionRequest, EventKind::PostToolUse] {
        let event = tool(&stage, kind, "otter");
        assert_eq!(said(&stage.told(&event).verdict), None, "nor is it told again");
        assert_eq!(state(&mut stage, 1), "injected");
    }
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "read");
}

#[test]
fn what_went_with_a_tools_result_is_told_again_to_a_session_that_broke_off() {
    let mut stage = two();
    send_with(&mut stage, &person(), "CalmOtter", "now", &json!({"priority": "urgent"}));
    for kind in [EventKind::PostToolUse, EventKind::PreToolUse, EventKind::SessionEnd] {
        let event = tool(&stage, kind, "otter");
        stage.told(&event);
    }
    let event = start(&stage, "otter", StartSource::Resume);
    assert!(said(&stage.told(&event).verdict).unwrap().contains("\"now\" [#1]"));
}

#[test]
fn mail_that_came_while_a_turn_ran_reaches_the_waiter_when_a_person_interrupts_it() {
    let mut stage = two();
    let event = prompt(&stage, "otter");
    stage.told(&event);
    send(&mut stage, &person(), "CalmOtter", "hello");
    let waiter = stage.event(EventKind::Waiter, "otter");
    assert!(stage.told(&waiter).verdict.block.is_none(), "it works");
    stage.pass(SECOND);
    let idle = substrate_core::Activity::Idle { in_background: false };
    let event = stage.shows("otter", idle, SECOND / 2);
    assert!(stage.is_news(&event));
    stage.told(&event);
    assert!(!stage.effects.is_empty(), "its waiter is woken");
    let waiter = stage.event(EventKind::Waiter, "otter");
    assert!(stage.told(&waiter).verdict.block.is_some());
    assert_eq!(state(&mut stage, 1), "injected");
}

/// The cut may come between the line of a message and the end of its body: then it was only announced.
#[test]
fn a_body_that_was_cut_is_not_read() {
    let mut stage = two();
    send_with(&mut stage, &person(), "CalmOtter", "hello", &json!({"body": "y".repeat(500)}));
    let long = "x".repeat(8_500);
    stage.set(&format!(
        "[persist]\nmode = \"off\"\n[probe]\nrules = [\"UserPromptSubmit context: {long}\"]\n"
    ));
    let event = prompt(&stage, "otter");
    let first = said(&stage.told(&event).verdict).unwrap();
    assert!(first.contains("\"hello\" [#1]") && first.contains("… (cut;"), "{first}");
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(state(&mut stage, 1), "seen");
    stage.set("[persist]\nmode = \"off\"\n");
    let event = prompt(&stage, "otter");
    let second = said(&stage.told(&event).verdict).unwrap();
    assert!(second.contains("\"hello\" [#1] (500 characters: `substrate read 1`)"), "{second}");
}
