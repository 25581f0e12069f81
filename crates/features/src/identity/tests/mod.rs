//! Sessions, agents and subagents on a real database.

mod callers;
mod presence;
mod sessions;
mod shells;
mod subagents;
mod verbs;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_core::{
    Actor, Caller, Db, DbError, Detail, Effect, Event, EventKind, FeatureError, Migration, Param,
    Row, SafeId, StartSource, Timestamp, ToolCall, ToolClass, VerbError, Who, engine,
};
use substrate_store::{Database, Durability, Prepared, Setup, Writer};

use super::MIGRATIONS;
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

fn opened(folder: &Path, migrations: &'static [Migration]) -> Writer {
    let setup = Setup {
        schema: &[("identity", migrations)],
        now: Timestamp(0),
        backups: folder,
        patience: Duration::from_secs(5),
    };
    let Prepared { writer, .. } = Database::at(&folder.join("db")).prepare(&setup).unwrap();
    writer
}

#[test]
fn processes_of_sessions_that_have_ended_have_left_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = opened(folder.path(), &MIGRATIONS[..1]);
    let mut tx = before.begin(Durability::Full).unwrap();
    for (session, pid, ended) in
        [("ended", 10, Param::Int(7)), ("open", 11, Param::Null), ("moved", 10, Param::Null)]
    {
        tx.execute(
            "insert into agent_sessions
               (session, agent, client, project, cwd, client_pid, client_began, started_ms, last_ms, ended_ms)
             values ($1, 3, 'c', '/p', '/p', $2, 1, 1, 5, $3)",
            &[Param::Text(session), Param::Int(pid), ended],
        )
        .unwrap();
    }
    tx.commit().unwrap();
    drop(before);

    let mut now = opened(folder.path(), MIGRATIONS);
    let mut tx = now.begin_reading().unwrap();
    let read =
        |row: &dyn Row| -> Result<_, DbError> { Ok((row.text(0)?, row.int(1)?, row.opt_int(2)?)) };
    let db: &mut dyn Db = &mut tx;
    let rows = db
        .rows("select session, pid, left_ms from client_processes order by session", &[], read)
        .unwrap();
    let row = |session: &str, pid, left| (session.to_owned(), pid, left);
    assert_eq!(rows, [row("ended", 10, Some(5)), row("moved", 10, None), row("open", 11, None)]);
}
