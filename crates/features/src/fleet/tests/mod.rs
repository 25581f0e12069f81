//! The status of agents: every row of its table, and stories on a real database with all features.

mod activity;
mod colours;
mod needs;
mod stories;
mod table;
mod views;

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::{
    Actor, Caller, Detail, Event, EventKind, Output, Pane, Param, SafeId, StartSource, ToolCall,
    ToolClass, VerbError,
};

use crate::fleet::ops;
use crate::stage::Stage;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;
const SOCKET: &str = "/tmp/tmux-1000/default";

/// `NobleLion` in session `lion` (process 10, pane %1) and `CalmOtter` in session `otter` (process 20, pane %2).
fn two() -> Stage {
    with("")
}

fn with(settings: &str) -> Stage {
    let mut stage = Stage::new(settings);
    for (session, name) in [("lion", "NobleLion"), ("otter", "CalmOtter")] {
        let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
        let event = of(&stage, session, EventKind::SessionStart, detail);
        stage.machine.processes.insert(event.client_pid.unwrap(), 1);
        stage.told(&Event { wanted_agent: Some(name.to_owned()), ..event });
    }
    stage
}

/// An event of a session's main thread.
fn of(stage: &Stage, session: &str, kind: EventKind, detail: Detail) -> Event {
    let (pid, pane) = if session == "lion" { (10, "%1") } else { (20, "%2") };
    let pane = Pane::of(&format!("{SOCKET},1,0"), pane);
    Event { detail, client_pid: Some(pid), pane, ..stage.event(kind, session) }
}

/// The same of a subagent.
fn of_sub(stage: &Stage, session: &str, id: &str, kind: EventKind, detail: Detail) -> Event {
    let actor = Actor::Subagent { id: SafeId::new(id).unwrap(), kind: "coder".to_owned() };
    Event { actor, ..of(stage, session, kind, detail) }
}

fn bash(command: &str) -> ToolCall {
    ToolCall {
        name: "Bash".to_owned(),
        class: ToolClass::Shell,
        use_id: Some(format!("toolu_{command}")),
        files: vec![],
        command: Some(command.to_owned()),
        input: json!({"command": command}).to_string(),
        ..ToolCall::default()
    }
}

fn before(command: &str) -> Detail {
    Detail::ToolBefore { call: bash(command) }
}

fn after(command: &str) -> Detail {
    Detail::ToolAfter { call: bash(command), response: "{}".to_owned(), duration_ms: Some(1) }
}

fn failed(command: &str, interrupted: bool) -> Detail {
    let error = "Exit code 3\nbad".to_owned();
    Detail::ToolFailed { call: bash(command), error, interrupted, duration_ms: None }
}

fn stop(words: &str) -> Detail {
    Detail::Stop {
        again: false,
        last_message: Some(words.to_owned()),
        n_background_tasks: 0,
        transcript: None,
    }
}

fn prompt(text: &str) -> Detail {
    Detail::Prompt { text: text.to_owned(), from_person: true }
}

fn notice(kind: &str) -> Detail {
    Detail::Notification { kind: kind.to_owned(), message: "a person is needed".to_owned() }
}

/// Something happens to a session's main thread.
fn happens(stage: &mut Stage, session: &str, kind: EventKind, detail: Detail) {
    let event = of(stage, session, kind, detail);
    stage.told(&event);
}

fn person() -> Caller {
    Caller { project: "/repo".to_owned(), ..Caller::default() }
}

fn call(stage: &mut Stage, path: &[&str], body: Value) -> Result<Output, VerbError> {
    stage.call(&person(), path, body)
}

/// What the fleet shows: `NobleLion working`, in its order.
fn fleet(stage: &mut Stage) -> Vec<String> {
    let json = call(stage, &["fleet", "list"], json!({})).unwrap().json;
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let actors = json["actors"].as_array().unwrap().clone();
    actors.iter().map(|one| format!("{} {}", word(&one["address"]), word(&one["status"]))).collect()
}

fn status(stage: &mut Stage, address: &str) -> String {
    let shown = fleet(stage);
    let found = shown.iter().find_map(|line| line.strip_prefix(&format!("{address} ")));
    found.unwrap_or("(not shown)").to_owned()
}

#[rstest]
#[case::one(
    ops::ONE,
    "fleet_status USING INDEX sqlite_autoindex_fleet_status_1 (session=? AND actor=?)"
)]
#[case::in_pane(ops::IN_PANE, "fleet_status USING INDEX fleet_status_pane (pane=? AND socket=?)")]
#[case::in_attention(
    ops::IN_ATTENTION,
    "fleet_status USING INDEX sqlite_autoindex_fleet_status_1 (session=?)"
)]
#[case::waiting(ops::WAITING, "fleet_status USING INDEX fleet_status_waits (since_ms>?)")]
fn a_statement_uses_its_index(#[case] sql: &str, #[case] index: &str) {
    let mut stage = two();
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); sql.matches('$').count()];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}

#[test]
fn an_agent_that_keeps_working_is_not_written_again() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    // Any write would now fail, and with it the feature.
    let refuse = "create trigger refused before update on fleet_status begin select raise(abort, 'written'); end";
    stage.with(|cx| cx.db.execute(refuse, &[]).unwrap());
    for _ in 0..3 {
        stage.pass(20 * SECOND);
        happens(&mut stage, "lion", EventKind::PreToolUse, before("ls"));
        happens(&mut stage, "lion", EventKind::PostToolUse, after("ls"));
    }
    let event = of(&stage, "lion", EventKind::Stop, stop("ok"));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.happen(&event)));
    assert!(outcome.is_err(), "a change is written");
}
