//! What an actor with an effort is told, and when. An actor without one is told nothing and never counted.

use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Settings, StartSource, ToolClass, Wish,
};

use super::begin::{self, Adoption};
use super::ops::messages;
use super::ops::windows::{self, OpenWindow};
use super::start::{self, Plan};
use super::{heartbeat, pending, words};
use crate::directives;
use crate::identity::book;

/// The log entries that a window starts with.
const N_LOGGED: i64 = 3;

/// Whether an event may tell files. The effort says which.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.on("efforts.on")
        && matches!(event.actor, Actor::Main { .. })
        && matches!(
            event.kind,
            EventKind::SessionStart
                | EventKind::PreToolUse
                | EventKind::PostToolUse
                | EventKind::UserPromptSubmit
                | EventKind::UserPromptExpansion
        )
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !cx.settings.on("efforts.on") || cx.who.is_none() || event.session.is_none() {
        return Ok(Vec::new());
    }
    let is_main = matches!(event.actor, Actor::Main { .. });
    match (event.kind, &event.detail) {
        (EventKind::SessionStart, Detail::SessionStart { source, .. }) if is_main => {
            started(cx, event, *source)
        }
        (EventKind::PreToolUse, Detail::ToolBefore { call }) => {
            let Some(mut window) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
            if call.class == ToolClass::Shell && !window.has_shell {
                windows::has_shell(cx.db, window.id)?;
                window.has_shell = true;
            }
            let Some(effort) = window.effort.clone() else { return Ok(Vec::new()) };
            Ok(heartbeat::before(cx, event, call, &window, &effort)?)
        }
        (EventKind::PostToolUse, _) if is_main => {
            if let Some(plan) = start::plan(cx, event)? {
                return Ok(vec![start::told(cx, &plan)?]);
            }
            let Some(window) = open_window(cx, event)? else { return Ok(Vec::new()) };
            let mut wishes: Vec<Wish> = pending::idle(&window).into_iter().collect();
            if window.effort.as_ref().is_some_and(|effort| effort.has_news) {
                wishes.extend(news(cx, &window)?);
            }
            Ok(wishes)
        }
        (EventKind::UserPromptSubmit, detail) if is_main => prompted(cx, event, detail),
        (EventKind::UserPromptExpansion, _) if is_main => {
            let Some(plan) = start::plan(cx, event)? else { return Ok(Vec::new()) };
            Ok(vec![start::told(cx, &plan)?])
        }
        // This becomes part of the summariser's instructions.
        (EventKind::PreCompact, _) if is_main => {
            let Some(window) = open_window(cx, event)? else { return Ok(Vec::new()) };
            let effort = pending::effort(cx, &window)?;
            Ok(effort.iter().map(|effort| context(words::for_the_summary(effort))).collect())
        }
        (EventKind::SubagentStart, _) if !is_main => {
            let Some(window) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
            let Some(effort) = pending::effort(cx, &window)? else { return Ok(Vec::new()) };
            Ok(vec![context(words::for_subagent(&effort))])
        }
        _ => Ok(Vec::new()),
    }
}

pub(super) fn open_window(
    cx: &mut Cx<'_>,
    event: &Event,
) -> Result<Option<OpenWindow>, FeatureError> {
    let Some(session) = &event.session else { return Ok(None) };
    Ok(windows::open(cx.db, session.as_str(), event.actor.key())?)
}

/// A window begins. If it goes on with an effort, it is told where that stands.
fn started(cx: &mut Cx<'_>, event: &Event, source: StartSource) -> Result<Vec<Wish>, FeatureError> {
    let begun = begin::main(cx, event, source)?;
    let Some((window, why_not)) = begun else { return Ok(Vec::new()) };
    let mut wishes: Vec<Wish> = Vec::new();
    wishes.extend(why_not.map(|why| context(words::not_wanted(&why))));
    let Some(effort) = pending::effort(cx, &window)? else {
        let adoption = begin::adoption(cx.settings.word("efforts.adopt"), event, source);
        if adoption == Adoption::Offer
            && let Some(left) = begin::left_behind(cx, event)?
        {
            let owner = book::name_of(cx.db, left.agent)?;
            wishes.push(context(words::offer(cx.now, &left, &owner)));
        }
        return Ok(wishes);
    };
    // A resumed conversation still holds everything it was told.
    if source == StartSource::Resume {
        wishes.push(context(words::status(cx.now, &effort, window.n_calls)));
        return Ok(wishes);
    }
    let logged = messages::said(cx.db, effort.id, "log", N_LOGGED)?;
    let windows = windows::of_effort(cx.db, effort.id)?;
    let goes_on = windows.iter().any(|other| other.id != window.id);
    let briefing = words::briefing(&effort, &logged, goes_on);
    let mut room = pending::ROOM_AT_START.saturating_sub(briefing.len());
    wishes.push(context(briefing));
    let news = pending::within(cx, &effort, window.id, &mut room)?;
    let told = pending::paths(cx, effort.id)?;
    let files = effort.config.preload.iter().filter(|path| !told.contains(path));
    let mut more = Vec::new();
    for path in files {
        let text = words::preloaded(path, pending::text(cx, path).as_ref(), room);
        room = room.saturating_sub(text.len());
        more.push(text);
    }
    wishes.extend(news);
    // Directions are told once per effort, and this window has not seen them.
    let known = directives::face::told(cx.db, effort.id)?;
    if !known.is_empty() {
        more.push(words::directions(&known));
    }
    if !more.is_empty() {
        wishes.push(context(more.join("\n")));
    }
    Ok(wishes)
}

fn prompted(cx: &mut Cx<'_>, event: &Event, detail: &Detail) -> Result<Vec<Wish>, FeatureError> {
    let Some(window) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
    let plan = start::plan(cx, event)?;
    let mut wishes: Vec<Wish> = pending::idle(&window).into_iter().collect();
    if let Some(plan) = &plan {
        wishes.push(start::told(cx, plan)?);
    }
    let Some(effort) = pending::effort(cx, &window)? else { return Ok(wishes) };
    // A person is there again, and may answer the dialog differently.
    let is_person = matches!(detail, Detail::Prompt { from_person: true, .. });
    if is_person && (window.is_refused || window.n_denied > 0) {
        windows::set_refused(cx.db, window.id, None)?;
    }
    // The session leaves its effort for the new one, so the old one's status is not told.
    if matches!(plan, Some(Plan::Begins(_))) {
        return Ok(wishes);
    }
    wishes.insert(0, context(words::status(cx.now, &effort, window.n_calls)));
    wishes.extend(pending::all(cx, &effort, window.id)?);
    Ok(wishes)
}

fn news(cx: &mut Cx<'_>, window: &OpenWindow) -> Result<Vec<Wish>, FeatureError> {
    let Some(effort) = pending::effort(cx, window)? else { return Ok(Vec::new()) };
    Ok(pending::all(cx, &effort, window.id)?)
}

fn context(text: String) -> Wish {
    Wish::context(text, Some("substrate effort show".to_owned()))
}
