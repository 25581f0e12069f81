//! Topics and broadcasts.

use super::*;

#[test]
fn what_is_published_reaches_the_others_who_follow() {
    let mut stage = two();
    run(&mut stage, &person(), "topic create", json!({"name": "Builds", "about": "what broke"}));
    let content = json!({"topic": "builds", "subject": "red", "body": "b"});
    let out = run(&mut stage, &person(), "publish", content.clone());
    assert_eq!(out.text, "No other agent follows `builds`, so nothing was sent.\n");
    for session in ["lion", "otter"] {
        run(&mut stage, &inside(session), "subscribe", json!({"topic": "BUILDS"}));
    }
    let out = run(&mut stage, &inside("lion"), "publish", content.clone());
    assert_eq!((&out.json["n"], &out.json["to"][0]["to"]), (&json!(1), &json!("CalmOtter")));
    let event = stop(&stage, "otter", false);
    assert!(stage.told(&event).verdict.block.unwrap().contains("- From: NobleLion - \"red\""));
    let list = run(&mut stage, &person(), "topic list", json!({}));
    assert_eq!(
        (&list.json[0]["n_subscribers"], &list.json[0]["made_by"]),
        (&json!(2), &json!("User"))
    );
    run(&mut stage, &inside("otter"), "unsubscribe", json!({"topic": "builds"}));
    let out = run(&mut stage, &inside("lion"), "publish", content);
    assert_eq!(out.json["n"], 0);
}

#[test]
fn topics_have_plain_names_and_are_opened_once() {
    let mut stage = two();
    for name in ["", "a b", "x\n# y", "../x", &"x".repeat(65)] {
        let (message, _) = refused(&mut stage, &person(), "topic create", json!({"name": name}));
        assert!(
            message.ends_with("can't be the name of a topic") && !message.contains('\n'),
            "{message}"
        );
    }
    run(&mut stage, &person(), "topic create", json!({"name": "a"}));
    let (message, hint) = refused(&mut stage, &person(), "topic create", json!({"name": "A"}));
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("there is a topic `a` already", "`substrate mail subscribe a` follows it")
    );
    let (message, _) = refused(&mut stage, &person(), "subscribe", json!({"topic": "b"}));
    assert_eq!(message, "there is no topic `b`");
}

#[test]
fn a_subagent_that_has_ended_follows_nothing() {
    let mut stage = two();
    run(&mut stage, &person(), "topic create", json!({"name": "t"}));
    let event = of_sub(tool(&stage, EventKind::PreToolUse, "lion"), "a1", "reviewer");
    stage.told(&event);
    let sub = Caller { agent: Some("NobleLion/reviewer-1".to_owned()), ..inside("lion") };
    run(&mut stage, &sub, "subscribe", json!({"topic": "t"}));
    let event = of_sub(stop(&stage, "lion", false), "a1", "reviewer");
    stage.told(&event);
    let out =
        run(&mut stage, &person(), "publish", json!({"topic": "t", "subject": "s", "body": "b"}));
    assert_eq!(out.json["n"], 0);
}

#[test]
fn a_broadcast_reaches_who_is_there_in_the_project() {
    let mut stage = two();
    let event = Event {
        project: "/elsewhere".to_owned(),
        wanted_agent: Some("RedFox".to_owned()),
        ..start(&stage, "fox", StartSource::Startup)
    };
    stage.told(&event);
    stage.told(&prompt(&stage, "otter"));
    let content = json!({"subject": "stop", "body": "b", "priority": "urgent"});
    let out = run(&mut stage, &inside("lion"), "broadcast", content.clone());
    assert_eq!(out.text, "Sent #1 to CalmOtter (working: after its next tool call).\n");
    assert_eq!(run(&mut stage, &person(), "broadcast", content.clone()).json["n"], 2);
    stage.pass(DAY);
    let out = run(&mut stage, &person(), "broadcast", content.clone());
    assert_eq!(out.text, "No other agent is live in this project, so nothing was sent.\n");
    let nowhere = Caller::default();
    let (message, _) = refused(&mut stage, &nowhere, "broadcast", content);
    assert_eq!(message, "can't tell which project this is");
}
