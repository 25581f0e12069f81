//! When the task list is read, and what follows from it.

use substrate_core::wish::{Cause, Insists};
use substrate_core::{
    Actor, Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Outcome, Settings,
    StartSource, Wish,
};

use super::list::Unfinished;
use super::{asked, ops};
use crate::journal;

/// How long a stored list is kept.
const KEPT_MS: i64 = 30 * 86_400_000;

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if is_asked(event, settings) { need(event).into_iter().collect() } else { Vec::new() }
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !is_asked(event, cx.settings) {
        return Ok(Vec::new());
    }
    let list = unfinished(cx, event)?;
    let wish = if event.kind == EventKind::Stop {
        let insists = if cx.settings.on("todos.insist") {
            Insists::WhileItLasts
        } else {
            Insists::OncePerTurn
        };
        let block = |reason| Wish::block(Cause::Tasks, reason, insists);
        let reason = list.reason();
        if reason.is_some() && waits_for_an_answer(cx, event)? { None } else { reason.map(block) }
    } else {
        list.briefing().map(|text| Wish::context(text, None))
    };
    Ok(wish.into_iter().collect())
}

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    _outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(session) = &event.session else { return Ok(()) };
    if !is_main(event) {
        return Ok(());
    }
    match (event.kind, &event.detail) {
        (EventKind::PostToolUse, Detail::ToolAfter { call, .. }) => {
            if let Some(items) = &call.todos {
                ops::replace(cx.db, session, &Unfinished::in_list(items), cx.now)?;
            }
        }
        // A session that ends may be resumed with its list. A cleared one starts over.
        (EventKind::SessionStart, Detail::SessionStart { source: StartSource::Clear, .. }) => {
            ops::forget(cx.db, session)?;
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    ops::LISTS.tick(cx, KEPT_MS)
}

fn is_main(event: &Event) -> bool {
    matches!(event.actor, Actor::Main { .. })
}

/// Whether the list matters at this event.
fn is_asked(event: &Event, settings: &Settings) -> bool {
    is_main(event)
        && match (event.kind, &event.detail) {
            // A session with background tasks only waits for them; another Stop comes when they are done.
            (EventKind::Stop, Detail::Stop { n_background_tasks, .. }) => {
                *n_background_tasks == 0 && settings.on("todos.block")
            }
            (EventKind::SessionStart, Detail::SessionStart { source, .. }) => {
                *source == StartSource::Compact
            }
            _ => false,
        }
}

/// Whether the agent has just asked its user something, in its last words or with its last tool.
fn waits_for_an_answer(cx: &mut Cx<'_>, event: &Event) -> Result<bool, DbError> {
    let Detail::Stop { last_message, .. } = &event.detail else { return Ok(false) };
    if last_message.as_deref().is_some_and(asked::is_question) {
        return Ok(true);
    }
    let Some(session) = &event.session else { return Ok(false) };
    let tool = journal::face::latest_tool(cx.db, session.as_str(), event.actor.key())?;
    Ok(tool.is_some() && tool.as_deref() == event.dialect.question_tool)
}

fn need(event: &Event) -> Option<Need> {
    let folder = event.tasks_dir.clone()?;
    Some(Need::Files { folder, ends: ".json", max_files: 200, max_bytes: 256 * 1024 })
}

/// The task files decide. Without any, the latest list that a call wrote does.
fn unfinished(cx: &mut Cx<'_>, event: &Event) -> Result<Unfinished, DbError> {
    let need = need(event);
    let files = need.as_ref().and_then(|need| cx.facts.files(need)).unwrap_or_default();
    match &event.session {
        _ if !files.is_empty() => Ok(Unfinished::in_files(event.dialect, files)),
        Some(session) => ops::load(cx.db, session),
        None => Ok(Unfinished::default()),
    }
}
