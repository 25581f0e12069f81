//! What a person sees while agents work.

use super::*;

#[test]
fn a_turn_from_its_prompt_to_its_end() {
    let mut stage = two();
    assert_eq!(status(&mut stage, "NobleLion"), "done");
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    happens(&mut stage, "lion", EventKind::PreToolUse, before("cargo test"));
    stage.pass(5 * SECOND);
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("cargo test"));
    assert_eq!(status(&mut stage, "NobleLion"), "attention");
    happens(&mut stage, "lion", EventKind::PostToolUse, after("cargo test"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    happens(&mut stage, "lion", EventKind::PostToolUseFailure, failed("make", false));
    assert_eq!(status(&mut stage, "NobleLion"), "working", "a call may fail");
    stage.pass(31 * SECOND);
    assert_eq!(status(&mut stage, "NobleLion"), "error", "and nothing comes of it");
    happens(&mut stage, "lion", EventKind::PreToolUse, before("make"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    let failure = Detail::StopFailure { error: "server_error".to_owned(), last_message: None };
    happens(&mut stage, "lion", EventKind::StopFailure, failure);
    assert_eq!(status(&mut stage, "NobleLion"), "error", "a turn that failed, at once");
    happens(&mut stage, "lion", EventKind::PreToolUse, before("make"));
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    assert_eq!(status(&mut stage, "NobleLion"), "done");
    stage.pass(MINUTE);
    happens(&mut stage, "lion", EventKind::Notification, notice("idle_prompt"));
    assert_eq!(fleet(&mut stage), ["CalmOtter done", "NobleLion done"], "nothing is needed");
    stage.set("profile = \"engine\"\n");
    happens(&mut stage, "lion", EventKind::Notification, notice("idle_prompt"));
    assert_eq!(fleet(&mut stage), ["NobleLion attention", "CalmOtter done"]);
    let ended = Detail::Because { word: "prompt_input_exit".to_owned() };
    happens(&mut stage, "lion", EventKind::SessionEnd, ended);
    assert_eq!(fleet(&mut stage), ["CalmOtter done"]);
    let all = call(&mut stage, &["fleet", "list"], json!({"all": true})).unwrap().text;
    assert!(all.contains("closed     NobleLion"), "{all}");
    assert!(all.contains("`cd /repo && claude --resume lion`"), "{all}");
}

#[test]
fn an_agent_whose_client_is_gone_does_not_work() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "otter", EventKind::PermissionRequest, before("rm x"));
    stage.pass(12 * MINUTE);
    let text = call(&mut stage, &["fleet", "list"], json!({})).unwrap().text;
    assert!(text.contains("working    NobleLion") && text.contains("(silent 12m)"), "{text}");
    stage.machine.processes.clear();
    assert_eq!(fleet(&mut stage), ["CalmOtter gone", "NobleLion gone"]);
    // Its pid was reused.
    stage.machine.processes.insert(10, 2);
    assert_eq!(status(&mut stage, "NobleLion"), "gone");
    stage.pass(2 * 60 * MINUTE);
    assert_eq!(fleet(&mut stage), [""; 0], "a client that is long gone is not shown");
}

#[test]
fn subagents_have_a_status_of_their_own_and_leave_with_their_end() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    for id in ["c1", "c2"] {
        let event = of_sub(&stage, "lion", id, EventKind::SubagentStart, Detail::Plain);
        stage.told(&event);
    }
    let event = of_sub(&stage, "lion", "c1", EventKind::PermissionRequest, before("rm x"));
    stage.told(&event);
    assert_eq!(
        fleet(&mut stage),
        [
            "NobleLion/coder-1 attention",
            "NobleLion working",
            "NobleLion/coder-2 working",
            "CalmOtter done"
        ]
    );
    // The client does not say whose dialog it is: the request did.
    stage.pass(6 * SECOND);
    happens(&mut stage, "lion", EventKind::Notification, notice("permission_prompt"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    let event = of_sub(&stage, "lion", "c1", EventKind::PostToolUse, after("rm x"));
    stage.told(&event);
    assert_eq!(status(&mut stage, "NobleLion/coder-1"), "working");
    for (id, n) in [("c1", 1), ("c2", 2)] {
        let event = of_sub(&stage, "lion", id, EventKind::SubagentStop, stop("Reviewed."));
        stage.told(&event);
        assert_eq!(status(&mut stage, &format!("NobleLion/coder-{n}")), "(not shown)");
    }
    let event = of_sub(&stage, "lion", "m1", EventKind::TeammateIdle, Detail::Plain);
    stage.told(&event);
    assert_eq!(status(&mut stage, "NobleLion/coder-3"), "done", "a teammate that is idle");
}

#[test]
fn the_compaction_fork_has_no_status() {
    let mut stage = two();
    let actor = Actor::Subagent { id: SafeId::new("f1").unwrap(), kind: String::new() };
    let event = Event { actor, ..of(&stage, "lion", EventKind::SubagentStop, stop("x")) };
    stage.told(&event);
    assert_eq!(fleet(&mut stage).len(), 2);
}

#[test]
fn a_checked_agent_stays_checked_until_something_changes() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let nothing = call(&mut stage, &["fleet", "check"], json!({"names": ["NobleLion"]})).unwrap();
    assert_eq!(nothing.json["checked"], 0, "who works is not done by being looked at");
    happens(&mut stage, "lion", EventKind::Stop, stop("All done."));
    let one = call(&mut stage, &["fleet", "check"], json!({"names": ["noblelion"]})).unwrap();
    assert_eq!(one.text, "1 checked.\n");
    assert_eq!(status(&mut stage, "NobleLion"), "checked");
    stage.pass(MINUTE);
    happens(&mut stage, "lion", EventKind::Notification, notice("idle_prompt"));
    assert_eq!(status(&mut stage, "NobleLion"), "checked", "that is known");
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("more"));
    assert_eq!(status(&mut stage, "NobleLion"), "working");
    let body = json!({"pane": "%2", "socket": SOCKET});
    call(&mut stage, &["fleet", "check"], body).unwrap();
    assert_eq!(status(&mut stage, "CalmOtter"), "checked", "by its pane");
    for (body, words) in [
        (json!({"names": ["NobleLiom"]}), "no agent is called `NobleLiom`"),
        (json!({"pane": "%2;kill", "socket": SOCKET}), "that is not a tmux pane"),
    ] {
        let error = call(&mut stage, &["fleet", "check"], body).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
}

#[test]
fn what_needs_you_comes_first() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("make"));
    happens(&mut stage, "otter", EventKind::PermissionRequest, before("rm x"));
    let inside = Caller {
        session: Some("lion".to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        ..Caller::default()
    };
    let letter = json!({"to": ["User"], "subject": "May I?", "body": "x"});
    stage.call(&inside, &["send"], letter).unwrap();
    stage.pass(90 * SECOND);
    let out = call(&mut stage, &["fleet", "list"], json!({})).unwrap();
    let text = out.text;
    assert_eq!(
        text,
        "Needs you\n\
        \x20 attention  CalmOtter    1m  repo              asks for permission: Bash rm x\n\
        \x20 mail       1 unread message for you: `substrate inbox`\n\
        \n\
        At work\n\
        \x20 working    NobleLion    1m  repo              Bash\n"
    );
    assert_eq!(out.json["unread_for_you"], 1);
    assert_eq!(out.json["actors"][0]["needs_you"], true);
}

