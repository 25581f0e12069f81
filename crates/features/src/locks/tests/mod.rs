//! Leases on a real database, with all features and simulated time.

mod commands;
mod edits;
mod git;
mod globs;
mod lending;
mod mirrors;
mod model;
mod names;
mod plans;
mod release;
mod shells;
mod sweep_let;
mod sweep_table;
mod writes;

use serde_json::{Value, json};
use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Outcome, Output, SafeId, StartSource,
    ToolCall, ToolClass, VerbError,
};

use crate::stage::Stage;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;

/// An actor: a session, and perhaps a subagent in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct One(&'static str, Option<&'static str>);

const LION: One = One("lion", None);
const OTTER: One = One("otter", None);
const CODER: One = One("lion", Some("c1"));
const TESTER: One = One("lion", Some("t1"));

/// `NobleLion` in session `lion` (process 10) and `CalmOtter` in session `otter` (process 20).
fn two() -> Stage {
    with("")
}

fn with(settings: &str) -> Stage {
    // Guards have opinions about the same commands.
    let mut stage = Stage::new(&format!("guards.on = false\n{settings}"));
    for (session, name, pid) in [("lion", "NobleLion", 10), ("otter", "CalmOtter", 20)] {
        stage.machine.processes.insert(pid, 1);
        let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
        let event = Event {
            detail,
            wanted_agent: Some(name.to_owned()),
            client_pid: Some(pid),
            ..stage.event(EventKind::SessionStart, session)
        };
        stage.told(&event);
    }
    stage
}

fn event(stage: &Stage, who: One, kind: EventKind, detail: Detail) -> Event {
    let actor = match who.1 {
        None => Actor::Main { kind: None },
        Some(id) => Actor::Subagent { id: SafeId::new(id).unwrap(), kind: "coder".to_owned() },
    };
    let pid = if who.0 == "lion" { 10 } else { 20 };
    Event { actor, detail, client_pid: Some(pid), ..stage.event(kind, who.0) }
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

fn edit_call(file: &str) -> ToolCall {
    let input = json!({"file_path": file}).to_string();
    ToolCall { files: vec![file.to_owned()], input, ..call("Edit", ToolClass::Edit) }
}

/// Before an edit.
fn edit(stage: &mut Stage, who: One, file: &str) -> Outcome {
    let detail = Detail::ToolBefore { call: edit_call(file) };
    let event = event(stage, who, EventKind::PreToolUse, detail);
    stage.told(&event)
}

/// After an edit.
fn edited(stage: &mut Stage, who: One, file: &str) -> Outcome {
    let detail =
        Detail::ToolAfter { call: edit_call(file), response: String::new(), duration_ms: Some(5) };
    let event = event(stage, who, EventKind::PostToolUse, detail);
    stage.told(&event)
}

fn failed(stage: &mut Stage, who: One, file: &str) -> Outcome {
    let detail = Detail::ToolFailed {
        call: edit_call(file),
        error: "no match".to_owned(),
        interrupted: false,
        duration_ms: None,
    };
    let event = event(stage, who, EventKind::PostToolUseFailure, detail);
    stage.told(&event)
}

/// A whole edit. Returns whether it was allowed.
fn edits(stage: &mut Stage, who: One, file: &str) -> bool {
    let outcome = edit(stage, who, file);
    let is_allowed = denial(&outcome).is_none();
    if is_allowed {
        edited(stage, who, file);
    }
    is_allowed
}

fn denial(outcome: &Outcome) -> Option<&str> {
    match &outcome.verdict.permission {
        Some(Permission::Deny { reason }) => Some(reason),
        _ => None,
    }
}

fn bash_call(command: &str) -> ToolCall {
    let input = json!({"command": command}).to_string();
    ToolCall { command: Some(command.to_owned()), input, ..call("Bash", ToolClass::Shell) }
}

/// Before a shell command.
fn bash(stage: &mut Stage, who: One, command: &str) -> Outcome {
    let detail = Detail::ToolBefore { call: bash_call(command) };
    let event = event(stage, who, EventKind::PreToolUse, detail);
    stage.told(&event)
}

/// After a shell command that ran for `ms`.
fn bashed(stage: &mut Stage, who: One, command: &str, ms: i64) -> Outcome {
    let detail = Detail::ToolAfter {
        call: bash_call(command),
        response: String::new(),
        duration_ms: Some(ms),
    };
    let event = event(stage, who, EventKind::PostToolUse, detail);
    stage.told(&event)
}

/// The parent starts a subagent and waits for it.
fn agent(stage: &mut Stage, who: One) -> Outcome {
    let detail = Detail::ToolBefore { call: agent_call() };
    let event = event(stage, who, EventKind::PreToolUse, detail);
    stage.told(&event)
}

/// The call that started a subagent ends, and its parent goes on.
fn agent_over(stage: &mut Stage, who: One) {
    let detail =
        Detail::ToolAfter { call: agent_call(), response: String::new(), duration_ms: None };
    let event = event(stage, who, EventKind::PostToolUse, detail);
    stage.told(&event);
}

fn agent_call() -> ToolCall {
    ToolCall { use_id: Some("toolu_agent".to_owned()), ..call("Agent", ToolClass::Agent) }
}

/// An event that has nothing to do with files.
fn reads(stage: &mut Stage, who: One) -> Outcome {
    let detail = Detail::ToolBefore { call: call("Read", ToolClass::Read) };
    let event = event(stage, who, EventKind::PreToolUse, detail);
    stage.told(&event)
}

fn stop(stage: &mut Stage, who: One) -> Outcome {
    stop_again(stage, who, false)
}

fn stop_again(stage: &mut Stage, who: One, again: bool) -> Outcome {
    let kind = if who.1.is_some() { EventKind::SubagentStop } else { EventKind::Stop };
    let detail =
        Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None };
    let event = event(stage, who, kind, detail);
    stage.told(&event)
}

