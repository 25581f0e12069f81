//! What came of an event: windows that ended, what was told, what was asked and answered, what failed.

use std::fmt::Write as _;

use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Outcome, SafeId, ToolCall, ToolClass,
};

use super::ops_windows::{self, Standing};
use super::{calls, ops_files, ops_pending, pending, policy, skill_use};
use crate::identity::book::MAIN;

/// How long windows without an effort are remembered.
const KEPT_MS: i64 = 30 * 86_400_000;

/// Rows removed in one go.
const STEP: i64 = 200;

/// The longest dialogue or failure that is kept, in characters.
const MAX_DIALOGUE: usize = 4_000;
const MAX_FAILURE: usize = 300;

/// The longest name of a teammate, with its team.
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
            // What was done can't be refused any more; a prompt can.
            if event.kind == EventKind::PostToolUse || outcome.verdict.block.is_none() {
                skill_use::carry_out(cx, event)?;
            }
            let (asked, files) = match detail {
                Detail::ToolAfter { call, .. } => (dialogue(call), loaded(call)),
                _ => (None, &[][..]),
            };
            if asked.is_none() && files.is_empty() {
                return Ok(());
            }
            let Some(standing) = policy::standing(cx, event)? else { return Ok(()) };
            for path in files.iter().filter(|_| standing.effort.is_some()) {
                ops_files::loaded(cx.db, standing.window, &one_line(path, MAX_PATH), cx.now)?;
            }
            if let Some(text) = asked {
                say(cx, &standing, "dialogue", &text)?;
            }
        }
        (EventKind::PostToolUseFailure | EventKind::TaskCompleted, detail) => {
            if let (Some((kind, text)), Some(standing)) =
                (entry(detail), policy::standing(cx, event)?)
            {
                say(cx, &standing, kind, &text)?;
            }
        }
        (EventKind::PermissionRequest, Detail::ToolBefore { call })
        | (EventKind::PermissionDenied, Detail::ToolFailed { call, .. })
            if calls::is_way_out(call) =>
        {
            // Whatever a person answers: to insist now on what they may have refused would leave the agent no way out.
            if let Some(standing) = policy::standing(cx, event)? {
                ops_windows::set_refused(cx.db, standing.window, Some(cx.now))?;
            }
        }
        (EventKind::TeammateIdle, detail) if outcome.verdict.block.is_none() => {
            let name = teammate(event, detail);
            if !name.is_empty() {
                ops_windows::idle(cx.db, session, &name)?;
            }
        }
        (EventKind::SubagentStop, _) => {
            let goes_on = outcome.verdict.block.is_some() || outcome.verdict.wait.is_some();
            if let (Actor::Subagent { id, .. }, false) = (&event.actor, goes_on) {
                ops_files::merge_into_parent(cx.db, session, id.as_str())?;
                ops_windows::end(cx.db, session, id.as_str(), "stop", cx.now)?;
            }
        }
        (EventKind::PreCompact, Detail::Because { word })
            if word == "auto" && outcome.verdict.block.is_none() =>
        {
            ops_windows::end(cx.db, session, MAIN, "compact", cx.now)?;
        }
        (EventKind::SessionEnd, detail) => {
            let why = if let Detail::Because { word } = detail {
                one_line(word, 40)
            } else {
                "end".to_owned()
            };
            ops_windows::end_all(cx.db, session, &why, cx.now)?;
        }
        _ => {}
    }
    Ok(())
}

/// `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let n = ops_windows::forget_older(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)?;
    if n > 0 {
        ops_files::forget(cx.db)?;
    }
    Ok(usize::try_from(STEP).is_ok_and(|step| n == step))
}

/// Who has nothing to do, and of which team.
fn teammate(event: &Event, detail: &Detail) -> String {
    let name = match detail {
        Detail::Teammate { name, team: Some(team) } => format!("{name} of {team}"),
        Detail::Teammate { name, team: None } => name.clone(),
        _ => event.actor.kind().unwrap_or_default().to_owned(),
    };
    one_line(&name, MAX_NAME)
}

/// The files that a call has put into its actor's context.
fn loaded(call: &ToolCall) -> &[String] {
    if matches!(call.class, ToolClass::Read | ToolClass::Edit) { &call.files } else { &[] }
}

fn say(cx: &mut Cx<'_>, standing: &Standing, kind: &str, text: &str) -> Result<(), FeatureError> {
    let Some(effort) = &standing.effort else { return Ok(()) };
    let who = cx.who.as_ref().map(substrate_core::Who::address).unwrap_or_default();
    ops_pending::say(cx.db, effort.id, &who, kind, text, cx.now)?;
    Ok(())
}

/// What is kept of a call that failed, or of an entry of the client's task list that is done: its kind, and its words.
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

/// What a person was asked and what they answered; `None` for any other call.
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
