//! Mail on a real database with all features and simulated time: stories of messages and those who get them.

mod anyorder;
mod boxes;
mod flags;
mod hostile;
mod intros;
mod ledger;
mod plans;
mod sending;
mod subs;
mod time;
mod topics;

use serde_json::{Value, json};
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Output, SafeId, StartSource, ToolCall,
    ToolClass, VerbError, Verdict,
};

use crate::stage::Stage;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 86_400_000;

/// A stage with `NobleLion` in session `lion` and `CalmOtter` in session `otter`.
fn two() -> Stage {
    // No heartbeats: what holds an agent here is mail.
    let mut stage = Stage::new("[persist]\nmode = \"off\"\n");
    for (session, name) in [("lion", "NobleLion"), ("otter", "CalmOtter")] {
        begin_as(&mut stage, session, name);
    }
    stage
}

fn begin_as(stage: &mut Stage, session: &str, name: &str) {
    let event = Event {
        wanted_agent: Some(name.to_owned()),
        ..start(stage, session, StartSource::Startup)
    };
    stage.told(&event);
}

fn start(stage: &Stage, session: &str, source: StartSource) -> Event {
    let detail = Detail::SessionStart { source, model: None };
    Event { detail, ..stage.event(EventKind::SessionStart, session) }
}

fn prompt(stage: &Stage, session: &str) -> Event {
    let detail = Detail::Prompt { text: "go on".to_owned(), from_person: true };
    Event { detail, ..stage.event(EventKind::UserPromptSubmit, session) }
}

fn notification(stage: &Stage, session: &str) -> Event {
    let detail = Detail::Prompt { text: "<task-notification>".to_owned(), from_person: false };
    Event { detail, ..stage.event(EventKind::UserPromptSubmit, session) }
}

fn stop(stage: &Stage, session: &str, again: bool) -> Event {
    let detail =
        Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None };
    Event { detail, ..stage.event(EventKind::Stop, session) }
}

fn tool(stage: &Stage, kind: EventKind, session: &str) -> Event {
    let call = ToolCall {
        name: "Read".to_owned(),
        class: ToolClass::Read,
        use_id: None,
        files: vec![],
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    };
    let detail = match kind {
        EventKind::PostToolUse => {
            Detail::ToolAfter { call, response: String::new(), duration_ms: None }
        }
        EventKind::PostToolUseFailure => {
            Detail::ToolFailed { call, error: String::new(), interrupted: false, duration_ms: None }
        }
        _ => Detail::ToolBefore { call },
    };
    Event { detail, ..stage.event(kind, session) }
}

/// The same event, but of the session's subagent `id`.
fn of_sub(event: Event, id: &str, kind: &str) -> Event {
    let actor = Actor::Subagent { id: SafeId::new(id).unwrap(), kind: kind.to_owned() };
    let kind = if event.kind == EventKind::Stop { EventKind::SubagentStop } else { event.kind };
    Event { actor, kind, name: kind.name().to_owned(), ..event }
}

/// A command inside a session.
fn inside(session: &str) -> Caller {
    Caller {
        session: Some(session.to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        cwd: "/repo".to_owned(),
        ..Caller::default()
    }
}

/// A command of the person at the keyboard.
fn person() -> Caller {
    Caller { project: "/repo".to_owned(), cwd: "/repo".to_owned(), ..Caller::default() }
}

/// A command whose caller prints what it gets, and says so.
fn run(stage: &mut Stage, caller: &Caller, path: &str, body: Value) -> Output {
    let output = run_unprinted(stage, caller, path, body);
    if let Some(after) = &output.after {
        run_unprinted(stage, caller, path, after.clone());
    }
    output
}

fn run_unprinted(stage: &mut Stage, caller: &Caller, path: &str, body: Value) -> Output {
    let words: Vec<&str> = path.split(' ').collect();
    match stage.call(caller, &words, body) {
        Ok(output) => output,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The message of an error, and its hint.
fn refused(stage: &mut Stage, caller: &Caller, path: &str, body: Value) -> (String, String) {
    let words: Vec<&str> = path.split(' ').collect();
    match stage.call(caller, &words, body) {
        Err(VerbError::User { message, hint }) => (message, hint),
        Err(error) => panic!("{path}: {error}"),
        Ok(output) => panic!("{path}: {}", output.text),
    }
}

/// Sends a message and returns its number.
fn send(stage: &mut Stage, from: &Caller, to: &str, subject: &str) -> i64 {
    send_with(stage, from, to, subject, &json!({}))
}

fn send_with(stage: &mut Stage, from: &Caller, to: &str, subject: &str, more: &Value) -> i64 {
    let mut body = json!({"to": to, "subject": subject, "body": "the text"});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    run(stage, from, "send", body).json["id"].as_i64().unwrap()
}

/// The person sends a message that is too long to be told whole; its number.
fn send_long(stage: &mut Stage, to: &str, subject: &str) -> i64 {
    send_with(stage, &person(), to, subject, &json!({"body": "x".repeat(601)}))
}

/// The state of a message at its only recipient.
fn state(stage: &mut Stage, id: i64) -> String {
    let out = run(stage, &person(), "status", json!({"id": id}));
    out.json["state"].as_str().unwrap().to_owned()
}

/// What mail said in a verdict: the context without the other features' sections, or the block.
fn said(verdict: &Verdict) -> Option<String> {
    let context = verdict.context.as_ref().and_then(|context| {
        let mail = context.split("[substrate mail] ").nth(1)?;
        Some(mail.split("\n\n[substrate ").next().unwrap_or(mail).to_owned())
    });
    context.or_else(|| verdict.block.clone())
}

fn wakes(stage: &Stage) -> usize {
    stage.effects.iter().filter(|effect| matches!(effect, Effect::Wake { .. })).count()
}
