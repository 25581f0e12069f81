//! The commands: their words, and what they refuse.

use rstest::rstest;

use super::*;

/// `Lead` with a subagent in session s1, `Other` in s2, ten minutes later.
fn two() -> Stage {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    let event =
        Event { actor: sub("a1", "reviewer"), ..stage.event(EventKind::SubagentStart, "s1") };
    stage.happen(&event);
    stage.pass(10 * MINUTE);
    begin_as(&mut stage, "s2", "Other");
    stage
}

fn as_agent(name: &str) -> Caller {
    Caller { agent: Some(name.to_owned()), ..outside() }
}

#[test]
fn every_agent_can_ask_who_it_is() {
    let mut stage = two();
    let path = &["identity", "current"];
    assert_eq!(
        text(&mut stage, &inside("s1"), path, json!({})),
        "Lead\nsession  s1\nproject  /repo\n"
    );
    let named = Caller { agent: Some("Lead/reviewer-1".to_owned()), ..inside("s1") };
    let out = stage.call(&named, path, json!({})).unwrap();
    assert_eq!(
        out.json,
        json!({"agent": "Lead", "agent_id": 3, "subagent": "reviewer-1", "address": "Lead/reviewer-1", "session": "s1", "project": "/repo"})
    );
    assert_eq!(text(&mut stage, &outside(), path, json!({})), "User\nproject  /repo\n");
    let (message, hint) = error(&mut stage, &inside("s9"), path, json!({}));
    assert_eq!(message, "session s9 has no agent yet");
    assert_eq!(hint, "`substrate agent ensure --session-id s9` gives it one");
    let unknown = Caller { session: None, ..inside("") };
    let (message, hint) = error(&mut stage, &unknown, path, json!({}));
    assert!(
        message == "can't tell which agent you are" && hint.contains("--session-id"),
        "{message}"
    );
    let (message, _) = error(&mut stage, &as_agent("Nob\u{1b}ody"), path, json!({}));
    assert_eq!(message, "there is no agent Nob ody");
}

#[test]
fn ensure_creates_an_agent_once() {
    let mut stage = stage();
    let caller = Caller { agent: Some("Builder".to_owned()), ..inside("s1") };
    let path = ["identity", "ensure"];
    assert_eq!(text(&mut stage, &caller, &path, json!({})), "Session s1 is now Builder.\n");
    assert_eq!(kept(&stage).unwrap().1["agent"], "Builder");
    assert_eq!(text(&mut stage, &caller, &path, json!({})), "Session s1 is Builder.\n");
    assert!(stage.effects.is_empty());
    let nested = Caller { agent: Some("Builder".to_owned()), ..inside("s2") };
    let out = stage.call(&nested, &path, json!({})).unwrap();
    assert_ne!(out.json["agent"], "Builder");
    assert_eq!(out.json["made"], true);
    let (message, hint) = error(&mut stage, &outside(), &path, json!({}));
    assert_eq!(message, "can't tell which session this is");
    assert!(hint.contains("--session-id"));
}

#[test]
fn save_rewrites_the_identity_file() {
    let mut stage = two();
    let path = ["identity", "save"];
    assert_eq!(text(&mut stage, &inside("s1"), &path, json!({})), "Saved: session s1 is Lead.\n");
    assert_eq!(kept(&stage).unwrap().0, "identities/by-session/s1.json");
    assert_eq!(error(&mut stage, &inside("s9"), &path, json!({})).0, "session s9 has no agent yet");
}

#[test]
fn restore_reads_back_or_binds_a_free_agent() {
    let mut stage = two();
    let path = ["identity", "restore"];
    assert_eq!(text(&mut stage, &inside("s1"), &path, json!({})), "Session s1 is Lead.\n");
    assert_eq!(error(&mut stage, &inside("s3"), &path, json!({})).0, "session s3 has no agent yet");
    let wants = |name: &str| Caller { agent: Some(name.to_owned()), ..inside("s3") };
    let (message, hint) = error(&mut stage, &wants("Lead"), &path, json!({}));
    assert_eq!(message, "Lead is running in another session");
    assert!(hint.contains("`substrate agent ensure`"));
    let (message, hint) = error(&mut stage, &wants("Laed"), &path, json!({}));
    assert_eq!((message.as_str(), hint.as_str()), ("there is no agent Laed", "did you mean Lead?"));
    assert!(error(&mut stage, &wants("User"), &path, json!({})).0.contains("no agent User"));
    end(&mut stage, "s1", "other");
    assert_eq!(text(&mut stage, &wants("lead"), &path, json!({})), "Session s3 is again Lead.\n");
    assert_eq!(kept(&stage).unwrap().0, "identities/by-session/s3.json");
    assert_eq!(agent_of(&mut stage, "s3"), "Lead");
}

