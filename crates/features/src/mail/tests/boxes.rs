//! Reading, marking, finding, polling.

use super::*;

#[test]
fn the_inbox_shows_bodies_and_marks_them_read() {
    let mut stage = two();
    send(&mut stage, &inside("lion"), "CalmOtter", "first");
    send_with(
        &mut stage,
        &person(),
        "CalmOtter",
        "second",
        &json!({"priority": "urgent", "body": "a\nb"}),
    );
    stage.pass(5 * MINUTE);
    let out = run(&mut stage, &inside("otter"), "inbox", json!({}));
    let expected = "2 unread messages.

#2 from User (urgent), 5m ago: \"second\"
> a
> b

#1 from NobleLion, 5m ago: \"first\"
> the text
";
    assert_eq!(out.text, expected);
    assert_eq!(out.json["messages"][0]["body"], "a\nb");
    let out = run(&mut stage, &inside("otter"), "inbox", json!({}));
    assert_eq!(out.text, "No unread messages.\n");
    assert_eq!(state(&mut stage, 2), "read");
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    let out = run(&mut stage, &inside("otter"), "inbox", json!({"all": true}));
    assert_eq!(
        out.text,
        "#2 from User (urgent), 5m ago: \"second\"  [read]\n#1 from NobleLion, 5m ago: \"first\"  [read]\n"
    );
}

#[test]
fn a_long_body_is_read_in_parts() {
    let mut stage = two();
    let body = "é".repeat(20_000);
    send_with(&mut stage, &person(), "CalmOtter", "long", &json!({"body": body}));
    let out = run(&mut stage, &inside("otter"), "inbox", json!({}));
    assert!(out.text.ends_with("(18000 more characters: `substrate read 1 --from 2000`)\n"));
    assert_eq!(state(&mut stage, 1), "read", "and how to read on");
    let out = run(&mut stage, &inside("otter"), "read", json!({"id": 1}));
    assert!(out.text.ends_with("(4000 more characters: `substrate read 1 --from 16000`)\n"));
    assert_eq!(out.json["next_char"], 16_000);
    let out = run(&mut stage, &inside("otter"), "read", json!({"id": 1, "from": 16_000}));
    assert!(out.text.ends_with(&format!("> {}\n", "é".repeat(4_000))));
    assert_eq!(out.json["next_char"], Value::Null);
    let out = run(&mut stage, &inside("otter"), "read", json!({"id": 1, "from": 99_999_999}));
    assert_eq!(out.json["body"], "");
}

#[test]
fn a_message_has_a_header() {
    let mut stage = two();
    let more = json!({"priority": "urgent", "deadline": "2h"});
    send_with(&mut stage, &person(), "CalmOtter,NobleLion", "hello", &more);
    let out = run(&mut stage, &inside("otter"), "read", json!({"id": 1}));
    let expected = "#1 \"hello\"
From: User
To: NobleLion, CalmOtter
Sent: 2027-01-15 08:00:00
Priority: urgent
Deadline: 2027-01-15 10:00:00

> the text
";
    assert_eq!(out.text, expected);
}

#[test]
fn others_mail_is_not_even_there() {
    let mut stage = two();
    begin_as(&mut stage, "fox", "RedFox");
    send(&mut stage, &person(), "CalmOtter", "secret");
    let verbs = ["read", "thread", "status", "star"];
    for verb in verbs {
        let (mine, _) = refused(&mut stage, &inside("fox"), verb, json!({"id": 1}));
        assert_eq!(mine, "there is no message #1 in your mailbox", "{verb}");
    }
    for verb in ["ack", "archive", "trash"] {
        let (mine, _) = refused(&mut stage, &inside("fox"), verb, json!({"ids": [1]}));
        assert_eq!(mine, "there is no message #1 in your mailbox", "{verb}");
    }
    let (reply, _) = refused(&mut stage, &inside("fox"), "reply", json!({"id": 1, "body": "b"}));
    assert_eq!(reply, "there is no message #1 in your mailbox");
}

#[test]
fn marks_are_all_or_nothing() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "one");
    refused(&mut stage, &inside("otter"), "ack", json!({"ids": [1, 2]}));
    assert_eq!(state(&mut stage, 1), "queued");
    run(&mut stage, &inside("otter"), "star", json!({"id": 1}));
    let out = run(&mut stage, &inside("otter"), "inbox", json!({"all": true}));
    assert_eq!(out.json["messages"][0]["starred"], true);
    run(&mut stage, &inside("otter"), "star", json!({"id": 1, "off": true}));
    let out = run(&mut stage, &inside("otter"), "inbox", json!({"all": true}));
    assert_eq!(out.json["messages"][0]["starred"], false);
}

