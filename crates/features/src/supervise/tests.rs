//! Supervised clients: which is replaced, which is left alone, and what a fresh one is told.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::wish::CLAIM_MS;
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Outcome, SafeId, StartSource, VerbError,
};

use super::policy::{PATIENCE_MS, REASON, SETTLE_MS, WHY, begin, go_on};
use crate::stage::Stage;

const SUPERVISOR: u32 = 100;
const WRAPPER: u32 = 150;
const CLIENT: u32 = 200;
const FRESH: u32 = 300;
/// A client that another client's shell started.
const NESTED: u32 = 400;
const RESTART: &str = "efforts.on = true\n[context]\non_auto_compact = \"restart\"\n";

/// A supervisor, a wrapper, and the client below that.
fn stage(settings: &str) -> Stage {
    let mut stage = Stage::new(settings);
    for (pid, parent) in [
        (SUPERVISOR, 1),
        (WRAPPER, SUPERVISOR),
        (CLIENT, WRAPPER),
        (FRESH, WRAPPER),
        (NESTED, 390),
        (390, CLIENT),
    ] {
        stage.machine.processes.insert(pid, i64::from(pid));
        stage.machine.parents.insert(pid, parent);
    }
    announce(&mut stage, 0, None);
    stage
}

fn announce(stage: &mut Stage, restarts: u32, effort: Option<i64>) {
    let body = json!({"token": "t1", "pid": SUPERVISOR, "child": 0, "restarts": restarts, "effort": effort});
    call(stage, "note", body).unwrap();
}

fn note_child(stage: &mut Stage, child: u32) {
    call(stage, "note", json!({"token": "t1", "pid": SUPERVISOR, "child": child})).unwrap();
}

fn call(stage: &mut Stage, verb: &str, body: Value) -> Result<Value, VerbError> {
    let out = stage.call(&Caller::default(), &["supervise", verb], body)?;
    Ok(if out.wait.is_some() { json!("waits") } else { out.json })
}

fn wait(stage: &mut Stage) -> Value {
    call(stage, "wait", json!({"token": "t1", "child": WRAPPER})).unwrap()
}

fn event(stage: &Stage, pid: u32, kind: EventKind, detail: Detail) -> Event {
    let (client_pid, attended) = (Some(pid), Some(true));
    Event { client_pid, attended, detail, ..stage.event(kind, &format!("s{pid}")) }
}

fn started(stage: &Stage, pid: u32, source: StartSource) -> Event {
    event(stage, pid, EventKind::SessionStart, Detail::SessionStart { source, model: None })
}

/// A session begins in that process. Returns its agent.
fn start(stage: &mut Stage, pid: u32) -> Outcome {
    let event = started(stage, pid, StartSource::Startup);
    stage.told(&event)
}

fn agent(stage: &mut Stage) -> String {
    let list = call(stage, "list", json!({})).unwrap();
    list[0]["agent"].as_str().unwrap().to_owned()
}

fn begin_effort(stage: &mut Stage, pid: u32) -> i64 {
    let caller = Caller {
        session: Some(format!("s{pid}")),
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        inside_client: true,
        ..Caller::default()
    };
    let body = json!({"skill": "fix", "root": "/repo"});
    let out = stage.call(&caller, &["effort", "start"], body).unwrap();
    out.json["effort"]["id"].as_i64().unwrap()
}

fn compaction(stage: &Stage, pid: u32, trigger: &str) -> Event {
    event(stage, pid, EventKind::PreCompact, Detail::Because { word: trigger.to_owned() })
}

fn prompt(stage: &mut Stage, pid: u32) -> Outcome {
    let detail = Detail::Prompt { text: "do it".to_owned(), from_person: true };
    let event = event(stage, pid, EventKind::UserPromptSubmit, detail);
    stage.told(&event)
}

fn waiter(stage: &Stage, pid: u32) -> Event {
    let detail = Detail::Waiter { beside: EventKind::SessionStart };
    event(stage, pid, EventKind::Waiter, detail)
}

/// A supervised client with a full context, and its effort.
fn full() -> (Stage, i64) {
    let mut stage = stage(RESTART);
    note_child(&mut stage, WRAPPER);
    start(&mut stage, CLIENT);
    let effort = begin_effort(&mut stage, CLIENT);
    let full = compaction(&stage, CLIENT, "auto");
    assert_eq!(stage.happen(&full).verdict.block.as_deref(), Some(REASON));
    (stage, effort)
}

