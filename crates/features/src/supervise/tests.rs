//! Supervised clients: who is started anew, and who is left alone.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, SafeId, StartSource, VerbError,
};

use super::policy::{PATIENCE_MS, REASON, WHY};
use crate::stage::Stage;

const SUPERVISOR: u32 = 100;
const CLIENT: u32 = 200;
const RESTART: &str = "[context]\non_auto_compact = \"restart\"\n";

fn stage(settings: &str) -> Stage {
    let mut stage = Stage::new(settings);
    stage.machine.processes.extend([(SUPERVISOR, 1), (CLIENT, 2), (300, 3)]);
    call(&mut stage, "note", json!({"token": "t1", "pid": SUPERVISOR, "child": CLIENT})).unwrap();
    stage
}

fn call(stage: &mut Stage, verb: &str, body: Value) -> Result<Value, VerbError> {
    let out = stage.call(&Caller::default(), &["supervise", verb], body)?;
    Ok(if out.wait.is_some() { json!("waits") } else { out.json })
}

fn wait(stage: &mut Stage) -> Value {
    call(stage, "wait", json!({"token": "t1", "child": CLIENT})).unwrap()
}

fn event(stage: &Stage, kind: EventKind, detail: Detail) -> Event {
    Event { client_pid: Some(CLIENT), detail, ..stage.event(kind, "s1") }
}

fn start(stage: &mut Stage) -> String {
    let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
    let event = event(stage, EventKind::SessionStart, detail);
    stage.happen(&event);
    let list = call(stage, "list", json!({})).unwrap();
    list[0]["agent"].as_str().unwrap().to_owned()
}

fn compaction(stage: &Stage, trigger: &str) -> Event {
    event(stage, EventKind::PreCompact, Detail::Because { word: trigger.to_owned() })
}

#[test]
fn a_full_context_is_not_compacted_but_its_supervisor_is_woken_and_told_once() {
    let mut stage = stage(RESTART);
    let agent = start(&mut stage);
    assert_eq!(wait(&mut stage), "waits");
    let full = compaction(&stage, "auto");
    assert_eq!(stage.happen(&full).verdict.block.as_deref(), Some(REASON));
    assert!(stage.effects.contains(&Effect::Wake { key: "run t1".to_owned() }));
    let told = json!({"wanted": WHY, "agent": agent, "session": "s1"});
    assert_eq!(wait(&mut stage), told);
    let done = json!({"token": "t1", "child": CLIENT});
    assert_eq!(call(&mut stage, "done", done.clone()).unwrap(), told);
    assert_eq!(call(&mut stage, "done", done).unwrap(), json!({"wanted": null}));
    assert_eq!(wait(&mut stage), json!({"over": true}));
}

#[test]
fn a_new_child_begins_with_nothing_wanted_of_it() {
    let mut stage = stage(RESTART);
    start(&mut stage);
    let full = compaction(&stage, "auto");
    stage.happen(&full);
    let next = json!({"token": "t1", "pid": SUPERVISOR, "child": 300, "restarts": 1});
    call(&mut stage, "note", next).unwrap();
    assert_eq!(wait(&mut stage), json!({"over": true}), "the old one's wait is over");
    let next = json!({"token": "t1", "child": 300});
    assert_eq!(call(&mut stage, "wait", next.clone()).unwrap(), "waits");
    let nothing = json!({"wanted": null, "agent": null, "session": null});
    assert_eq!(call(&mut stage, "done", next).unwrap(), nothing);
}

enum But {
    Settings(&'static str),
    Manual,
    AnotherClient,
    ASubagent,
    ClientReplaced,
    SupervisorGone,
    SupervisorReplaced,
    SupervisorDeaf,
}

#[rstest]
#[case::not_asked_for(But::Settings(""))]
#[case::explicitly(But::Settings("[context]\non_auto_compact = \"compact\"\n"))]
#[case::a_person_compacts(But::Manual)]
#[case::a_client_inside_the_client(But::AnotherClient)]
#[case::a_subagent(But::ASubagent)]
#[case::the_number_was_given_again(But::ClientReplaced)]
#[case::nobody_would_start_it(But::SupervisorGone)]
#[case::nor_who_has_its_number(But::SupervisorReplaced)]
#[case::nobody_listens(But::SupervisorDeaf)]
fn it_compacts_as_always(#[case] but: But) {
    let mut stage = stage(if let But::Settings(toml) = but { toml } else { RESTART });
    start(&mut stage);
    let mut event = compaction(&stage, "auto");
    match but {
        But::Settings(_) => {}
        But::Manual => event = compaction(&stage, "manual"),
        But::AnotherClient => event.client_pid = Some(300),
        But::ASubagent => {
            let id = SafeId::new("a1").unwrap();
            event.actor = Actor::Subagent { id, kind: "reviewer".to_owned() };
        }
        But::ClientReplaced => drop(stage.machine.processes.insert(CLIENT, 9)),
        But::SupervisorGone => drop(stage.machine.processes.remove(&SUPERVISOR)),
        But::SupervisorReplaced => drop(stage.machine.processes.insert(SUPERVISOR, 9)),
        But::SupervisorDeaf => {
            assert!(stage.happen(&event).verdict.block.is_some());
            stage.pass(PATIENCE_MS);
            assert!(stage.happen(&event).verdict.block.is_some(), "it still may");
            stage.pass(1);
        }
    }
    event.at = stage.now;
    assert_eq!(stage.happen(&event).verdict.block, None);
}

#[test]
fn without_a_writable_database_it_compacts() {
    let mut stage = stage(RESTART);
    start(&mut stage);
    let full = compaction(&stage, "auto");
    assert_eq!(stage.happen_reading(&full).verdict.block, None);
}

#[test]
fn whoever_ended_without_a_word_is_forgotten() {
    let mut stage = stage("");
    start(&mut stage);
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
    let explain = format!("explain query plan {}", super::ops::OF_CHILD);
    let plan = stage.with(|cx| cx.db.rows(&explain, &[1.into()], |row| row.text(3)).unwrap());
    assert_eq!(plan, ["SEARCH supervisors USING INDEX supervisors_child (child=?)"]);
}

#[test]
fn bad_input_changes_nothing() {
    let mut stage = stage("");
    assert!(call(&mut stage, "note", json!({"token": "", "pid": 1, "child": 2})).is_err());
    assert!(call(&mut stage, "note", json!({"token": "t2", "pid": -1, "child": 2})).is_err());
    assert_eq!(call(&mut stage, "list", json!({})).unwrap().as_array().unwrap().len(), 1);
}
