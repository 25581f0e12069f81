//! Records what came of an event: windows that ended, what was told, asked and answered, and what failed.

use std::fmt::Write as _;

use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Outcome, SafeId, ToolCall, ToolClass, Who,
};

use super::ops::messages;
use super::ops::windows::{self, OpenWindow};
use super::{heartbeat, pending, policy, start};
use crate::identity::book::MAIN;
use crate::retention::BATCH;

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
            let Some(window) = policy::open_window(cx, event)? else { return Ok(()) };
            for path in files.iter().filter(|_| window.effort.is_some()) {
                windows::add_file(cx.db, window.id, &one_line(path, MAX_PATH), cx.now)?;
            }
            if let Some(text) = asked {
                say(cx, &window, "dialogue", &text)?;
            }
        }
        (EventKind::PostToolUseFailure | EventKind::TaskCompleted, detail) => {
            if let (Some((kind, text)), Some(window)) =
                (entry(detail), policy::open_window(cx, event)?)
            {
                say(cx, &window, kind, &text)?;
            }
        }
        (EventKind::PermissionRequest, Detail::ToolBefore { call })
        | (EventKind::PermissionDenied, Detail::ToolFailed { call, .. })
            if heartbeat::is_way_out(call) =>
        {
            // Don't insist while a person decides, whatever they answer. Otherwise the agent would have no way out.
            if let Some(window) = policy::open_window(cx, event)? {
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
