//! Stories of efforts on a real database with all features and simulated time.

mod begin;
mod briefings;
mod commands;
mod heartbeat;
mod hooks;
mod offer;
mod pending;
mod skills;
mod start;

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Outcome, Output, Param, SafeId, StartSource,
    ToolCall, ToolClass, VerbError,
};

use crate::efforts::ops::{self, messages, windows};
use crate::stage::Stage;

const ON: &str = "[efforts]\non = true\n";
const SECOND: i64 = 1_000;

/// An actor: a session, and a subagent in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct One(&'static str, Option<&'static str>);

const LION: One = One("lion", None);
const OTTER: One = One("otter", None);
const SCOUT: One = One("lion", Some("s1"));
const TESTER: One = One("lion", Some("t1"));

/// `NobleLion` in session `lion` (process 10) and `CalmOtter` in session `otter` (process 20).
fn two() -> Stage {
    with(ON)
}

fn with(settings: &str) -> Stage {
    let mut stage = Stage::new(settings);
    stage.machine.processes.insert(10, 1);
    stage.machine.processes.insert(20, 1);
    start(&mut stage, LION, StartSource::Startup);
    start(&mut stage, OTTER, StartSource::Startup);
    stage
}

fn event(stage: &Stage, who: One, kind: EventKind, detail: Detail) -> Event {
    let actor = match who.1 {
        None => Actor::Main { kind: None },
        Some(id) => Actor::Subagent { id: SafeId::new(id).unwrap(), kind: "scout".to_owned() },
    };
    let (name, pid) = if who.0.starts_with("lion") { ("NobleLion", 10) } else { ("CalmOtter", 20) };
    Event {
        actor,
        detail,
        client_pid: Some(pid),
        wanted_agent: Some(name.to_owned()),
        transcript: Some(format!("/t/{}.jsonl", who.0)),
        ..stage.event(kind, who.0)
    }
}

fn happen(stage: &mut Stage, who: One, kind: EventKind, detail: Detail) -> Outcome {
    let event = event(stage, who, kind, detail);
    stage.told(&event)
}

fn start(stage: &mut Stage, who: One, source: StartSource) -> Outcome {
    happen(stage, who, EventKind::SessionStart, Detail::SessionStart { source, model: None })
}

fn prompt(stage: &mut Stage, who: One) -> Outcome {
    let detail = Detail::Prompt { text: "go on".to_owned(), from_person: true };
    happen(stage, who, EventKind::UserPromptSubmit, detail)
}

fn call(name: &str, class: ToolClass) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        class,
        use_id: None,
        files: vec![],
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    }
}

fn shell(command: &str) -> ToolCall {
    ToolCall { command: Some(command.to_owned()), ..call("Bash", ToolClass::Shell) }
}

/// Before a tool call that does not run Substrate.
fn tool(stage: &mut Stage, who: One) -> Outcome {
    before(stage, who, call("Glob", ToolClass::Read))
}

fn before(stage: &mut Stage, who: One, call: ToolCall) -> Outcome {
    happen(stage, who, EventKind::PreToolUse, Detail::ToolBefore { call })
}

fn after(stage: &mut Stage, who: One, call: ToolCall) -> Outcome {
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
    happen(stage, who, EventKind::PostToolUse, detail)
}

fn done(stage: &mut Stage, who: One) -> Outcome {
    after(stage, who, call("Glob", ToolClass::Read))
}

fn denial(outcome: &Outcome) -> Option<&str> {
    match &outcome.verdict.permission {
        Some(Permission::Deny { reason }) => Some(reason),
        _ => None,
    }
}

/// The text of this feature's sections.
fn said(outcome: &Outcome) -> String {
    let context = outcome.verdict.context.clone().unwrap_or_default();
    let ours = context.split("[substrate ").filter_map(|part| part.strip_prefix("efforts] "));
    ours.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn caller(who: One) -> Caller {
    let agent = who.1.map(|_| "NobleLion/scout-1".to_owned());
    Caller {
        session: Some(who.0.to_owned()),
        agent_typed: agent.is_some(),
        agent,
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        inside_client: who.1.is_none(),
        ..Caller::default()
    }
}

fn person() -> Caller {
    Caller { cwd: "/repo".to_owned(), project: "/repo".to_owned(), ..Caller::default() }
}

fn run(stage: &mut Stage, who: One, verb: &str, body: Value) -> Result<Output, VerbError> {
    stage.call(&caller(who), &["effort", verb], body)
}

fn must(stage: &mut Stage, who: One, verb: &str, body: Value) -> Output {
    run(stage, who, verb, body).unwrap_or_else(|error| panic!("effort {verb}: {error:?}"))
}

fn error(result: Result<Output, VerbError>) -> String {
    match result {
        Err(VerbError::User { message, hint }) => format!("{message}\n{hint}"),
        other => panic!("no mistake of the caller: {other:?}"),
    }
}

/// The lion begins a brainstorm in the task `tasks/login`.
fn brainstorm(stage: &mut Stage) -> i64 {
    let found =
        json!({"config": {"phases": ["explore", "choose"], "folder": "/skills/brainstorm"}});
    let body = json!({"skill": "brainstorm", "task": "tasks/login", "found": found});
    must(stage, LION, "start", body).json["effort"]["id"].as_i64().unwrap()
}

fn log(stage: &mut Stage, who: One, text: &str) -> Output {
    must(stage, who, "log", json!({"text": text}))
}

/// The heartbeat of an actor's open window.
fn n_calls(stage: &mut Stage, who: One) -> i64 {
    let open = windows(stage, who).into_iter().find(|window| window["ended_ms"].is_null());
    open.map_or(-1, |window| window["heartbeat"].as_i64().unwrap())
}

/// The windows of an actor, in order.
fn windows(stage: &mut Stage, who: One) -> Vec<Value> {
    let shown = stage.call(&caller(One(who.0, None)), &["session", "show"], json!({}));
    let actor = who.1.unwrap_or("main");
    let all = shown.map(|shown| shown.json["windows"].as_array().cloned().unwrap_or_default());
    all.unwrap_or_default().into_iter().filter(|window| window["actor"] == actor).collect()
}

/// What was written into artifacts, as `path: text`.
fn written(stage: &Stage) -> Vec<String> {
    let file = |effect: &Effect| match effect {
        Effect::Artifact { root, dir, name, text, .. } => {
            Some(format!("{root}/{dir}/{name}: {text}"))
        }
        _ => None,
    };
    stage.effects.iter().filter_map(file).collect()
}

#[rstest]
#[case::open_window(windows::OPEN, &["w USING INDEX windows_open (session=? AND actor=?)", "m USING INDEX windows_open (session=? AND actor=?)", "e USING INTEGER PRIMARY KEY (rowid=?)"])]
#[case::active(ops::ACTIVE, &["efforts USING INDEX efforts_active (agent=? AND project=?)"])]
#[case::unfinished(ops::UNFINISHED, &["efforts USING INDEX efforts_unfinished (project=?)"])]
#[case::open(messages::OPEN, &["effort_pending USING INDEX effort_pending_open (effort=?)"])]
fn a_statement_uses_its_index_and_sorts_nothing(#[case] sql: &str, #[case] indexes: &[&str]) {
    let mut stage = two();
    let n = (1..=9).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); n];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    for index in indexes {
        assert!(plan.contains(index), "{plan}");
    }
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}