#[test]
fn a_completed_task_is_noted() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let detail = Detail::Task {
        id: "1".to_owned(),
        subject: "Write the\nparser".to_owned(),
        description: None,
        teammate: None,
    };
    happens(&mut stage, "lion", EventKind::TaskCompleted, detail);
    let json = call(&mut stage, &["fleet", "list"], json!({})).unwrap().json;
    let lion = &json["actors"][0];
    assert_eq!(
        (lion["status"].as_str(), lion["task"].as_str()),
        (Some("working"), Some("Write the parser"))
    );
}

#[test]
fn it_can_be_off() {
    let mut stage = Stage::new("[fleet]\non = false\n");
    stage.machine.processes.insert(10, 1);
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("rm x"));
    let rows = stage.with(|cx| {
        let n = cx.db.first("select count(*) from fleet_status", &[], |row| row.int(0));
        n.unwrap()
    });
    assert_eq!(rows, Some(0));
}

#[test]
fn a_picture_is_drawn_again_only_when_it_changes() {
    let mut stage = two();
    let first = call(&mut stage, &["fleet", "list"], json!({"watch": true})).unwrap();
    assert!(first.text.starts_with("\u{1b}[H\u{1b}[2J"), "{:?}", first.text);
    assert_eq!(first.json.as_array().unwrap().len(), 1);
    let body = first.follow.unwrap();
    let second = call(&mut stage, &["fleet", "list"], body).unwrap();
    assert_eq!((second.text.as_str(), second.json), ("", json!([])));
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let third = call(&mut stage, &["fleet", "list"], second.follow.unwrap()).unwrap();
    assert!(third.text.contains("working    NobleLion"), "{:?}", third.text);
}

