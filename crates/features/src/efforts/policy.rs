//! What an actor with an effort is told, and when; and what is recorded of an event: windows that ended, what was told,
//! asked and answered, and what failed. An actor without an effort is told nothing and never counted.

use std::fmt::Write as _;

use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Outcome, SafeId, Settings, StartSource,
    ToolCall, ToolClass, Who, Wish,
};

use super::begin::{self, Adoption};
use super::ops::messages;
use super::ops::windows::{self, OpenWindow};
use super::start::{self, Plan};
use super::{heartbeat, pending, words};
use crate::directives;
use crate::identity::book::{self, MAIN};
use crate::retention::BATCH;

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

/// How long windows without an effort are remembered.
const KEPT_MS: i64 = 30 * 86_400_000;

/// The longest dialogue and the longest failure that are kept, in characters.
const MAX_DIALOGUE: usize = 4_000;
const MAX_FAILURE: usize = 300;

/// The longest name of a teammate with its team.
const MAX_NAME: usize = 120;

/// The longest path that is kept.
const MAX_PATH: usize = 1_000;

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(session) = event.session.as_ref().map(SafeId::as_str) else { return Ok(()) };
    if !cx.settings.on("efforts.on") || event.actor.is_compaction_fork() {
        return Ok(());
    }
    match (event.kind, &event.detail) {
        (
            EventKind::SessionStart
            | EventKind::PreToolUse
            | EventKind::PostToolUse
            | EventKind::UserPromptSubmit
            | EventKind::UserPromptExpansion,
            detail,
        ) => {
            pending::claim(cx, outcome)?;
            // A tool call that ran can no longer be refused. A prompt can.
            if event.kind == EventKind::PostToolUse || outcome.verdict.block.is_none() {
                start::carry_out(cx, event)?;
            }
            let (asked, files) = match detail {
                Detail::ToolAfter { call, .. } => (dialogue(call), loaded(call)),
                _ => (None, &[][..]),
            };
            if asked.is_none() && files.is_empty() {
                return Ok(());
            }
            let Some(window) = open_window(cx, event)? else { return Ok(()) };
            for path in files.iter().filter(|_| window.effort.is_some()) {
                windows::add_file(cx.db, window.id, &one_line(path, MAX_PATH), cx.now)?;
            }
            if let Some(text) = asked {
                say(cx, &window, "dialogue", &text)?;
            }
        }
        (EventKind::PostToolUseFailure | EventKind::TaskCompleted, detail) => {
            if let (Some((kind, text)), Some(window)) = (entry(detail), open_window(cx, event)?) {
                say(cx, &window, kind, &text)?;
            }
        }
        (EventKind::PermissionRequest, Detail::ToolBefore { call })
        | (EventKind::PermissionDenied, Detail::ToolFailed { call, .. })
            if heartbeat::is_way_out(call) =>
        {
            // Don't insist while a person decides, whatever they answer. Otherwise the agent would have no way out.
            if let Some(window) = open_window(cx, event)? {
                windows::set_refused(cx.db, window.id, Some(cx.now))?;
            }
        }
        (EventKind::TeammateIdle, detail) if outcome.verdict.block.is_none() => {
            let name = teammate(event, detail);
            if !name.is_empty() {
                windows::idle(cx.db, session, &name)?;
            }
        }
        (EventKind::SubagentStop, _) => {
            let goes_on = outcome.verdict.block.is_some() || outcome.verdict.wait.is_some();
            if let (Actor::Subagent { id, .. }, false) = (&event.actor, goes_on) {
                windows::give_files_to_parent(cx.db, session, id.as_str())?;
                windows::end(cx.db, session, id.as_str(), "stop", cx.now)?;
            }
        }
        (EventKind::PreCompact, Detail::Because { word })
            if word == "auto" && outcome.verdict.block.is_none() =>
        {
            windows::end(cx.db, session, MAIN, "compact", cx.now)?;
        }
        (EventKind::SessionEnd, detail) => {
            let why = if let Detail::Because { word } = detail {
                one_line(word, 40)
            } else {
                "end".to_owned()
            };
            windows::end_all(cx.db, session, &why, cx.now)?;
        }
        _ => {}
    }
    Ok(())
}

/// Forgets old windows without an effort, and their files. Returns whether more may be left.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let n = windows::ENDED.batch(cx, KEPT_MS)?;
    if n > 0 {
        windows::forget_files(cx.db)?;
    }
    Ok(n == BATCH)
}

/// The idle teammate and its team.
fn teammate(event: &Event, detail: &Detail) -> String {
    let name = match detail {
        Detail::Teammate { name, team: Some(team) } => format!("{name} of {team}"),
        Detail::Teammate { name, team: None } => name.clone(),
        _ => event.actor.kind().unwrap_or_default().to_owned(),
    };
    one_line(&name, MAX_NAME)
}

/// The files that a call put into its actor's context.
fn loaded(call: &ToolCall) -> &[String] {
    if matches!(call.class, ToolClass::Read | ToolClass::Edit) { &call.files } else { &[] }
}

fn say(cx: &mut Cx<'_>, window: &OpenWindow, kind: &str, text: &str) -> Result<(), FeatureError> {
    let Some(effort) = &window.effort else { return Ok(()) };
    let who = cx.who.as_ref().map(Who::address).unwrap_or_default();
    messages::say(cx.db, effort.id, &who, kind, text, cx.now)?;
    Ok(())
}

/// The kind and words of a failed call, or of a completed entry in the client's task list.
pub(super) fn entry(detail: &Detail) -> Option<(&'static str, String)> {
    match detail {
        Detail::ToolFailed { call, error, interrupted, .. } => {
            let how = if *interrupted { "was interrupted" } else { "failed" };
            let error = redacted(error, 2 * MAX_FAILURE, false);
            let (name, error) = (one_line(&call.name, 60), one_line(&error, MAX_FAILURE));
            Some(("failure", format!("{name} {how}: {error}")))
        }
        Detail::Task { id, subject, description, .. } => {
            let (id, subject) = (one_line(id, 20), one_line(subject, MAX_FAILURE));
            let about = description.as_deref().map_or_else(String::new, |about| {
                format!(": {}", one_line(&redacted(about, 2 * MAX_FAILURE, false), MAX_FAILURE))
            });
            Some(("to-do", format!("#{id} {subject}{about}")))
        }
        _ => None,
    }
}

/// The questions a person was asked and their answers. `None` for any other call.
pub(super) fn dialogue(call: &ToolCall) -> Option<String> {
    let mut out = String::new();
    for asked in call.questions.iter().take(8) {
        let (question, answer) = (&asked.text, asked.answer.as_deref().unwrap_or("(no answer)"));
        let gap = if out.is_empty() { "" } else { "\n" };
        let _infallible =
            write!(out, "{gap}Q: {}\nA: {}", one_line(question, 500), one_line(answer, 1_000));
    }
    let text = redacted(&out, MAX_DIALOGUE, false).into_owned();
    (!text.is_empty()).then_some(text)
}
