//! Renders efforts, tasks, windows and messages, for people and as JSON.

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::{Cx, DbError, Timestamp};

use super::ops::messages::Message;
use super::ops::windows::Window;
use super::ops::{Effort, Task};
use super::words;
use crate::identity::book;

/// `3  brainstorm/explore  NobleLion  tasks/login  active, begun 5m ago`, with tabs between the columns.
pub(super) fn line(cx: &mut Cx<'_>, effort: &Effort) -> Result<String, DbError> {
    let owner = book::name_of(cx.db, effort.agent)?;
    let phase = if effort.phase.is_empty() { String::new() } else { format!("/{}", effort.phase) };
    let state = match effort.finished {
        Some(at) => format!("finished {}", words::ago(cx.now, at)),
        None => format!("active, begun {}", words::ago(cx.now, effort.started)),
    };
    Ok(format!(
        "{}\t{}{phase}\t{owner}\t{}\t{state}\n",
        effort.id,
        effort.skill,
        one_line(&effort.task.relative, 120)
    ))
}

pub(super) fn json(cx: &mut Cx<'_>, effort: &Effort) -> Result<Value, DbError> {
    Ok(json!({
        "id": effort.id,
        "skill": effort.skill,
        "mode": effort.mode,
        "ordinal": effort.ordinal,
        "lifecycle": if effort.finished.is_some() { "finished" } else { "active" },
        "phase": effort.phase,
        "agent": book::name_of(cx.db, effort.agent)?,
        "project": effort.project,
        "task": effort.task.dir,
        "artifacts": words::artifacts(effort),
        "metadata": effort.config,
        "block_at": effort.block_at,
        "started_ms": effort.started.0,
        "finished_ms": effort.finished.map(|at| at.0),
        "dehydrated_ms": effort.payload_at.map(|at| at.0),
        "dehydrated_told_ms": effort.payload_told.map(|at| at.0),
    }))
}

/// A task's title, or else its folder.
pub(super) fn task_title(task: &Task) -> String {
    let title = if task.title.is_empty() { &task.relative } else { &task.title };
    one_line(title, 120)
}

/// `tasks/login  active  2 efforts  Log in with a key  [auth, keys]`, with tabs between the columns.
pub(super) fn task_line(task: &Task, n_efforts: i64, n_active: i64) -> String {
    let state = if n_active > 0 { "active" } else { "dormant" };
    let efforts =
        if n_efforts == 1 { "1 effort".to_owned() } else { format!("{n_efforts} efforts") };
    let keywords = match task.keywords.as_str() {
        "" => String::new(),
        keywords => format!("\t[{}]", one_line(keywords, 120)),
    };
    let title = match task.title.as_str() {
        "" => String::new(),
        title => format!("\t{}", one_line(title, 120)),
    };
    format!("{}\t{state}\t{efforts}{title}{keywords}\n", one_line(&task.relative, 120))
}

pub(super) fn task_json(task: &Task, n_efforts: i64, n_active: i64) -> Value {
    let keywords: Vec<&str> =
        task.keywords.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    json!({
        "dir": task.dir,
        "relative": task.relative,
        "title": task.title,
        "keywords": keywords,
        "state": if n_active > 0 { "active" } else { "dormant" },
        "efforts": n_efforts,
        "made_ms": task.made.0,
    })
}

/// `  12  main  NobleLion  effort 3  4 calls  begun 5m ago`
pub(super) fn window_line(
    cx: &mut Cx<'_>,
    window: &Window,
    with_session: bool,
) -> Result<String, DbError> {
    let agent = book::name_of(cx.db, window.agent)?;
    let actor = match window.kind.as_str() {
        "" => window.actor.clone(),
        kind => format!("{} ({})", one_line(&window.actor, 20), one_line(kind, 30)),
    };
    let effort = window.effort.map_or_else(String::new, |effort| {
        format!("effort {effort}, {} calls since its last log entry", window.n_calls)
    });
    let after = window.prev.map_or_else(String::new, |prev| format!("after {prev}"));
    let state = match (window.ended, &window.ended_why) {
        (Some(at), why) => {
            format!("ended {} ({})", words::ago(cx.now, at), why.as_deref().unwrap_or("?"))
        }
        (None, _) => format!("open, begun {}", words::ago(cx.now, window.started)),
    };
    let session =
        if with_session { format!("{}\t", one_line(&window.session, 40)) } else { String::new() };
    let indent = if window.parent.is_some() { "  " } else { "" };
    let notes: Vec<String> =
        [effort, after, state].into_iter().filter(|note| !note.is_empty()).collect();
    Ok(format!("{}\t{session}{indent}{actor}\t{agent}\t{}\n", window.id, notes.join("  ")))
}

pub(super) fn window_json(cx: &mut Cx<'_>, window: &Window) -> Result<Value, DbError> {
    Ok(json!({
        "id": window.id,
        "session": window.session,
        "actor": window.actor,
        "kind": window.kind,
        "agent": book::name_of(cx.db, window.agent)?,
        "effort": window.effort,
        "prev": window.prev,
        "parent": window.parent,
        "heartbeat": window.n_calls,
        "context_used": window.context_used,
        "started_ms": window.started.0,
        "ended_ms": window.ended.map(|at| at.0),
        "ended_why": window.ended_why,
    }))
}

pub(super) fn message(message: &Message, now: Timestamp) -> String {
    let body = message.body.trim_end().replace('\n', "\n    ");
    let body = if body.is_empty() { String::new() } else { format!("\n    {body}") };
    format!("  {} · {} · {}{body}\n", words::ago(now, message.at), message.who, message.kind)
}

pub(super) fn message_json(message: &Message) -> Value {
    json!({"who": message.who, "kind": message.kind, "body": message.body, "at_ms": message.at.0})
}
