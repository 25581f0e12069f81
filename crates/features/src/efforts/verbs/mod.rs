//! The commands, and what they share: who calls, which effort is meant, the text of an entry, and how efforts, tasks,
//! windows and messages are shown.

pub(crate) mod life;
pub(crate) mod look;
pub(crate) mod work;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::redact::redacted;
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::{Caller, Cx, DbError, Effect, Local, Timestamp, VerbError, Who};

use super::ops::messages::Message;
use super::ops::windows::{self, OpenWindow, Window};
use super::ops::{self, Effort, Task};
use super::{begin, words};
use crate::identity::book::{self, MAIN};
use crate::identity::holder;

/// The longest text of an entry or injection.
const MAX_TEXT: usize = 64 << 10;

/// An agent, one of its subagents, or the person at the terminal.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) who: Who,
    /// Session and actor. The person has none, and neither has an agent without a session.
    pub(crate) seat: Option<(String, String)>,
}

impl Worker {
    pub(crate) fn is_person(&self) -> bool {
        self.who.agent == book::USER
    }

    /// The open window of the session's main thread.
    pub(crate) fn main_window(&self, cx: &mut Cx<'_>) -> Result<Option<OpenWindow>, VerbError> {
        match &self.seat {
            Some((session, _)) => Ok(windows::open(cx.db, session, MAIN)?),
            None => Ok(None),
        }
    }
}

/// Who calls. Fails where efforts are off, because nothing would act on what the command does.
fn worker(cx: &mut Cx<'_>, caller: &Caller) -> Result<Worker, VerbError> {
    if !cx.settings.on("efforts.on") {
        return Err(VerbError::user(
            "efforts are switched off here",
            "`efforts.on = true` in config.toml or in the project's .substrate.toml switches them on; so does `substrate hooks install --profile engine`",
        ));
    }
    let who = holder::caller(cx, caller)?;
    let seat = if who.agent == book::USER { None } else { holder::seat(cx.db, &who)? };
    Ok(Worker { who, seat })
}

/// An agent in its session. Only an agent begins efforts, never a subagent or the person.
fn agent(cx: &mut Cx<'_>, caller: &Caller) -> Result<(Worker, String), VerbError> {
    let worker = worker(cx, caller)?;
    if worker.is_person() {
        return Err(VerbError::user(
            "an effort belongs to an agent, and you are the person",
            "let the agent run it, or name one: `--agent NAME`",
        ));
    }
    if !worker.who.sub.is_empty() {
        return Err(VerbError::user(
            format!("an effort belongs to {}, not to one of its subagents", worker.who.name),
            "`substrate effort log \"…\"` is for you; your agent begins and ends efforts",
        ));
    }
    let Some((session, _)) = worker.seat.clone() else {
        return Err(holder::no_session(&worker.who.name));
    };
    if windows::open(cx.db, &session, MAIN)?.is_none() {
        begin::open_main(cx, &session, &worker.who, &caller.project, None)?;
    }
    Ok((worker, session))
}

/// The effort that was named, or the one that the caller works on.
fn effort(
    cx: &mut Cx<'_>,
    caller: &Caller,
    worker: &Worker,
    named: Option<i64>,
) -> Result<Effort, VerbError> {
    let id = match named {
        Some(id) => Some(id),
        None => match worker.main_window(cx)?.and_then(|window| window.effort) {
            Some(effort) => Some(effort.id),
            None => ops::active(cx.db, worker.who.agent, &caller.project)?,
        },
    };
    let Some(id) = id else {
        return Err(VerbError::user(
            format!("{} has no effort", worker.who.name),
            "`substrate effort start SKILL` begins one; `substrate effort list` shows what is open",
        ));
    };
    ops::one(cx.db, id)?.ok_or_else(|| {
        VerbError::user(
            format!("there is no effort {id}"),
            "`substrate effort list --all` shows every effort",
        )
    })
}