/// The same after a restart, before the fresh client begins.
fn restarted() -> (Stage, i64) {
    let (mut stage, effort) = full();
    let detail = Detail::Because { word: "other".to_owned() };
    let end = event(&stage, CLIENT, EventKind::SessionEnd, detail);
    stage.happen(&end);
    stage.machine.processes.remove(&CLIENT);
    call(&mut stage, "done", json!({"token": "t1", "child": WRAPPER})).unwrap();
    announce(&mut stage, 1, Some(effort));
    (stage, effort)
}

fn n_told(outcome: &Outcome, text: &str) -> usize {
    let verdict = &outcome.verdict;
    let all = [&verdict.context, &verdict.block].into_iter().flatten();
    all.map(|told| told.matches(text).count()).sum()
}

#[test]
fn a_full_context_is_not_compacted_but_its_supervisor_is_woken_and_told_once() {
    let mut stage = stage(RESTART);
    // The client may be heard of before its supervisor reports the started process.
    start(&mut stage, CLIENT);
    note_child(&mut stage, WRAPPER);
    let agent = agent(&mut stage);
    let effort = begin_effort(&mut stage, CLIENT);
    assert_eq!(wait(&mut stage), "waits");
    let full = compaction(&stage, CLIENT, "auto");
    assert_eq!(stage.happen(&full).verdict.block.as_deref(), Some(REASON));
    assert!(stage.effects.contains(&Effect::Wake { key: "run t1".to_owned() }));
    let told = json!({
        "wanted": WHY, "agent": agent, "session": "s200", "effort": effort,
        "client": {"pid": CLIENT, "began": CLIENT},
    });
    assert_eq!(wait(&mut stage), told);
    let done = json!({"token": "t1", "child": WRAPPER});
    assert_eq!(call(&mut stage, "done", done.clone()).unwrap(), told);
    assert_eq!(call(&mut stage, "done", done).unwrap(), json!({"wanted": null}));
    assert_eq!(wait(&mut stage), json!({"over": true}));
}

#[test]
fn a_new_child_begins_with_nothing_wanted_of_it() {
    let (mut stage, _) = full();
    announce(&mut stage, 1, None);
    assert_eq!(wait(&mut stage), json!({"over": true}), "the old one's wait is over");
    note_child(&mut stage, FRESH);
    let next = json!({"token": "t1", "child": FRESH});
    assert_eq!(call(&mut stage, "wait", next.clone()).unwrap(), "waits");
    let done = call(&mut stage, "done", next).unwrap();
    assert_eq!((&done["wanted"], &done["agent"]), (&Value::Null, &Value::Null));
}