#[test]
fn the_lists_are_aligned() {
    let mut stage = two();
    stage.machine.waiting.insert("s2".to_owned());
    assert_eq!(
        text(&mut stage, &outside(), &["identity", "list"], json!({})),
        "agent  session  heard    project\nOther  s2       0s ago   /repo\nLead   s1       10m ago  /repo\n"
    );
    assert_eq!(
        text(&mut stage, &outside(), &["agent", "list"], json!({})),
        "agent  status           heard    project\nOther  active, waiting  0s ago   /repo\nLead   idle             10m ago  /repo\n"
    );
}

#[test]
fn only_the_whole_list_shows_who_is_offline() {
    let mut stage = two();
    end(&mut stage, "s1", "other");
    end(&mut stage, "s2", "other");
    let path = ["agent", "list"];
    let none = text(&mut stage, &outside(), &path, json!({}));
    assert_eq!(
        none,
        "No agents are there. `substrate agent list --all` includes those that are offline.\n"
    );
    let all = stage.call(&outside(), &path, json!({"all": true})).unwrap().json;
    let seen: Vec<_> =
        all.as_array().unwrap().iter().map(|one| (&one["name"], &one["status"])).collect();
    assert_eq!(seen, [(&json!("Lead"), &json!("offline")), (&json!("Other"), &json!("offline"))]);
}

#[test]
fn one_agent_is_shown_with_sessions_and_subagents() {
    let mut stage = two();
    assert_eq!(
        text(&mut stage, &outside(), &["agent", "show"], json!({"name": "lead"})),
        "Lead  idle\nsession   s1  idle, heard 10m ago  /repo\nsubagent  Lead/reviewer-1  running, heard 10m ago\n"
    );
    let (message, hint) =
        error(&mut stage, &outside(), &["agent", "show"], json!({"name": "Otter"}));
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("there is no agent Otter", "did you mean Other?")
    );
}

#[test]
fn discover_shows_who_else_is_here_and_how_to_reach_them() {
    let mut stage = two();
    let path = ["agent", "discover"];
    assert_eq!(
        text(&mut stage, &inside("s2"), &path, json!({})),
        "Lead             idle  substrate send --to Lead --subject … --body …\n\
         Lead/reviewer-1  idle  substrate send --to Lead/reviewer-1 --subject … --body …\n"
    );
    let event =
        Event { project: "/elsewhere".to_owned(), ..start(&stage, "s4", StartSource::Startup) };
    stage.happen(&event);
    assert_eq!(
        text(&mut stage, &inside("s4"), &path, json!({})),
        "No other agents are in this project. `substrate agent list` shows those elsewhere.\n"
    );
    let json = stage.call(&inside("s1"), &path, json!({})).unwrap().json;
    let to: Vec<_> = json.as_array().unwrap().iter().map(|one| one["address"].clone()).collect();
    assert_eq!(to, [json!("Other"), json!("Lead/reviewer-1")]);
    stage.pass(21 * MINUTE);
    let json = stage.call(&inside("s1"), &path, json!({})).unwrap().json;
    assert_eq!(json.as_array().unwrap().len(), 1, "the silent are not offered");
}

#[test]
fn a_renamed_agent_keeps_its_sessions_and_their_files_say_so() {
    let mut stage = two();
    let path = ["identity", "rename"];
    assert_eq!(
        text(&mut stage, &inside("s1"), &path, json!({"name": "Boss"})),
        "Lead is now Boss.\n"
    );
    assert_eq!(kept(&stage).unwrap().1["agent"], "Boss");
    assert_eq!(agent_of(&mut stage, "s1"), "Boss");
    assert_eq!(
        text(&mut stage, &as_agent("Boss"), &path, json!({"name": "BOSS"})),
        "Boss is now BOSS.\n"
    );
    // The old name is free again.
    assert_eq!(begin_as(&mut stage, "s5", "Lead"), "Lead");
}

#[rstest]
#[case::taken("s1", None, "oTHER", "the name oTHER is taken")]
#[case::invalid("s1", None, "a b\u{1b}", "`a b` is not a valid name")]
#[case::the_persons("s1", None, "User", "`User` is not a valid name")]
#[case::by_a_subagent(
    "s1",
    Some("Lead/reviewer-1"),
    "Boss",
    "Lead/reviewer-1 is a subagent; only Lead itself can be renamed"
)]
fn a_rename_is_refused(
    #[case] session: &str,
    #[case] agent: Option<&str>,
    #[case] name: &str,
    #[case] expected: &str,
) {
    let mut stage = two();
    let caller = Caller { agent: agent.map(str::to_owned), ..inside(session) };
    assert_eq!(
        error(&mut stage, &caller, &["identity", "rename"], json!({"name": name})).0,
        expected
    );
    assert_eq!(agent_of(&mut stage, "s1"), "Lead");
}

