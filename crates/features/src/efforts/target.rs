//! Who calls a command, and which effort is meant.

use substrate_core::{Caller, Cx, VerbError, Who};

use super::ops::{self, Effort};
use super::ops_windows::{self, Standing};
use super::{begin, words};
use crate::identity::book::{self, MAIN};
use crate::identity::holder;

/// Whoever works: an agent or one of its subagents, with the session and actor that it is.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) who: Who,
    /// Session and actor; `None` for the person, and for an agent that has no session.
    pub(super) seat: Option<(String, String)>,
}

impl Worker {
    pub(super) fn is_person(&self) -> bool {
        self.who.agent == book::USER
    }

    /// The open window of the session's main thread.
    pub(super) fn main_window(&self, cx: &mut Cx<'_>) -> Result<Option<Standing>, VerbError> {
        match &self.seat {
            Some((session, _)) => Ok(ops_windows::standing(cx.db, session, MAIN)?),
            None => Ok(None),
        }
    }
}

/// Who calls. Where efforts are switched off, a command would do what nothing then acts on.
pub(super) fn worker(cx: &mut Cx<'_>) -> Result<Worker, VerbError> {
    if !cx.settings.on("efforts.on") {
        return Err(VerbError::user(
            "efforts are switched off here",
            "`efforts.on = true` in config.toml or in the project's .substrate.toml switches them on; so does `substrate hooks install --profile engine`",
        ));
    }
    let who = holder::caller(cx)?;
    let seat = if who.agent == book::USER { None } else { holder::seat(cx.db, &who)? };
    Ok(Worker { who, seat })
}

/// An agent itself, in its session: only that one begins and ends efforts.
pub(super) fn agent(cx: &mut Cx<'_>, caller: &Caller) -> Result<(Worker, String), VerbError> {
    let worker = worker(cx)?;
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
    if ops_windows::standing(cx.db, &session, MAIN)?.is_none() {
        begin::open_main(cx, &session, &worker.who, &caller.project, None)?;
    }
    Ok((worker, session))
}

/// The effort that is meant: the one that is named, or the one that the caller works on.
pub(super) fn effort(
    cx: &mut Cx<'_>,
    caller: &Caller,
    worker: &Worker,
    named: Option<i64>,
) -> Result<Effort, VerbError> {
    let id = match named {
        Some(id) => Some(id),
        None => match worker.main_window(cx)?.and_then(|standing| standing.effort) {
            Some(effort) => Some(effort.id),
            None => ops::active(cx.db, worker.who.agent, &caller.project)?,
        },
    };
    let Some(id) = id else {
        return Err(VerbError::user(
            format!("{} works on no effort", worker.who.name),
            "`substrate effort start SKILL` begins one, `substrate effort list` shows those there are",
        ));
    };
    ops::one(cx.db, id)?.ok_or_else(|| {
        VerbError::user(
            format!("there is no effort {id}"),
            "`substrate effort list --all` shows those there are",
        )
    })
}

/// The same, for whoever is going to change it: its own agent, or the person.
pub(super) fn own(
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
                "`substrate effort start {} --task {}` begins another in the same task",
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
