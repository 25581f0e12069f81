//! Sending: errors leave nothing, keys count once, replies stay in their thread.

use super::*;
use rstest::rstest;

fn n_messages(stage: &mut Stage) -> i64 {
    stage.with(|cx| {
        cx.db.first("select count(*) from messages", &[], |row| row.int(0)).unwrap().unwrap()
    })
}

#[test]
fn a_sender_learns_when_each_recipient_will_know() {
    let mut stage = two();
    stage.machine.waiting.insert("lion".to_owned());
    stage.told(&stop(&stage, "otter", false));
    let body = json!({"to": ["NobleLion", "calmotter", "User"], "subject": "s", "body": "b"});
    let out = run(&mut stage, &person(), "send", body);
    assert_eq!(
        out.text,
        "Sent #1 to NobleLion (waiting: it is told now), CalmOtter (idle: at its next prompt), \
         User (reads with `substrate inbox`).\n"
    );
    assert_eq!(wakes(&stage), 3);
    stage.told(&prompt(&stage, "otter"));
    let body = json!({"to": "CalmOtter", "subject": "s", "body": "b"});
    let out = run(&mut stage, &person(), "send", body.clone());
    assert_eq!(out.text, "Sent #2 to CalmOtter (working: when its turn ends).\n");
    stage.pass(HOUR);
    let out = run(&mut stage, &person(), "send", body);
    assert_eq!(out.text, "Sent #3 to CalmOtter (offline: at its next start).\n");
}

#[rstest]
#[case::unknown(json!({"to": "CalmOtter,NobelLion"}), "no agent is called `NobelLion`", "did you mean `NobleLion`?")]
#[case::hostile_name(json!({"to": "x`\n# y"}), "no agent is called `x' # y`", "`substrate agent list --all` shows who is there")]
#[case::no_one(json!({"to": " , "}), "no recipient is named", "write `--to NobleLion`, or several: `--to A,B`")]
#[case::substrate(json!({"to": "Substrate"}), "Substrate itself reads no mail", "`substrate agent list` shows who does")]
#[case::no_subject(json!({"to": "CalmOtter", "subject": " \n\u{202e} "}), "the subject is empty", "say in a few words what it is about")]
#[case::long_subject(json!({"to": "CalmOtter", "subject": "x".repeat(201)}), "the subject has more than 200 characters", "put the rest into the body")]
#[case::no_body(json!({"to": "CalmOtter", "body": null}), "there is no text", "add `--body TEXT` or `--body-file FILE`")]
#[case::big_body(json!({"to": "CalmOtter", "body": "x".repeat((1 << 20) + 1)}), "the body is longer than 1 MB", "send the path of a file instead")]
#[case::past(json!({"to": "CalmOtter", "deadline": "2001-01-01T00:00:00Z"}), "`2001-01-01T00:00:00Z` has passed", "name a time in the future")]
#[case::no_time(json!({"to": "CalmOtter", "deadline": "soon"}), "`soon` is not a time", "write it like `30m`, `2h` or `2030-01-31T18:00:00Z`")]
#[case::no_thread(json!({"to": "CalmOtter", "thread": 9}), "there is no message #9 in your mailbox", "`substrate inbox --all` lists what is there")]
fn a_mistake_sends_nothing(#[case] part: Value, #[case] message: &str, #[case] hint: &str) {
    let mut stage = two();
    let mut body = json!({"to": "", "subject": "s", "body": "b"});
    for (key, value) in part.as_object().unwrap() {
        body[key] = value.clone();
    }
    assert_eq!(refused(&mut stage, &person(), "send", body), (message.to_owned(), hint.to_owned()));
    assert_eq!(n_messages(&mut stage), 0);
}

#[test]
fn there_are_64_recipients_at_the_most() {
    let mut stage = two();
    for n in 0..65 {
        begin_as(&mut stage, &format!("s{n}"), &format!("Agent{n}"));
    }
    let names = |n: i32| (0..n).map(|n| format!("Agent{n}")).collect::<Vec<_>>();
    let body = |n| json!({"to": names(n), "subject": "s", "body": "b"});
    let (message, _) = refused(&mut stage, &person(), "send", body(65));
    assert_eq!(message, "a message goes to 64 recipients at most");
    let out = run(&mut stage, &person(), "send", body(64));
    assert_eq!(out.json["to"].as_array().unwrap().len(), 64);
    assert!(out.text.ends_with(" and 56 more.\n"), "{}", out.text);
}

#[test]
fn an_unknown_sender_sends_nothing() {
    let mut stage = two();
    let stranger = Caller { inside_client: true, ..Caller::default() };
    let body = json!({"to": "User", "subject": "s", "body": "b"});
    let (message, hint) = refused(&mut stage, &stranger, "send", body);
    assert_eq!(message, "can't tell which agent you are");
    assert!(hint.contains("`--agent NAME`"));
}

#[test]
fn one_can_write_to_oneself_and_a_name_counts_once() {
    let mut stage = two();
    let out = run(
        &mut stage,
        &inside("lion"),
        "send",
        json!({"to": "NobleLion,noblelion", "subject": "note", "body": "b"}),
    );
    assert_eq!(out.json["to"].as_array().unwrap().len(), 1);
    let event = stop(&stage, "lion", false);
    assert!(stage.told(&event).verdict.block.unwrap().contains("- From: NobleLion - \"note\""));
}