/// Stops until nothing blocks it. Mail from Substrate does so once.
fn really_stop(stage: &mut Stage, who: One) {
    for again in [false, true, true] {
        if stop_again(stage, who, again).verdict.block.is_none() {
            return;
        }
    }
    panic!("it never stops");
}

fn end(stage: &mut Stage, session: One) {
    let detail = Detail::Because { word: "exit".to_owned() };
    let event = event(stage, session, EventKind::SessionEnd, detail);
    stage.told(&event);
}

/// A command from inside that session.
fn caller(who: One) -> Caller {
    let agent = match who {
        One("lion", None) => "NobleLion",
        One("lion", _) => "NobleLion/coder-1",
        _ => "CalmOtter",
    };
    Caller {
        session: Some(who.0.to_owned()),
        agent: Some(agent.to_owned()),
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        inside_client: true,
        ..Caller::default()
    }
}

fn person() -> Caller {
    Caller { cwd: "/repo".to_owned(), project: "/repo".to_owned(), ..Caller::default() }
}

fn run(stage: &mut Stage, caller: &Caller, verb: &str, body: Value) -> Result<Output, String> {
    stage.call(caller, &["locks", verb], body).map_err(|error| match error {
        VerbError::User { message, hint } => format!("{message} | {hint}"),
        other => panic!("not a user error: {other:?}"),
    })
}

/// Who holds what, as the person sees it: `src/a.rs NobleLion held`.
fn held(stage: &mut Stage) -> Vec<String> {
    let out = run(stage, &person(), "list", json!({})).unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let mut list: Vec<String> = out.json["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {}", text(one, "file"), text(one, "holder"), text(one, "state")))
        .collect();
    list.sort();
    list
}

/// The subjects of an actor's unread mail.
fn mail(stage: &mut Stage, who: One) -> Vec<String> {
    let out = stage.call(&caller(who), &["inbox"], json!({"peek": true})).unwrap();
    let list = out.json["messages"].as_array().unwrap();
    list.iter().map(|one| one["subject"].as_str().unwrap().to_owned()).collect()
}

/// The note that rides on the result of a harmless call.
fn riding(stage: &mut Stage, who: One) -> Option<String> {
    let call = call("Read", ToolClass::Read);
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: Some(5) };
    let event = event(stage, who, EventKind::PostToolUse, detail);
    let said = stage.told(&event).verdict.context?;
    said.strip_prefix("[substrate locks] ").map(str::to_owned)
}

fn woken(stage: &Stage) -> Vec<&str> {
    stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Wake { key } => key.strip_prefix("lock "),
            _ => None,
        })
        .collect()
}

/// What happened to a file, oldest first.
fn history(stage: &mut Stage, path: &str) -> Vec<String> {
    let out = run(stage, &person(), "history", json!({"path": path})).unwrap();
    let list = out.json["history"].as_array().unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    list.iter().rev().map(|one| format!("{} {}", text(one, "who"), text(one, "what"))).collect()
}
