//! Deadlines, snoozes, old trash.

use super::*;
use substrate_core::Timestamp;

fn tick(stage: &mut Stage) -> bool {
    stage.with(|cx| super::super::tick::tick(cx).unwrap())
}

#[test]
fn a_missed_deadline_is_told_to_the_sender_once() {
    let mut stage = two();
    let more = json!({"deadline": "1h"});
    send_with(&mut stage, &inside("lion"), "CalmOtter,User", "review \"this\"", &more);
    run(&mut stage, &person(), "ack", json!({"ids": [1]}));
    stage.pass(HOUR - 1);
    tick(&mut stage);
    assert_eq!(wakes(&stage), 0);
    stage.pass(1);
    tick(&mut stage);
    assert_eq!(wakes(&stage), 1);
    let out = run(&mut stage, &inside("lion"), "inbox", json!({}));
    let one = &out.json["messages"][0];
    assert_eq!(one["from"], "Substrate");
    assert_eq!(one["subject"], "No ack from CalmOtter: \"review 'this'\"");
    let body = one["body"].as_str().unwrap();
    assert!(
        body.contains(
            "#1 \"review 'this'\" had to be acknowledged by CalmOtter until 2027-01-15 09:00:00 UTC"
        ),
        "{body}"
    );
    assert!(body.contains("So far: queued 2027-01-15 08:00:00"), "{body}");
    assert_eq!(one["thread"], 1);
    stage.pass(DAY);
    tick(&mut stage);
    assert_eq!(run(&mut stage, &inside("lion"), "inbox", json!({})).text, "No unread messages.\n");
    let out = run(&mut stage, &inside("lion"), "status", json!({"id": 1}));
    assert!(out.text.contains("CalmOtter: queued, overdue - "), "{}", out.text);
}

#[test]
fn a_snoozed_message_comes_back_as_a_new_one() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "later");
    run(&mut stage, &inside("otter"), "inbox", json!({}));
    let out = run(&mut stage, &inside("otter"), "snooze", json!({"id": 1, "until": "2h"}));
    assert_eq!(out.text, "Back at 2027-01-15 10:00:00: #1.\n");
    let agent =
        stage.with(|cx| crate::identity::book::agent(cx.db, "CalmOtter").unwrap().unwrap().0);
    let due = stage.with(|cx| super::super::face::next_due(cx.db, agent, cx.now).unwrap());
    assert_eq!(due, Some(stage.now.plus_ms(2 * HOUR)));
    let wait = run(&mut stage, &inside("otter"), "poll", json!({"wait": "9h"})).wait.unwrap();
    assert_eq!(Some(Timestamp(wait.until_ms)), due, "who waits looks again then");
    stage.pass(2 * HOUR - 1);
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    assert_eq!(run(&mut stage, &inside("otter"), "inbox", json!({})).text, "No unread messages.\n");
    stage.pass(1);
    let event = stop(&stage, "otter", false);
    assert!(stage.told(&event).verdict.block.unwrap().contains("\"later\" [#1]"));
}

#[test]
fn a_snooze_that_ends_wakes_its_agent() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "later");
    run(&mut stage, &inside("otter"), "snooze", json!({"id": 1, "until": "10m"}));
    tick(&mut stage);
    assert_eq!(wakes(&stage), 0);
    stage.pass(10 * MINUTE);
    tick(&mut stage);
    assert_eq!(wakes(&stage), 1);
    tick(&mut stage);
    assert_eq!(wakes(&stage), 0);
}

#[test]
fn old_trash_is_removed_in_steps_and_no_number_is_given_twice() {
    let mut stage = two();
    for n in 0..150 {
        send(&mut stage, &inside("lion"), "CalmOtter", &format!("apple {n}"));
    }
    let ids: Vec<i64> = (1..=150).collect();
    run(&mut stage, &inside("otter"), "trash", json!({"ids": ids}));
    stage.pass(30 * DAY);
    assert!(!tick(&mut stage));
    stage.pass(1);
    assert!(tick(&mut stage), "a hundred, and more to do");
    assert!(!tick(&mut stage));
    let count = |stage: &mut Stage, sql: &str| {
        stage.with(|cx| cx.db.first(sql, &[], |row| row.int(0)).unwrap().unwrap())
    };
    assert_eq!(count(&mut stage, "select count(*) from deliveries"), 0);
    assert_eq!(count(&mut stage, "select max(id) from messages"), 150);
    assert_eq!(
        count(&mut stage, "select count(*) from mail_search where mail_search match 'apple'"),
        1
    );
    assert_eq!(send(&mut stage, &inside("lion"), "CalmOtter", "next"), 151);
}

/// An import may be repeated long after its messages were thrown away.
#[test]
fn a_key_sends_one_message_ever() {
    let mut stage = two();
    let body = json!({"to": "CalmOtter", "subject": "s", "body": "b", "idempotency_key": "k"});
    assert_eq!(run(&mut stage, &inside("lion"), "send", body.clone()).json["id"], 1);
    send(&mut stage, &inside("lion"), "CalmOtter", "the newest message is kept");
    run(&mut stage, &inside("otter"), "trash", json!({"ids": [1]}));
    stage.pass(30 * DAY + 1);
    tick(&mut stage);
    let n = stage.with(|cx| {
        cx.db.first("select count(*) from messages", &[], |row| row.int(0)).unwrap().unwrap()
    });
    assert_eq!(n, 1, "it is deleted");
    let again = run(&mut stage, &inside("lion"), "send", body);
    assert_eq!((&again.json["id"], &again.json["repeated"]), (&json!(1), &json!(true)));
}
