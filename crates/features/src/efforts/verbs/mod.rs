//! The commands, and what they share: who calls, which effort is meant, and the text of an entry.

pub(crate) mod life;
pub(crate) mod look;
pub(crate) mod work;

use clap::Args;
use serde::{Deserialize, Serialize};
use substrate_core::redact::redacted;
use substrate_core::size::Bytes;
use substrate_core::{Caller, Cx, Effect, Local, VerbError, Who};

use super::ops::windows::{self, OpenWindow};
use super::ops::{self, Effort};
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