#[test]
fn the_effort_of_an_agent_and_its_subagents_is_shown() {
    let mut stage = with("[efforts]\non = true\n");
    let caller = Caller {
        session: Some("lion".to_owned()),
        inside_client: true,
        cwd: "/repo".to_owned(),
        ..person()
    };
    let found = json!({"config": {"phases": ["explore", "choose"]}});
    let body = json!({"skill": "brainstorm", "found": found});
    stage.call(&caller, &["effort", "start"], body).unwrap();
    happens(&mut stage, "lion", EventKind::PreToolUse, before("ls"));
    let event = of_sub(&stage, "lion", "c1", EventKind::SubagentStart, Detail::Plain);
    stage.told(&event);
    let out = call(&mut stage, &["fleet", "list"], json!({})).unwrap();
    assert_eq!(out.text.matches("brainstorm/explore").count(), 2, "{}", out.text);
    let shown = json!({"id": 1, "skill": "brainstorm", "phase": "explore"});
    let of = |name: &str| {
        let actors = out.json["actors"].as_array().unwrap();
        actors.iter().find(|one| one["address"] == name).unwrap()["effort"].clone()
    };
    assert_eq!(of("NobleLion"), shown);
    assert_eq!(of("NobleLion/coder-1"), shown);
    assert_eq!(of("CalmOtter"), Value::Null);
}

#[test]
fn a_limit_is_shown_with_the_time_it_ends() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let failure = Detail::StopFailure {
        error: "rate_limit".to_owned(),
        last_message: Some("You've hit your session limit · resets 10am (UTC)".to_owned()),
    };
    happens(&mut stage, "lion", EventKind::StopFailure, failure);
    happens(&mut stage, "otter", EventKind::Stop, stop("Prompt is too long"));
    let shown = |stage: &mut Stage| call(stage, &["fleet", "list"], json!({})).unwrap();
    let first = shown(&mut stage);
    assert!(first.text.contains("rate limit, ends in 2h (10:00 UTC)"), "{}", first.text);
    assert!(first.text.contains("context full"), "{}", first.text);
    assert_eq!(fleet(&mut stage), ["CalmOtter error", "NobleLion error"]);
    let actors = first.json["actors"].as_array().unwrap().clone();
    let lion = actors.iter().find(|one| one["agent"] == "NobleLion").unwrap();
    let ends = stage.now.plus_ms(2 * 60 * MINUTE).0;
    assert_eq!(lion["limit"], json!({"kind": "rate", "until_ms": ends}));
    stage.pass(2 * 60 * MINUTE + 60_000);
    assert!(shown(&mut stage).text.contains("rate limit ended 1m ago"));
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go on"));
    assert!(!shown(&mut stage).text.contains("rate limit"));
}