enum But {
    Settings(&'static str),
    NoEffort,
    EffortFinished,
    Manual,
    Nested,
    ASubagent,
    NotBelow,
    SupervisorGone,
    SupervisorReplaced,
    SupervisorDeaf,
}

#[rstest]
#[case::not_asked_for(But::Settings("efforts.on = true"))]
#[case::explicitly(But::Settings("efforts.on = true\n[context]\non_auto_compact = \"compact\"\n"))]
#[case::efforts_are_off(But::Settings("[context]\non_auto_compact = \"restart\"\n"))]
#[case::nothing_to_restart_from(But::NoEffort)]
#[case::the_effort_is_finished(But::EffortFinished)]
#[case::a_person_compacts(But::Manual)]
#[case::a_client_inside_the_client(But::Nested)]
#[case::a_subagent(But::ASubagent)]
#[case::a_client_elsewhere(But::NotBelow)]
#[case::the_supervisor_is_gone(But::SupervisorGone)]
#[case::its_pid_was_recycled(But::SupervisorReplaced)]
#[case::the_supervisor_does_not_react(But::SupervisorDeaf)]
fn it_compacts_as_always(#[case] but: But) {
    let settings = match but {
        But::Settings(toml) => toml,
        But::NoEffort => "profile = \"engine\"",
        _ => RESTART,
    };
    let mut stage = stage(settings);
    note_child(&mut stage, WRAPPER);
    if matches!(but, But::NotBelow) {
        stage.machine.parents.insert(CLIENT, 1);
    }
    start(&mut stage, CLIENT);
    let has_efforts = stage.settings().on("efforts.on");
    let effort =
        (has_efforts && !matches!(but, But::NoEffort)).then(|| begin_effort(&mut stage, CLIENT));
    let mut event = compaction(&stage, CLIENT, "auto");
    match but {
        But::Settings(_) | But::NoEffort | But::NotBelow => {}
        But::EffortFinished => {
            let caller = Caller {
                project: "/repo".to_owned(),
                session: Some("s200".to_owned()),
                inside_client: true,
                ..Caller::default()
            };
            stage.call(&caller, &["effort", "finish"], json!({"id": effort})).unwrap();
        }
        But::Manual => event = compaction(&stage, CLIENT, "manual"),
        But::Nested => {
            start(&mut stage, NESTED);
            begin_effort(&mut stage, NESTED);
            event = compaction(&stage, NESTED, "auto");
        }
        But::ASubagent => {
            let id = SafeId::new("a1").unwrap();
            event.actor = Actor::Subagent { id, kind: "reviewer".to_owned() };
        }
        But::SupervisorGone => drop(stage.machine.processes.remove(&SUPERVISOR)),
        But::SupervisorReplaced => drop(stage.machine.processes.insert(SUPERVISOR, 9)),
        But::SupervisorDeaf => {
            assert!(stage.happen(&event).verdict.block.is_some());
            stage.pass(PATIENCE_MS);
            event.at = stage.now;
            assert!(stage.happen(&event).verdict.block.is_some(), "it still may");
            stage.pass(1);
        }
    }
    event.at = stage.now;
    let outcome = stage.happen(&event);
    assert_eq!(outcome.verdict.block, None);
    let wanted = call(&mut stage, "list", json!({})).unwrap();
    if !matches!(but, But::SupervisorDeaf) {
        assert!(wanted.as_array().unwrap().iter().all(|one| one["wanted"].is_null()), "{wanted}");
    }
}

#[test]
fn a_client_that_is_not_the_first_below_its_supervisor_takes_the_place_of_one_that_has_ended() {
    let mut stage = stage(RESTART);
    note_child(&mut stage, WRAPPER);
    start(&mut stage, CLIENT);
    stage.machine.processes.remove(&CLIENT);
    start(&mut stage, FRESH);
    begin_effort(&mut stage, FRESH);
    let full = compaction(&stage, FRESH, "auto");
    assert_eq!(stage.happen(&full).verdict.block.as_deref(), Some(REASON));
}

#[test]
fn without_process_ancestry_the_started_process_is_the_client() {
    let mut stage = stage(RESTART);
    stage.machine.parents.clear();
    note_child(&mut stage, CLIENT);
    start(&mut stage, CLIENT);
    begin_effort(&mut stage, CLIENT);
    let full = compaction(&stage, CLIENT, "auto");
    assert!(stage.happen(&full).verdict.block.is_some());
}

#[test]
fn a_fresh_client_is_told_at_its_start_and_its_waiter_begins_the_turn() {
    let (mut stage, effort) = restarted();
    let told = start(&mut stage, FRESH);
    assert_eq!(n_told(&told, &go_on(effort)), 1, "{told:?}");
    let mut beside = waiter(&stage, FRESH);
    let outcome = stage.told(&beside);
    // A prompt of the client's own comes first.
    assert!(outcome.verdict.wait.is_some() && outcome.verdict.block.is_none(), "{outcome:?}");
    stage.pass(SETTLE_MS);
    beside.at = stage.now;
    let outcome = stage.told(&beside);
    assert_eq!(outcome.verdict.block, Some(begin(effort)));
    // The turn has begun, so nothing is told again.
    for _ in 0..2 {
        assert_eq!(n_told(&prompt(&mut stage, FRESH), "Continue"), 0);
        stage.pass(CLAIM_MS);
        let beside = waiter(&stage, FRESH);
        assert_eq!(stage.told(&beside).verdict.block, None);
    }
    assert_eq!(n_told(&start(&mut stage, FRESH), "Continue effort"), 0, "nor after a /clear");
}

#[test]
fn a_client_that_has_a_prompt_begins_by_itself() {
    let (mut stage, effort) = restarted();
    assert_eq!(n_told(&start(&mut stage, FRESH), &go_on(effort)), 1);
    assert_eq!(n_told(&prompt(&mut stage, FRESH), "Continue effort"), 0, "once");
    stage.pass(10 * SETTLE_MS);
    let beside = waiter(&stage, FRESH);
    assert_eq!(stage.told(&beside).verdict.block, None);
    let stop =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let stop = event(&stage, FRESH, EventKind::Stop, stop);
    stage.told(&stop);
    let beside = waiter(&stage, FRESH);
    assert_eq!(stage.told(&beside).verdict.block, None, "nor after its turn");
}

#[test]
fn words_that_were_lost_are_told_with_the_prompt_or_by_the_waiter() {
    for by_prompt in [true, false] {
        let (mut stage, effort) = restarted();
        let event = started(&stage, FRESH, StartSource::Startup);
        let lost = stage.happen(&event);
        let beside = waiter(&stage, FRESH);
        assert_eq!(stage.happen(&beside).verdict.block, None, "an answer is on its way");
        stage.printed(lost.request, false);
        let told = if by_prompt { prompt(&mut stage, FRESH) } else { stage.told(&beside) };
        assert_eq!(n_told(&told, &go_on(effort)), 1, "{told:?}");
        stage.pass(CLAIM_MS);
        let beside = waiter(&stage, FRESH);
        assert_eq!(stage.told(&beside).verdict.block, None, "once");
        assert_eq!(n_told(&prompt(&mut stage, FRESH), "Continue"), 0);
    }
}

#[test]
fn without_a_person_the_waiter_leaves_at_once() {
    let (mut stage, effort) = restarted();
    let event = Event { attended: Some(false), ..started(&stage, FRESH, StartSource::Startup) };
    assert_eq!(n_told(&stage.told(&event), &go_on(effort)), 1);
    let beside = Event { attended: Some(false), ..waiter(&stage, FRESH) };
    let outcome = stage.told(&beside);
    assert_eq!((outcome.verdict.block, outcome.verdict.wait), (None, None));
}

#[test]
fn a_wrapper_that_brings_the_full_conversation_back_has_it_compacted() {
    let (mut stage, _) = restarted();
    let event = started(&stage, FRESH, StartSource::Resume);
    assert_eq!(n_told(&stage.told(&event), "Continue effort"), 0);
    stage.pass(10 * SETTLE_MS);
    let beside = waiter(&stage, FRESH);
    assert_eq!(stage.told(&beside).verdict.block, None);
    let full = compaction(&stage, FRESH, "auto");
    assert_eq!(stage.happen(&full).verdict.block, None);
}

#[test]
fn a_client_inside_the_fresh_one_is_told_nothing() {
    let (mut stage, effort) = restarted();
    stage.machine.parents.insert(NESTED, FRESH);
    assert_eq!(n_told(&start(&mut stage, FRESH), &go_on(effort)), 1);
    assert_eq!(n_told(&start(&mut stage, NESTED), "Continue effort"), 0);
    stage.pass(10 * SETTLE_MS);
    let beside = waiter(&stage, NESTED);
    assert_eq!(stage.told(&beside).verdict.block, None);
}

#[test]
fn without_a_writable_database_it_compacts() {
    let mut stage = stage(RESTART);
    start(&mut stage, CLIENT);
    begin_effort(&mut stage, CLIENT);
    let full = compaction(&stage, CLIENT, "auto");
    assert_eq!(stage.happen_reading(&full).verdict.block, None);
}

#[test]
fn a_supervisor_that_ended_silently_is_forgotten() {
    let mut stage = stage("");
    note_child(&mut stage, WRAPPER);
    start(&mut stage, CLIENT);
    stage.with(|cx| assert!(!super::policy::tick(cx).unwrap()));
    assert_eq!(wait(&mut stage), "waits");
    stage.machine.processes.remove(&SUPERVISOR);
    assert_eq!(call(&mut stage, "list", json!({})).unwrap(), json!([]));
    stage.with(|cx| assert!(!super::policy::tick(cx).unwrap()));
    assert_eq!(wait(&mut stage), json!({"over": true}));
}

#[test]
fn a_client_is_found_by_its_index() {
    let mut stage = stage("");
    let explain = format!("explain query plan {}", super::ops::OF_CLIENT);
    let plan = stage.with(|cx| cx.db.rows(&explain, &[1.into()], |row| row.text(3)).unwrap());
    assert_eq!(plan, ["SEARCH supervisors USING INDEX supervisors_client (client=?)"]);
}

#[test]
fn bad_input_changes_nothing() {
    let mut stage = stage("");
    note_child(&mut stage, WRAPPER);
    assert!(call(&mut stage, "note", json!({"token": "", "pid": 1, "child": 2})).is_err());
    assert!(call(&mut stage, "note", json!({"token": "t2", "pid": -1, "child": 2})).is_err());
    assert_eq!(call(&mut stage, "list", json!({})).unwrap().as_array().unwrap().len(), 1);
}