#[test]
fn the_person_cannot_be_renamed() {
    let mut stage = two();
    let (message, hint) =
        error(&mut stage, &outside(), &["identity", "rename"], json!({"name": "CallerIdentity"}));
    assert_eq!(message, "User can't be renamed");
    assert!(hint.contains("--agent NAME"));
}

#[test]
fn an_agent_that_is_offline_can_be_deleted_and_its_name_is_free() {
    let mut stage = two();
    let path = ["agent", "delete"];
    let lead = json!({"name": "lead"});
    assert_eq!(error(&mut stage, &outside(), &path, lead.clone()).0, "Lead is running");
    end(&mut stage, "s1", "other");
    let by_other = error(&mut stage, &inside("s2"), &path, lead.clone());
    assert_eq!(by_other.0, "only Lead itself or the user may delete Lead");
    assert_eq!(
        text(&mut stage, &outside(), &path, lead.clone()),
        "Deleted Lead. Its name is free again.\n"
    );
    let file = Effect::Forget { path: "identities/by-session/s1.json".to_owned() };
    assert_eq!(stage.effects, [file]);
    assert_eq!(error(&mut stage, &outside(), &path, lead).0, "there is no agent lead");
    assert_eq!(who(&mut stage, &inside("s1")), None);
    assert_eq!(begin_as(&mut stage, "s6", "Lead"), "Lead");
    // Two agents that had the same name can both be deleted.
    end(&mut stage, "s6", "other");
    text(&mut stage, &outside(), &path, json!({"name": "Lead"}));
}

#[test]
fn deleting_unread_mail_asks_for_confirmation() {
    let mut stage = two();
    end(&mut stage, "s1", "other");
    let path = ["agent", "delete"];
    let send = |to: &str| json!({"to": to, "subject": "doors", "body": "x"});
    stage.call(&outside(), &["send"], send("Lead")).unwrap();
    let refused = stage.call(&outside(), &path, json!({"name": "lead"}));
    let Err(VerbError::Unsure { question, body, hint, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(question, "Lead has 1 unread message. Delete Lead anyway?");
    assert!(hint.contains("`substrate agent delete Lead --yes`"), "{hint}");
    assert_eq!(
        text(&mut stage, &outside(), &path, body),
        "Deleted Lead. Its name is free again.\n"
    );
}

#[rstest]
#[case::the_person("User", "User can't be deleted")]
#[case::ourselves("substrate", "substrate can't be deleted")]
fn the_person_and_substrate_are_never_deleted(#[case] name: &str, #[case] expected: &str) {
    let mut stage = two();
    let (message, _) = error(&mut stage, &outside(), &["agent", "delete"], json!({"name": name}));
    assert_eq!(message, expected);
}

#[test]
fn an_agent_may_delete_itself_but_no_subagent_may() {
    let mut stage = two();
    let path = ["agent", "delete"];
    let sub = Caller { agent: Some("Lead/reviewer-1".to_owned()), ..inside("s1") };
    assert!(
        error(&mut stage, &sub, &path, json!({"name": "Lead"})).0.starts_with("only Lead itself")
    );
    text(&mut stage, &inside("s1"), &path, json!({"name": "Lead"}));
    let event = stage.event(EventKind::PreToolUse, "s1");
    stage.happen(&event);
    assert_ne!(agent_of(&mut stage, "s1"), "Lead");
}

#[test]
fn a_heartbeat_renews_presence() {
    let mut stage = two();
    let out = stage.call(&inside("s1"), &["heartbeat"], json!({})).unwrap();
    assert_eq!(out.text, "Lead is active.\n");
    assert_eq!(out.json, json!({"agent": "Lead", "session": "s1", "status": "active"}));
    let list = stage.call(&outside(), &["agent", "list"], json!({})).unwrap().json;
    assert_eq!(list[0]["status"], "active");
    assert_eq!(list[0]["last_ms"], stage.now.0);
    assert_eq!(
        error(&mut stage, &inside("s7"), &["heartbeat"], json!({})).0,
        "session s7 has no agent yet"
    );
    let new = stage.call(&inside("s7"), &["heartbeat"], json!({"session_start": true})).unwrap();
    assert_eq!(new.json["agent"], json!(agent_of(&mut stage, "s7")));
    end(&mut stage, "s7", "other");
    text(&mut stage, &inside("s7"), &["heartbeat"], json!({}));
    let list = stage.call(&outside(), &["agent", "list"], json!({})).unwrap().json;
    assert_eq!(list.as_array().unwrap().len(), 3);
}
