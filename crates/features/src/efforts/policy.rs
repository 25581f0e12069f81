//! What an actor with an effort is told, and when. An actor without one is told nothing and counted nowhere.

use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Settings, StartSource, ToolClass, Wish,
};

use super::offer::{self, Adopt};
use super::ops_windows::{self, Standing};
use super::skill_use::{self, Plan};
use super::{begin, calls, ops_pending, pending, words};
use crate::directives;
use crate::identity::book;

/// Log entries that a window begins with.
const N_LOGGED: i64 = 3;

/// Whether an event may tell files: which these are says the effort.
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
            let Some(mut standing) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
            if call.class == ToolClass::Shell && !standing.has_shell {
                ops_windows::has_shell(cx.db, standing.window)?;
                standing.has_shell = true;
            }
            let Some(effort) = standing.effort.clone() else { return Ok(Vec::new()) };
            Ok(calls::before(cx, event, call, &standing, &effort)?)
        }
        (EventKind::PostToolUse, _) if is_main => {
            if let Some(plan) = skill_use::plan(cx, event)? {
                return Ok(vec![skill_use::told(cx, &plan)?]);
            }
            let Some(standing) = standing(cx, event)? else { return Ok(Vec::new()) };
            let mut wishes: Vec<Wish> = pending::idle(&standing).into_iter().collect();
            if standing.effort.as_ref().is_some_and(|effort| effort.has_news) {
                wishes.extend(news(cx, &standing)?);
            }
            Ok(wishes)
        }
        (EventKind::UserPromptSubmit, detail) if is_main => prompted(cx, event, detail),
        (EventKind::UserPromptExpansion, _) if is_main => {
            let Some(plan) = skill_use::plan(cx, event)? else { return Ok(Vec::new()) };
            Ok(vec![skill_use::told(cx, &plan)?])
        }
        // Becomes a part of the summariser's instructions.
        (EventKind::PreCompact, _) if is_main => {
            let Some(standing) = standing(cx, event)? else { return Ok(Vec::new()) };
            let effort = pending::effort(cx, &standing)?;
            Ok(effort.iter().map(|effort| context(words::for_the_summary(effort))).collect())
        }
        (EventKind::SubagentStart, _) if !is_main => {
            let Some(standing) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
            let Some(effort) = pending::effort(cx, &standing)? else { return Ok(Vec::new()) };
            Ok(vec![context(words::for_subagent(&effort))])
        }
        _ => Ok(Vec::new()),
    }
}

pub(super) fn standing(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Standing>, FeatureError> {
    let Some(session) = &event.session else { return Ok(None) };
    Ok(ops_windows::standing(cx.db, session.as_str(), event.actor.key())?)
}

/// A window begins. Whoever goes on with an effort is told where it stands.
fn started(cx: &mut Cx<'_>, event: &Event, source: StartSource) -> Result<Vec<Wish>, FeatureError> {
    let begun = begin::main(cx, event, source)?;
    let Some((standing, why_not)) = begun else { return Ok(Vec::new()) };
    let mut wishes: Vec<Wish> = Vec::new();
    wishes.extend(why_not.map(|why| context(words::not_wanted(&why))));
    let Some(effort) = pending::effort(cx, &standing)? else {
        if offer::adopt(cx.settings.word("efforts.adopt"), event, source) == Adopt::Offer
            && let Some(left) = offer::left(cx, event)?
        {
            let owner = book::name_of(cx.db, left.agent)?;
            wishes.push(context(words::offer(cx.now, &left, &owner)));
        }
        return Ok(wishes);
    };
    // A conversation that is resumed holds everything that it was told.
    if source == StartSource::Resume {
        wishes.push(context(words::status(cx.now, &effort, standing.n_calls)));
        return Ok(wishes);
    }
    let logged = ops_pending::said(cx.db, effort.id, "log", N_LOGGED)?;
    let windows = ops_windows::of_effort(cx.db, effort.id)?;
    let goes_on = windows.iter().any(|window| window.id != standing.window);
    let briefing = words::briefing(&effort, &logged, goes_on);
    let mut room = pending::ROOM_AT_START.saturating_sub(briefing.len());
    wishes.push(context(briefing));
    let news = pending::within(cx, &effort, standing.window, &mut room)?;
    let told = pending::paths(cx, effort.id)?;
    let files = effort.config.preload.iter().filter(|path| !told.contains(path));
    let mut more = Vec::new();
    for path in files {
        let text = words::preloaded(path, pending::text(cx, path).as_ref(), room);
        room = room.saturating_sub(text.len());
        more.push(text);
    }
    wishes.extend(news);
    // They are told once; this window has not seen them.
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
    let Some(standing) = begin::ensured(cx, event)? else { return Ok(Vec::new()) };
    let plan = skill_use::plan(cx, event)?;
    let mut wishes: Vec<Wish> = pending::idle(&standing).into_iter().collect();
    if let Some(plan) = &plan {
        wishes.push(skill_use::told(cx, plan)?);
    }
    let Some(effort) = pending::effort(cx, &standing)? else { return Ok(wishes) };
    // Somebody is there again who may answer a dialog otherwise.
    let is_person = matches!(detail, Detail::Prompt { from_person: true, .. });
    if is_person && (standing.is_refused || standing.n_denied > 0) {
        ops_windows::set_refused(cx.db, standing.window, None)?;
    }
    // Whatever the session worked on, it works on the new one now.
    if matches!(plan, Some(Plan::Begins(_))) {
        return Ok(wishes);
    }
    wishes.insert(0, context(words::status(cx.now, &effort, standing.n_calls)));
    wishes.extend(pending::all(cx, &effort, standing.window)?);
    Ok(wishes)
}

fn news(cx: &mut Cx<'_>, standing: &Standing) -> Result<Vec<Wish>, FeatureError> {
    let Some(effort) = pending::effort(cx, standing)? else { return Ok(Vec::new()) };
    Ok(pending::all(cx, &effort, standing.window)?)
}

fn context(text: String) -> Wish {
    Wish::context(text, Some("substrate effort show".to_owned()))
}
