//! What waits for the user: each kind comes with its cause and goes with it.

use super::*;

/// `kind agent reason`, in the order of the list.
fn needs(stage: &mut Stage) -> Vec<String> {
    let json = call(stage, &["needs"], json!({})).unwrap().json;
    let one = |row: &Value| {
        let word = |field: &str| row[field].as_str().unwrap().to_owned();
        format!("{} {}: {}", word("kind"), word("agent"), word("reason"))
    };
    json["needs"].as_array().unwrap().iter().map(one).collect()
}

fn first(stage: &mut Stage) -> Value {
    call(stage, &["needs"], json!({})).unwrap().json["needs"][0].clone()
}

#[test]
fn a_permission_dialog_is_a_row_until_its_call_runs() {
    let mut stage = two();
    let command = format!("make {}", "x".repeat(300));
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    assert_eq!(needs(&mut stage), [""; 0]);
    happens(&mut stage, "lion", EventKind::PreToolUse, before(&command));
    stage.pass(SECOND);
    happens(&mut stage, "lion", EventKind::PermissionRequest, before(&command));
    stage.pass(MINUTE);
    let row = first(&mut stage);
    assert_eq!((&row["kind"], &row["id"]), (&json!("permission"), &json!("dialog:lion:main")));
    assert_eq!(row["text"], command, "never cut");
    assert_eq!((&row["project"], &row["pane"]["id"]), (&json!("/repo"), &json!("%1")));
    assert_eq!(row["since_ms"], stage.now.0 - MINUTE);
    let text = call(&mut stage, &["needs"], json!({})).unwrap().text;
    assert!(text.starts_with("permission  NobleLion"), "{text}");
    happens(&mut stage, "lion", EventKind::PostToolUse, after(&command));
    assert_eq!(needs(&mut stage), [""; 0]);
    assert_eq!(call(&mut stage, &["needs"], json!({})).unwrap().text, "Nothing waits for you.\n");
}

#[test]
fn a_person_who_has_looked_is_not_asked_again() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("make"));
    let row = first(&mut stage);
    let action = &row["actions"][0];
    let verb: Vec<&str> =
        action["verb"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    call(&mut stage, &verb, action["body"].clone()).unwrap();
    assert_eq!(needs(&mut stage), [""; 0]);
}

#[test]
fn a_call_that_a_rule_put_to_the_user_has_the_words_of_the_rule() {
    let rule = "[[guards.rules]]\nname = \"deploys\"\naction = \"ask\"\nwhen = 'command.contains(\"deploy\")'\nreason = \"Deploys are yours.\"\n";
    let mut stage = with(rule);
    happens(&mut stage, "lion", EventKind::PreToolUse, before("./deploy now"));
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("./deploy now"));
    let row = first(&mut stage);
    assert_eq!(row["kind"], "guard", "{row}");
    assert!(row["reason"].as_str().unwrap().contains("Deploys are yours."), "{row}");
    assert_eq!(row["text"], "./deploy now");
    happens(&mut stage, "lion", EventKind::Stop, stop("ok"));
    assert_eq!(needs(&mut stage), [""; 0]);
}

#[test]
fn a_question_shows_what_can_be_answered() {
    let mut stage = two();
    let input = json!({"questions": [{"question": "Which port?", "options": [{"label": "80"}]}]});
    let call = ToolCall {
        name: "AskUserQuestion".to_owned(),
        command: None,
        input: input.to_string(),
        ..bash("")
    };
    let detail = Detail::ToolBefore { call };
    happens(&mut stage, "lion", EventKind::PermissionRequest, detail);
    assert_eq!(needs(&mut stage), ["question NobleLion: asks: Which port?"]);
    assert_eq!(first(&mut stage)["text"], "Which port?\n- 80");
}

#[test]
fn errors_limits_and_clients_that_are_gone_are_rows() {
    let mut stage = two();
    let failure = |error: &str, words: &str| Detail::StopFailure {
        error: error.to_owned(),
        last_message: Some(words.to_owned()),
    };
    happens(&mut stage, "lion", EventKind::StopFailure, failure("server_error", "overloaded"));
    assert_eq!(needs(&mut stage), ["error NobleLion: the turn failed, server_error: overloaded"]);
    happens(&mut stage, "lion", EventKind::StopFailure, failure("rate_limit", "retry after 60"));
    assert_eq!(needs(&mut stage), ["limit NobleLion: rate limit, ends in 1m (08:01 UTC)"]);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go on"));
    assert_eq!(needs(&mut stage), [""; 0]);
    stage.machine.processes.remove(&10);
    stage.pass(MINUTE);
    assert_eq!(needs(&mut stage), ["dead NobleLion: its client is gone in the middle of a turn"]);
    assert_eq!(first(&mut stage)["text"], "cd /repo && claude --resume lion");
    // The other was idle, so nothing is lost with it.
    stage.machine.processes.clear();
    assert_eq!(needs(&mut stage).len(), 1);
}