/// The same effort, for a caller that may change it: its own agent or the person.
fn own(
    cx: &mut Cx<'_>,
    caller: &Caller,
    worker: &Worker,
    named: Option<i64>,
) -> Result<Effort, VerbError> {
    let effort = effort(cx, caller, worker, named)?;
    if let Some(finished) = effort.finished {
        return Err(VerbError::user(
            format!("effort {} was finished {}", effort.id, words::ago(cx.now, finished)),
            format!(
                "`substrate effort start {} --task {}` begins another one in the same task",
                effort.skill, effort.task.relative
            ),
        ));
    }
    if effort.agent != worker.who.agent && !worker.is_person() {
        let owner = book::name_of(cx.db, effort.agent)?;
        return Err(VerbError::user(
            format!("effort {} is {owner}'s", effort.id),
            format!(
                "`substrate effort inject --effort {} \"…\"` tells {owner} something; `substrate effort resume {}` takes it over",
                effort.id, effort.id
            ),
        ));
    }
    Ok(effort)
}

/// The effort that a flag names.
#[derive(Args, Serialize, Deserialize, Clone, Copy, Debug, Default)]
#[serde(default)]
struct EffortFlag {
    /// The effort's number (default: yours)
    #[arg(long)]
    effort: Option<i64>,
}

/// The text of an entry: an argument, a flag or a file.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct EntryText {
    /// The text
    #[arg(required_unless_present_any = ["body", "body_file"], allow_hyphen_values = true)]
    text: Option<String>,
    /// The text as a flag
    #[arg(long, conflicts_with_all = ["text", "body_file"], allow_hyphen_values = true)]
    #[serde(skip_serializing)]
    body: Option<String>,
    /// A file with the text; `-` is standard input
    #[arg(long, conflicts_with = "text")]
    body_file: Option<String>,
}

impl EntryText {
    /// Reads the file, in the caller's own process.
    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.text = self.text.take().or(self.body.take());
        if let Some(path) = self.body_file.take() {
            self.text = Some(local.read(&path)?);
        }
        Ok(())
    }

    /// The text without secrets: it goes into a file that may be committed.
    fn checked(&self) -> Result<String, VerbError> {
        let text = self.text.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            return Err(VerbError::user(
                "there is no text",
                "put it in quotes, or use `--body-file -`",
            ));
        }
        if text.len() > MAX_TEXT {
            return Err(VerbError::user(
                format!("the text is longer than {}", Bytes::of(MAX_TEXT)),
                "put the details into a file, and name that file",
            ));
        }
        let plain: String =
            text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
        Ok(redacted(&plain, MAX_TEXT, false).into_owned())
    }
}

/// Appends to one of the effort's artifacts after the commit.
fn append(cx: &mut Cx<'_>, effort: &Effort, name: String, text: String) {
    let (root, dir) = (effort.task.root.clone(), effort.task.relative.clone());
    cx.effects.push(Effect::Artifact { root, dir, name, text, fresh: false });
}

/// The working tree that a command runs in, or else its folder.
fn working_tree(local: &mut dyn Local) -> String {
    let here = local.place("-");
    match here.root.is_empty() {
        true => here.path.strip_suffix("/-").unwrap_or(&here.path).to_owned(),
        false => here.root,
    }
}

/// `3  brainstorm/explore  NobleLion  tasks/login  active, begun 5m ago`, with tabs between the columns.
fn effort_line(cx: &mut Cx<'_>, effort: &Effort) -> Result<String, DbError> {
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

fn effort_json(cx: &mut Cx<'_>, effort: &Effort) -> Result<Value, DbError> {
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

/// `tasks/login  active  2 efforts  Log in with a key  [auth, keys]`, with tabs between the columns.
fn task_line(task: &Task, n_efforts: i64, n_active: i64) -> String {
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

fn task_json(task: &Task, n_efforts: i64, n_active: i64) -> Value {
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
fn window_line(cx: &mut Cx<'_>, window: &Window, with_session: bool) -> Result<String, DbError> {
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

fn window_json(cx: &mut Cx<'_>, window: &Window) -> Result<Value, DbError> {
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

fn message_text(message: &Message, now: Timestamp) -> String {
    let body = message.body.trim_end().replace('\n', "\n    ");
    let body = if body.is_empty() { String::new() } else { format!("\n    {body}") };
    format!("  {} · {} · {}{body}\n", words::ago(now, message.at), message.who, message.kind)
}

fn message_json(message: &Message) -> Value {
    json!({"who": message.who, "kind": message.kind, "body": message.body, "at_ms": message.at.0})
}
