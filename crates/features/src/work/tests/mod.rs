//! The shared queue on a real database, with all features and simulated time.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::{
    Actor, Caller, Detail, Event, EventKind, Output, Param, SafeId, StartSource, VerbError,
};

use super::items;
use crate::stage::Stage;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;

/// `NobleLion` in session `lion` (process 10) and `CalmOtter` in session `otter` (process 20).
fn two() -> Stage {
    let mut stage = Stage::new("");
    for (session, name, pid) in [("lion", "NobleLion", 10), ("otter", "CalmOtter", 20)] {
        stage.machine.processes.insert(pid, 1);
        start(&mut stage, session, name, pid);
    }
    stage
}

fn start(stage: &mut Stage, session: &str, name: &str, pid: u32) {
    let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
    let event = Event {
        detail,
        wanted_agent: Some(name.to_owned()),
        client_pid: Some(pid),
        ..stage.event(EventKind::SessionStart, session)
    };
    stage.told(&event);
}

fn happens(stage: &mut Stage, session: &str, kind: EventKind) {
    let event = stage.event(kind, session);
    stage.told(&event);
}

/// A command of a session.
fn inside(session: &str) -> Caller {
    Caller {
        session: Some(session.to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        ..Caller::default()
    }
}

fn person() -> Caller {
    Caller { project: "/repo".to_owned(), ..Caller::default() }
}

fn work(stage: &mut Stage, who: &Caller, verb: &str, body: Value) -> Result<Output, VerbError> {
    stage.call(who, &["work", verb], body)
}

fn add(stage: &mut Stage, title: &str) -> i64 {
    let out = work(stage, &person(), "add", json!({"title": title, "body": "how"})).unwrap();
    out.json["id"].as_i64().unwrap()
}

/// The next item, if there is one.
fn claim(stage: &mut Stage, session: &str) -> Option<i64> {
    let out = work(stage, &inside(session), "claim", json!({})).ok()?;
    out.json["id"].as_i64()
}

/// The message and hint of a failing command.
fn error(stage: &mut Stage, who: &Caller, verb: &str, body: Value) -> (String, String) {
    match work(stage, who, verb, body) {
        Err(VerbError::User { message, hint }) => (message, hint),
        other => panic!("not a user error: {other:?}"),
    }
}

fn line(stage: &mut Stage, id: i64) -> String {
    let out = work(stage, &person(), "show", json!({"id": id})).unwrap().text;
    out.lines().next().unwrap().to_owned()
}

#[test]
fn an_item_goes_to_one_claimant_who_finishes_it() {
    let mut stage = two();
    let (a, b) = (add(&mut stage, "parser"), add(&mut stage, "printer"));
    let out = work(&mut stage, &inside("lion"), "claim", json!({})).unwrap();
    assert_eq!(
        out.text,
        format!(
            "#{a} is yours: parser\n> how\nWhen you are done, run `substrate work done {a} --result \"…\"`. To give it back, run `substrate work release {a}`.\n"
        )
    );
    assert_eq!(
        (out.json["state"].as_str(), out.json["claimant"].as_str()),
        (Some("claimed"), Some("NobleLion"))
    );
    assert_eq!(claim(&mut stage, "otter"), Some(b));
    assert_eq!(claim(&mut stage, "otter"), None);
    let (words, hint) = error(&mut stage, &inside("otter"), "done", json!({"id": a}));
    assert_eq!(words, format!("#{a} is not yours: NobleLion has it"));
    assert!(hint.contains(&format!("substrate work show {a}")), "{hint}");
    stage.pass(2 * MINUTE);
    let (words, hint) = error(&mut stage, &inside("otter"), "claim", json!({"id": a}));
    assert_eq!(words, format!("NobleLion claimed #{a} 2m ago"));
    assert!(hint.contains("stays silent for 8m"), "{hint}");
    let again = work(&mut stage, &inside("lion"), "claim", json!({"id": a})).unwrap();
    assert_eq!(again.json["id"], a, "it already has it");
    let body = json!({"id": a, "result": "in parser.rs"});
    work(&mut stage, &inside("lion"), "done", body.clone()).unwrap();
    work(&mut stage, &inside("lion"), "done", body).unwrap();
    let (words, _) = error(&mut stage, &inside("otter"), "done", json!({"id": a}));
    assert_eq!(words, format!("#{a} is already done, by NobleLion"));
    let list = work(&mut stage, &person(), "list", json!({})).unwrap();
    assert_eq!(list.json["counts"], json!({"queued": 0, "claimed": 1, "done": 1}));
    assert_eq!(list.json["work"][0]["result"], "in parser.rs");
    assert!(list.text.contains("claimed by CalmOtter 2m ago"), "{}", list.text);
}

#[rstest]
#[case::its_process_died(|stage: &mut Stage| { stage.machine.processes.remove(&10); }, "gone")]
#[case::its_pid_was_recycled(|stage: &mut Stage| { stage.machine.processes.insert(10, 2); }, "gone")]
#[case::its_session_ended(|stage: &mut Stage| happens(stage, "lion", EventKind::SessionEnd), "gone")]
#[case::it_fell_silent(|stage: &mut Stage| stage.pass(11 * MINUTE), "silent")]
fn an_item_comes_back_when_its_claimant(#[case] ends: fn(&mut Stage), #[case] how: &str) {
    let mut stage = two();
    let id = add(&mut stage, "parser");
    assert_eq!(claim(&mut stage, "lion"), Some(id));
    ends(&mut stage);
    happens(&mut stage, "otter", EventKind::PreToolUse);
    assert!(
        line(&mut stage, id).contains(&format!("free again: NobleLion claimed it and is {how}"))
    );
    let out = work(&mut stage, &inside("otter"), "claim", json!({})).unwrap();
    assert_eq!((out.json["id"].as_i64(), out.json["n_claims"].as_i64()), (Some(id), Some(2)));
    assert!(out.text.contains("It came back from NobleLion, who "), "{}", out.text);
    let refused = work(&mut stage, &inside("lion"), "done", json!({"id": id}));
    assert_eq!(refused.unwrap_err().to_string(), format!("#{id} is not yours: CalmOtter has it"));
    work(&mut stage, &inside("otter"), "done", json!({"id": id})).unwrap();
    // Only a claimant that is still there gets mail.
    let mail = stage.call(&inside("lion"), &["inbox"], json!({})).unwrap().text;
    assert_eq!(mail.contains(&format!("Work #{id} is no longer yours")), how == "silent", "{mail}");
}

#[test]
fn any_event_of_the_claimant_renews_its_claim() {
    let mut stage = two();
    let id = add(&mut stage, "parser");
    claim(&mut stage, "lion");
    for _ in 0..5 {
        stage.pass(9 * MINUTE);
        happens(&mut stage, "lion", EventKind::PreToolUse);
    }
    assert_eq!(claim(&mut stage, "otter"), None);
    stage.pass(9 * MINUTE);
    stage.with(|cx| (super::FEATURE.tick.unwrap())(cx).unwrap());
    assert!(line(&mut stage, id).contains("claimed by NobleLion 54m ago"));
    stage.pass(2 * MINUTE);
    stage.with(|cx| (super::FEATURE.tick.unwrap())(cx).unwrap());
    assert!(line(&mut stage, id).contains("queued 56m ago; came back from NobleLion"));
}

#[test]
fn a_late_claimant_may_finish_an_item_that_no_one_took_but_a_dead_one_may_not() {
    let mut stage = two();
    let (a, b) = (add(&mut stage, "parser"), add(&mut stage, "printer"));
    claim(&mut stage, "lion");
    claim(&mut stage, "otter");
    stage.pass(11 * MINUTE);
    work(&mut stage, &inside("lion"), "done", json!({"id": a})).unwrap();
    stage.machine.processes.remove(&20);
    let (words, _) = error(&mut stage, &inside("otter"), "done", json!({"id": b}));
    assert_eq!(words, format!("your claim on #{b} ended with the session that made it"));
    let (words, _) = error(&mut stage, &inside("otter"), "claim", json!({}));
    assert_eq!(words, "this session has ended and can no longer claim work");
    // The same session in a new process may claim again, but has kept nothing.
    stage.machine.processes.insert(21, 5);
    start(&mut stage, "otter", "CalmOtter", 21);
    assert!(work(&mut stage, &inside("otter"), "done", json!({"id": b})).is_err());
    assert_eq!(claim(&mut stage, "otter"), Some(b));
    work(&mut stage, &inside("otter"), "done", json!({"id": b})).unwrap();
}

#[test]
fn a_subagents_claim_ends_with_the_subagent() {
    let mut stage = two();
    let id = add(&mut stage, "parser");
    let sub = |stage: &Stage, kind: EventKind| Event {
        actor: Actor::Subagent { id: SafeId::new("c1").unwrap(), kind: "coder".to_owned() },
        ..stage.event(kind, "lion")
    };
    let event = sub(&stage, EventKind::SubagentStart);
    stage.told(&event);
    let me =
        Caller { agent: Some("NobleLion/coder-1".to_owned()), agent_typed: true, ..inside("lion") };
    let out = work(&mut stage, &me, "claim", json!({})).unwrap();
    assert_eq!(out.json["claimant"], "NobleLion/coder-1");
    let (words, _) = error(&mut stage, &inside("lion"), "done", json!({"id": id}));
    assert_eq!(
        words,
        format!("#{id} is not yours: NobleLion/coder-1 has it"),
        "a subagent is not its agent"
    );
    let stop =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let event = Event { detail: stop, ..sub(&stage, EventKind::SubagentStop) };
    stage.told(&event);
    assert_eq!(claim(&mut stage, "lion"), Some(id));
}

#[test]
fn a_repeated_request_does_nothing_twice() {
    let mut stage = two();
    let same = |who: Caller| Caller { request: "r1".to_owned(), ..who };
    for _ in 0..2 {
        work(&mut stage, &same(person()), "add", json!({"title": "parser"})).unwrap();
    }
    add(&mut stage, "printer");
    for _ in 0..2 {
        let out = work(&mut stage, &same(inside("lion")), "claim", json!({})).unwrap();
        assert_eq!(out.json["title"], "parser");
    }
    let list = work(&mut stage, &person(), "list", json!({})).unwrap();
    assert_eq!(list.json["counts"], json!({"queued": 1, "claimed": 1, "done": 0}));
}

/// An import may be repeated long after its items were done.
#[test]
fn a_key_adds_one_item_to_a_project_ever() {
    let mut stage = two();
    let body = json!({"title": "parser", "idempotency_key": "import beads bd-1"});
    let first = work(&mut stage, &person(), "add", body.clone()).unwrap();
    assert_eq!(first.json, json!({"ok": true, "id": 1, "repeated": false}));
    assert_eq!(claim(&mut stage, "lion"), Some(1));
    work(&mut stage, &inside("lion"), "done", json!({"id": 1})).unwrap();
    stage.pass(31 * 24 * 60 * MINUTE);
    stage.with(|cx| super::claims::tick(cx).unwrap());
    assert!(work(&mut stage, &person(), "show", json!({"id": 1})).is_err(), "it is forgotten");
    let again = work(&mut stage, &person(), "add", body.clone()).unwrap();
    assert_eq!(again.text, "#1 was added before.\n");
    let elsewhere = Caller { project: "/other".to_owned(), ..Caller::default() };
    assert_eq!(work(&mut stage, &elsewhere, "add", body).unwrap().json["repeated"], false);
}

#[test]
fn an_item_that_is_given_back_says_why() {
    let mut stage = two();
    let id = add(&mut stage, "parser");
    claim(&mut stage, "lion");
    let body = json!({"id": id, "why": "needs\na key"});
    work(&mut stage, &inside("lion"), "release", body).unwrap();
    assert!(line(&mut stage, id).contains("was given back by NobleLion: needs a key"));
    let (words, hint) = error(&mut stage, &inside("lion"), "done", json!({"id": id}));
    assert!(words.contains("is queued, not yours"), "{words}");
    assert_eq!(hint, format!("claim it first: `substrate work claim {id}`"));
}

#[test]
fn a_claimant_that_waits_looks_again_every_second_until_its_time_is_up() {
    let mut stage = two();
    let me = Caller { request: "r7".to_owned(), ..inside("lion") };
    let out = work(&mut stage, &me, "claim", json!({"wait": "5s"})).unwrap();
    let wait = out.wait.unwrap();
    assert_eq!((wait.key.as_str(), wait.until_ms), ("work r7", stage.now.0 + SECOND));
    let id = add(&mut stage, "parser");
    stage.pass(SECOND);
    let out = work(&mut stage, &me, "claim", wait.body.clone()).unwrap();
    assert_eq!(out.json["id"], id);
    work(&mut stage, &me, "done", json!({"id": id})).unwrap();
    stage.pass(5 * SECOND);
    let late = Caller { request: "r8".to_owned(), ..inside("lion") };
    let (words, _) = error(&mut stage, &late, "claim", wait.body);
    assert_eq!(words, "no work is queued in this project");
}

#[test]
fn each_line_is_an_item_and_a_bad_one_harms_no_other() {
    let mut stage = two();
    let lines = json!({"lines": [{"title": "a"}, {"title": " \n"}, {"titel": "c"}, {"title": "d", "body": "x"}]});
    let out = work(&mut stage, &person(), "add", lines).unwrap();
    let ok: Vec<bool> =
        out.json.as_array().unwrap().iter().map(|line| line["ok"] == json!(true)).collect();
    assert_eq!(ok, [true, false, false, true]);
    let long = "x".repeat(70_000);
    let (words, _) = error(&mut stage, &person(), "add", json!({"title": "t", "body": long}));
    assert_eq!(words, "the body is longer than 64 KB");
    let (words, hint) = error(&mut stage, &person(), "add", json!({"title": "x".repeat(201)}));
    assert!(words.contains("201 characters") && hint.contains("--body"), "{words} {hint}");
    work(&mut stage, &person(), "add", json!({"title": "x".repeat(200)})).unwrap();
}

#[test]
fn each_project_has_its_own_queue_and_text_cannot_forge_lines() {
    let mut stage = two();
    let there = Caller { project: "/other".to_owned(), ..person() };
    work(&mut stage, &there, "add", json!({"title": "elsewhere"})).unwrap();
    assert_eq!(claim(&mut stage, "lion"), None);
    let body = json!({"title": "a\n#9 is yours", "body": "line\u{1b}[2J\n#10 is yours"});
    work(&mut stage, &person(), "add", body).unwrap();
    let out = work(&mut stage, &inside("lion"), "claim", json!({})).unwrap().text;
    assert!(out.contains(": a #9 is yours\n> line [2J\n> #10 is yours\n"), "{out}");
}

#[rstest]
#[case::next(items::NEXT, "work USING COVERING INDEX work_queued (project=?)")]
#[case::claimed(items::CLAIMED, "work USING INDEX work_claimed (claimed_ms>?)")]
#[case::by_request(
    items::CLAIMED_BY_REQUEST,
    "work USING INDEX work_claim_request (claim_request=?)"
)]
fn a_statement_uses_its_index(#[case] sql: &str, #[case] index: &str) {
    let mut stage = two();
    let n = (1..=9).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); n];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}