#[test]
fn what_is_put_away_or_thrown_away_is_not_told() {
    let mut stage = two();
    for subject in ["kept apple", "trashed apple"] {
        send(&mut stage, &inside("lion"), "CalmOtter", subject);
    }
    run(&mut stage, &inside("otter"), "archive", json!({"ids": [1]}));
    run(&mut stage, &inside("otter"), "trash", json!({"ids": [2]}));
    let event = stop(&stage, "otter", false);
    assert_eq!(stage.told(&event).verdict.block, None);
    let found = |stage: &mut Stage, all: bool| {
        let out = run(stage, &inside("otter"), "search", json!({"words": ["apple"], "all": all}));
        out.json["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&mut stage, false), [1]);
    assert_eq!(found(&mut stage, true), [2, 1]);
    let out = run(&mut stage, &inside("otter"), "inbox", json!({"all": true}));
    assert!(
        out.text.contains("#1 ") && out.text.contains("(archived)") && !out.text.contains("#2 "),
        "{}",
        out.text
    );
    run(&mut stage, &inside("otter"), "archive", json!({"ids": [2]}));
    assert_eq!(found(&mut stage, false), [2, 1]);
}

#[test]
fn a_search_finds_only_ones_own_mail() {
    let mut stage = two();
    begin_as(&mut stage, "fox", "RedFox");
    send(&mut stage, &person(), "CalmOtter", "the Grüße of March");
    send_with(
        &mut stage,
        &inside("lion"),
        "RedFox",
        "other",
        &json!({"body": "deep inside: march hare"}),
    );
    let found = |stage: &mut Stage, who: &Caller, words: &str| {
        run(stage, who, "search", json!({"words": [words]})).json["messages"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(found(&mut stage, &inside("otter"), "march"), 1);
    assert_eq!(found(&mut stage, &inside("otter"), "hare"), 0);
    assert_eq!(found(&mut stage, &inside("fox"), "deep hare"), 1);
    assert_eq!(found(&mut stage, &inside("lion"), "mar*"), 1);
    assert_eq!(found(&mut stage, &person(), "grusse"), 0);
    assert_eq!(found(&mut stage, &person(), "grüße"), 1);
    for hostile in [
        "march OR hare",
        "\" OR who:a1 OR \"",
        "who : a1",
        "NEAR(a b)",
        "march) OR (hare",
        "^deep",
        "{who}:a1",
        "a2",
        "-x",
    ] {
        assert_eq!(found(&mut stage, &inside("otter"), hostile), 0, "{hostile}");
    }
    let (message, _) = refused(&mut stage, &person(), "search", json!({"words": ["()*"]}));
    assert_eq!(message, "there is no word to look for");
}

#[test]
fn a_poll_shows_what_is_new_once() {
    let mut stage = two();
    let out = run(&mut stage, &inside("otter"), "poll", json!({}));
    assert_eq!(
        (out.text.as_str(), out.hook, out.wait),
        ("No new messages.\n", Some(Value::Null), None)
    );
    assert_eq!(run(&mut stage, &inside("otter"), "poll", json!({"quiet": true})).text, "");
    send(&mut stage, &person(), "CalmOtter", "hello");
    let out = run(&mut stage, &inside("otter"), "poll", json!({"wait": "30s"}));
    let how = "Use `substrate read 1` to see it again, `substrate reply 1 --body \"…\"` to answer.";
    let list = "You have 1 unread message:\n- From: User - \"hello\" [#1]\n> the text\n";
    assert_eq!(out.text, format!("📬 {list}\n{how}\n"));
    let reason = format!("{list}{how}");
    assert_eq!(out.hook, Some(json!({"decision": "block", "reason": reason})));
    assert_eq!(state(&mut stage, 1), "read");
    assert_eq!(run(&mut stage, &inside("otter"), "poll", json!({})).text, "No new messages.\n");
}

/// What was only announced stays in the inbox, but it neither blocks a stop nor ends a wait for new mail.
#[test]
fn a_poll_shows_what_was_not_read_and_waits_for_what_is_new() {
    let mut stage = two();
    send_long(&mut stage, "CalmOtter", "a long story");
    for event in [stop(&stage, "otter", false), stop(&stage, "otter", true)] {
        stage.told(&event);
    }
    let out = run(&mut stage, &inside("otter"), "poll", json!({}));
    let told = "[#1] (601 characters: `substrate read 1`)";
    assert!(out.text.contains(told) && out.hook == Some(Value::Null), "{}", out.text);
    assert_eq!(state(&mut stage, 1), "seen", "it was not read here either");
    let wait = run(&mut stage, &inside("otter"), "poll", json!({"wait": "30s"})).wait.unwrap();
    stage.pass(30 * SECOND);
    let out = run(&mut stage, &inside("otter"), "poll", wait.body);
    assert!(out.wait.is_none() && out.text.contains(told), "{}", out.text);
}

#[test]
fn a_watch_ends_at_once_where_something_is_unread() {
    let mut stage = two();
    send_long(&mut stage, "CalmOtter", "a long story");
    for event in [stop(&stage, "otter", false), stop(&stage, "otter", true)] {
        stage.told(&event);
    }
    let out = run(&mut stage, &inside("otter"), "watch", json!({}));
    assert!(out.wait.is_none() && out.text.contains("a long story"), "{}", out.text);
    run(&mut stage, &inside("otter"), "read", json!({"id": 1}));
    assert!(run(&mut stage, &inside("otter"), "watch", json!({})).wait.is_some());
}

#[test]
fn a_poll_waits_until_its_time_is_up() {
    let mut stage = two();
    let out = run(&mut stage, &inside("otter"), "poll", json!({"wait": "30s", "quiet": true}));
    let wait = out.wait.unwrap();
    assert_eq!(wait.until_ms, stage.now.0 + 30 * SECOND);
    stage.pass(20 * SECOND);
    let again = run(&mut stage, &inside("otter"), "poll", wait.body).wait.unwrap();
    assert_eq!(again.until_ms, wait.until_ms, "the end does not move");
    stage.pass(10 * SECOND);
    let out = run(&mut stage, &inside("otter"), "poll", again.body);
    assert_eq!((out.wait, out.text.as_str()), (None, ""));
    let (message, _) = refused(&mut stage, &inside("otter"), "poll", json!({"wait": "long"}));
    assert_eq!(message, "`long` is not a duration");
}

#[test]
fn what_a_dead_poll_showed_is_shown_again() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "hello");
    let out = run_unprinted(&mut stage, &inside("otter"), "poll", json!({}));
    assert!(out.text.contains("\"hello\" [#1]"), "{}", out.text);
    assert_eq!(state(&mut stage, 1), "queued");
    let again = run_unprinted(&mut stage, &inside("otter"), "poll", json!({"wait": "1m"}));
    let wait = again.wait.unwrap();
    assert_eq!(wait.until_ms, stage.now.0 + 10 * SECOND, "until the claim runs out");
    stage.pass(10 * SECOND);
    let event = stop(&stage, "otter", false);
    assert!(stage.told(&event).verdict.block.is_some());
}

#[test]
fn a_watch_ends_with_the_first_mail_or_silently() {
    let mut stage = two();
    let wait = run(&mut stage, &inside("otter"), "watch", json!({})).wait.unwrap();
    assert_eq!(wait.until_ms, stage.now.0 + DAY);
    send(&mut stage, &person(), "CalmOtter", "hello");
    let out = run(&mut stage, &inside("otter"), "watch", wait.body);
    assert!(out.text.contains("\"hello\" [#1]") && out.wait.is_none());
    let wait = run(&mut stage, &inside("otter"), "watch", json!({"timeout": "1h"})).wait.unwrap();
    stage.pass(HOUR);
    let out = run(&mut stage, &inside("otter"), "watch", wait.body);
    assert_eq!((out.text.as_str(), out.wait), ("", None));
}

#[test]
fn status_alone_shows_the_mailbox_and_what_was_sent() {
    let mut stage = two();
    send(&mut stage, &person(), "CalmOtter", "in");
    send(&mut stage, &inside("otter"), "User,NobleLion", "out");
    run(&mut stage, &inside("lion"), "ack", json!({"ids": [2]}));
    let out = run(&mut stage, &inside("otter"), "status", json!({}));
    assert_eq!(
        out.text,
        "CalmOtter: 1 unread message.\n#2 CalmOtter to User, NobleLion, 0s ago: \"out\"  [queued]\n"
    );
    run(&mut stage, &person(), "inbox", json!({}));
    let out = run(&mut stage, &inside("otter"), "status", json!({}));
    assert_eq!(out.json["sent"][0]["state"], "read", "the least of all recipients");
}
