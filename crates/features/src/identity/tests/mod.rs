//! Sessions, agents and subagents on a real database.

mod callers;
mod migrations;
mod presence;
mod sessions;
mod shells;
mod subagents;
mod verbs;

use serde_json::{Value, json};
use substrate_core::engine;
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, FeatureError, SafeId, StartSource, ToolCall,
    ToolClass, VerbError, Who,
};

use crate::stage::{Stage, in_shell, lineage};

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

fn stage() -> Stage {
    Stage::new("")
}

/// The beginning of a session.
fn start(stage: &Stage, session: &str, source: StartSource) -> Event {
    let detail = Detail::SessionStart { source, model: None };
    Event { detail, ..stage.event(EventKind::SessionStart, session) }
}

/// Starts a session and returns its agent's name.
fn begin(stage: &mut Stage, session: &str) -> String {
    let event = start(stage, session, StartSource::Startup);
    stage.happen(&event);
    agent_of(stage, session)
}

/// The same in a process that runs.
fn begin_in(stage: &mut Stage, session: &str, pid: u32) -> String {
    stage.machine.processes.insert(pid, i64::from(pid) * 10);
    let event = Event { client_pid: Some(pid), ..start(stage, session, StartSource::Startup) };
    stage.happen(&event);
    agent_of(stage, session)
}

/// Starts a session that asks for an agent, and returns the one it gets.
fn begin_as(stage: &mut Stage, session: &str, wanted: &str) -> String {
    let event = Event {
        wanted_agent: Some(wanted.to_owned()),
        ..start(stage, session, StartSource::Startup)
    };
    stage.happen(&event);
    agent_of(stage, session)
}

fn end(stage: &mut Stage, session: &str, word: &str) {
    let detail = Detail::Because { word: word.to_owned() };
    let event = Event { detail, ..stage.event(EventKind::SessionEnd, session) };
    stage.happen(&event);
}

fn stop(stage: &Stage, session: &str) -> Event {
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    Event { detail, ..stage.event(EventKind::Stop, session) }
}

fn sub(id: &str, kind: &str) -> Actor {
    Actor::Subagent { id: SafeId::new(id).unwrap(), kind: kind.to_owned() }
}

fn bash(use_id: &str, command: &str) -> ToolCall {
    ToolCall {
        name: "Bash".to_owned(),
        class: ToolClass::Shell,
        use_id: Some(use_id.to_owned()),
        files: Vec::new(),
        command: Some(command.to_owned()),
        input: json!({"command": command}).to_string(),
        ..ToolCall::default()
    }
}

/// A command inside the client.
fn inside(session: &str) -> Caller {
    Caller {
        session: Some(session.to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        ..Caller::default()
    }
}

/// A person's command.
fn outside() -> Caller {
    Caller { project: "/repo".to_owned(), ..Caller::default() }
}

fn asked(stage: &mut Stage, caller: &Caller) -> Result<Option<Who>, FeatureError> {
    stage.with(|cx| engine::identify(crate::ALL, cx, caller))
}

fn who(stage: &mut Stage, caller: &Caller) -> Option<Who> {
    asked(stage, caller).unwrap()
}

fn agent_of(stage: &mut Stage, session: &str) -> String {
    who(stage, &Caller { inside_client: false, ..inside(session) }).unwrap().name
}

fn has_stopped(stage: &mut Stage, session: &str) -> bool {
    who(stage, &inside(session)).unwrap().has_stopped
}

fn text(stage: &mut Stage, caller: &Caller, path: &[&str], body: Value) -> String {
    stage.call(caller, path, body).unwrap().text
}

/// The message and hint of a failing command.
fn error(stage: &mut Stage, caller: &Caller, path: &[&str], body: Value) -> (String, String) {
    match stage.call(caller, path, body) {
        Err(VerbError::User { message, hint }) => (message, hint),
        other => panic!("no mistake of the caller: {other:?}"),
    }
}

/// The identity file that was written last, as JSON.
fn kept(stage: &Stage) -> Option<(String, Value)> {
    stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::Keep { path, text } => Some((path.clone(), serde_json::from_str(text).unwrap())),
        _ => None,
    })
}