#[test]
fn an_idle_agent_waits_only_where_the_settings_say_so() {
    let mut stage = with("[fleet]\nidle_is_attention = true\n");
    happens(&mut stage, "lion", EventKind::Stop, stop("ok"));
    assert_eq!(needs(&mut stage), [""; 0]);
    happens(&mut stage, "lion", EventKind::Notification, notice("idle_prompt"));
    assert_eq!(needs(&mut stage), ["idle NobleLion: a person is needed"]);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    assert_eq!(needs(&mut stage), [""; 0]);
}

/// Mail comes after what keeps an agent from going on.
#[test]
fn mail_to_the_user_waits_until_it_is_read_and_deadlines_until_they_are_acked() {
    let mut stage = two();
    let lion = Caller { session: Some("lion".to_owned()), ..person() };
    let body = json!({"to": ["User"], "subject": "Ports", "body": "Which port?\nAnd why?"});
    stage.call(&lion, &["send"], body).unwrap();
    happens(&mut stage, "otter", EventKind::PermissionRequest, before("make"));
    assert_eq!(
        needs(&mut stage),
        ["permission CalmOtter: asks for permission: Bash make", "mail NobleLion: #1 Ports"]
    );
    happens(&mut stage, "otter", EventKind::PostToolUse, after("make"));
    let row = first(&mut stage);
    assert_eq!((&row["text"], &row["project"]), (&json!("Which port?\nAnd why?"), &json!("/repo")));
    assert_eq!(row["actions"][0]["label"], "Reply");
    call(&mut stage, &["inbox"], json!({"printed": [1]})).unwrap();
    assert_eq!(needs(&mut stage), [""; 0]);

    let body = json!({"to": ["User"], "subject": "Ack me", "body": "x", "deadline": "5m"});
    stage.call(&lion, &["send"], body).unwrap();
    call(&mut stage, &["inbox"], json!({"printed": [2]})).unwrap();
    assert_eq!(needs(&mut stage), [""; 0], "read, and there is time");
    stage.pass(6 * MINUTE);
    assert!(
        needs(&mut stage)[0].starts_with("deadline NobleLion: #2 was to be"),
        "{:?}",
        needs(&mut stage)
    );
    call(&mut stage, &["ack"], json!({"ids": [2]})).unwrap();
    assert_eq!(needs(&mut stage), [""; 0]);
}

#[test]
fn a_deadline_that_an_agent_missed_is_one_row_beside_our_own_note() {
    let mut stage = two();
    let body = json!({"to": ["NobleLion"], "subject": "Review", "body": "x", "deadline": "5m"});
    call(&mut stage, &["send"], body).unwrap();
    stage.pass(6 * MINUTE);
    stage.with(|cx| (crate::mail::FEATURE.tick.unwrap())(cx).unwrap());
    assert_eq!(needs(&mut stage), ["deadline NobleLion: did not acknowledge #1 in time: Review"]);
    let lion = Caller { session: Some("lion".to_owned()), ..person() };
    stage.call(&lion, &["ack"], json!({"ids": [1]})).unwrap();
    let left = needs(&mut stage);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("mail Substrate: #2 No ack from NobleLion"), "{left:?}");
}

#[test]
fn only_the_user_sees_what_waits_for_the_user() {
    let mut stage = two();
    let lion = Caller { session: Some("lion".to_owned()), inside_client: true, ..person() };
    let refused = stage.call(&lion, &["needs"], json!({})).unwrap_err().to_string();
    assert!(refused.contains("only for the user"), "{refused}");
    let body = json!({"to": ["User"], "subject": "Secret plan", "body": "x"});
    stage.call(&lion, &["send"], body).unwrap();
    let seen = stage.call(&lion, &["overview"], json!({})).unwrap();
    assert!(!seen.text.contains("Secret plan") && seen.json["needs"] == json!([]), "{seen:?}");
}

#[test]
fn the_overview_fits_on_fifteen_lines_and_says_what_to_do_next() {
    let mut stage = two();
    let seen = call(&mut stage, &["overview"], json!({})).unwrap();
    assert!(seen.text.starts_with("Fleet   2 idle: CalmOtter, NobleLion\nMail "), "{}", seen.text);
    assert_eq!(seen.json["next"][0]["command"], "substrate fleet");
    let lion = Caller { session: Some("lion".to_owned()), ..person() };
    for n in 0..30 {
        let body = json!({"to": ["User"], "subject": format!("No {n}"), "body": "x"});
        stage.call(&lion, &["send"], body).unwrap();
    }
    happens(&mut stage, "lion", EventKind::PermissionRequest, before("make"));
    let seen = call(&mut stage, &["overview"], json!({})).unwrap();
    assert!(seen.text.lines().count() <= 15, "{}", seen.text);
    assert!(seen.text.contains("Needs you (31)"), "{}", seen.text);
    assert!(seen.text.contains("… and 26 more: `substrate needs`"), "{}", seen.text);
    assert!(seen.text.contains("1 attention, 1 idle"), "{}", seen.text);
    assert!(seen.text.contains("`substrate inbox`"), "{}", seen.text);
    assert_eq!(seen.json["fleet"]["attention"], 1);
    assert_eq!(seen.json["n_unread"], 30);
}