#[test]
fn the_same_key_or_request_is_the_same_message() {
    let mut stage = two();
    let body = json!({"to": "CalmOtter", "subject": "s", "body": "b", "idempotency_key": "k"});
    assert_eq!(run(&mut stage, &person(), "send", body.clone()).json["id"], 1);
    let again = run(&mut stage, &person(), "send", body.clone());
    assert_eq!((&again.json["id"], &again.json["repeated"]), (&json!(1), &json!(true)));
    assert_eq!(again.text, "Already sent as #1.\n");
    assert_eq!(
        run(&mut stage, &inside("lion"), "send", body).json["id"],
        2,
        "keys are the sender's own"
    );
    let caller = Caller { request: "r1".to_owned(), ..person() };
    let body = json!({"to": "CalmOtter", "subject": "s", "body": "b"});
    for _ in 0..2 {
        assert_eq!(run(&mut stage, &caller, "send", body.clone()).json["id"], 3);
    }
    let other = Caller { request: "r2".to_owned(), ..person() };
    assert_eq!(run(&mut stage, &other, "send", body.clone()).json["id"], 4);
    for _ in 0..2 {
        run(&mut stage, &person(), "send", body.clone());
    }
    assert_eq!(n_messages(&mut stage), 6);
}

#[test]
fn a_newer_word_replaces_what_was_not_read() {
    let mut stage = two();
    let key = json!({"replace_key": "build"});
    send_with(&mut stage, &person(), "CalmOtter", "build 1", &key);
    send_with(&mut stage, &inside("lion"), "CalmOtter", "the lion's own", &key);
    send_with(&mut stage, &person(), "CalmOtter", "build 2", &key);
    let event = stop(&stage, "otter", false);
    let told = stage.told(&event).verdict.block.unwrap();
    assert!(!told.contains("build 1") && told.contains("build 2"), "{told}");
    assert!(told.contains("the lion's own"), "{told}");
    assert_eq!(state(&mut stage, 1), "replaced");
    run(&mut stage, &inside("otter"), "inbox", json!({}));
    send_with(&mut stage, &person(), "CalmOtter", "build 3", &key);
    assert_eq!(state(&mut stage, 3), "read", "what was read stays");
}

#[test]
fn many_lines_are_many_messages_and_each_has_its_answer() {
    let mut stage = two();
    let lines = json!({"lines": [
        {"to": "CalmOtter", "subject": "one", "body": "b"},
        {"to": "NoSuchAgent", "subject": "two", "body": "b"},
        {"to": ["CalmOtter", "NobleLion"], "subject": "three", "body": "b", "priority": "urgent"},
        {"to": "CalmOtter", "sujbect": "typo", "body": "b"},
        "no json",
        {"to": "CalmOtter,NoSuchAgent", "subject": "half", "body": "b"},
    ]});
    let caller = Caller { request: "r".to_owned(), ..person() };
    let out = run(&mut stage, &caller, "send", lines.clone());
    let ok: Vec<bool> = out.json.as_array().unwrap().iter().map(|one| one["ok"] == true).collect();
    assert_eq!(ok, [true, false, true, false, false, false]);
    assert_eq!(out.json[1]["error"], "no agent is called `NoSuchAgent`");
    assert_eq!(out.text, "2 of 6 sent.\n");
    assert_eq!(wakes(&stage), 2);
    let again = run(&mut stage, &caller, "send", lines);
    assert_eq!(again.json[2]["id"], out.json[2]["id"]);
    assert_eq!(n_messages(&mut stage), 2);
}

#[test]
fn the_jsonl_flag_names_the_input() {
    use super::super::verbs::send::Send;
    use substrate_core::verb::VerbArgs as _;
    assert_eq!(Send::streams(&json!({"jsonl": "-"})), Some("-".to_owned()));
    assert_eq!(Send::streams(&json!({"to": ["A"], "jsonl": null})), None);
}

#[test]
fn a_reply_stays_in_the_thread() {
    let mut stage = two();
    let first = send(&mut stage, &person(), "NobleLion,CalmOtter", "question");
    let reply = json!({"id": "#1", "body": "answer"});
    let out = run(&mut stage, &inside("lion"), "reply", reply);
    assert_eq!(out.json["to"][0]["to"], "User");
    assert_eq!(out.json["to"].as_array().unwrap().len(), 1);
    let out =
        run(&mut stage, &inside("lion"), "reply", json!({"id": 1, "body": "all", "all": true}));
    assert_eq!(out.json["to"].as_array().unwrap().len(), 2);
    let out = run(&mut stage, &person(), "reply", json!({"id": 2, "body": "thanks"}));
    let read = run(&mut stage, &inside("lion"), "read", json!({"id": out.json["id"]}));
    assert_eq!(read.json["subject"], "Re: question");
    assert_eq!((&read.json["thread"], &read.json["reply_to"]), (&json!(first), &json!(2)));
    let thread = run(&mut stage, &person(), "thread", json!({"id": 4}));
    assert_eq!(thread.json["messages"].as_array().unwrap().len(), 4);
    let seen = run(&mut stage, &inside("otter"), "thread", json!({"id": 1}));
    assert_eq!(seen.json["messages"].as_array().unwrap().len(), 2, "only what concerns it");
    assert!(
        seen.text.contains("#1 User to NobleLion, CalmOtter, 0s ago: \"question\"\n> the text\n")
    );
}
