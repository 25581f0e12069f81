//! When the end of a transcript is looked at, what a model's name says, and what is told after a compaction.

use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Need, Outcome, Settings, StartSource, Wish,
};

use super::ops::{self, Said};
use super::window;
use crate::locks;

/// How much of a transcript is read. The answer that led to a call stands near the end, a single long line after it (an
/// image) is skipped, and this is read at every call: so not more.
pub(super) const MAX_TAIL: usize = 64 << 10;

/// How long it is remembered what a client said.
const KEPT_MS: i64 = 30 * 86_400_000;

/// Rows removed in one go.
const STEP: i64 = 200;

/// How many files are named after a compaction.
const MAX_FILES: usize = 12;

/// Only where somebody may act on it.
pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if event.kind != EventKind::PreToolUse || !settings.on("efforts.on") {
        return Vec::new();
    }
    super::face::need(event).into_iter().collect()
}

/// The transcript of the event's actor: a subagent has its own, in a folder beside its session's.
pub(super) fn transcript(event: &Event) -> Option<String> {
    let path = event.transcript.as_ref()?;
    match &event.actor {
        Actor::Main { .. } => Some(path.clone()),
        Actor::Subagent { id, .. } => {
            Some(format!("{}/subagents/agent-{id}.jsonl", path.strip_suffix(".jsonl")?))
        }
    }
}

/// Who it is, its mail and its tasks are told by the features that know them; what it holds is told here.
pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let is_compact =
        matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. });
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    if !is_compact || !cx.settings.on("context.on") {
        return Ok(Vec::new());
    }
    let held = locks::face::held(cx.db, session.as_str(), event.actor.key(), MAX_FILES)?;
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = held.iter().map(|path| format!("`{}`", one_line(path, 120))).collect();
    let text = format!(
        "Before the compaction you were editing {}; you still hold {}. `substrate locks` shows it.",
        names.join(", "),
        if names.len() == 1 { "it" } else { "them" },
    );
    Ok(vec![Wish::context(text, Some("substrate locks".to_owned()))])
}

/// A model's name tells the size of the window, and is said only at a start or a switch.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    _outcome: &Outcome,
) -> Result<(), FeatureError> {
    let model = match (event.kind, &event.detail) {
        (EventKind::SessionStart, Detail::SessionStart { model, .. }) => model,
        (EventKind::PostModelSwitch, Detail::ModelSwitch { to, .. }) => to,
        _ => return Ok(()),
    };
    let Some(session) = event.session.as_ref().map(substrate_core::SafeId::as_str) else {
        return Ok(());
    };
    if !cx.settings.on("efforts.on") || !matches!(event.actor, Actor::Main { .. }) {
        return Ok(());
    }
    let before = ops::one(cx.db, session, event.actor.key())?;
    let size = match (model, before) {
        (Some(model), _) => window::by_name(model),
        (None, Some(before)) => before.size,
        (None, None) => return Ok(()),
    };
    // A new window is empty, whatever was in the one before it.
    let said = Said { used: None, size, source: "model".to_owned(), at: cx.now };
    ops::say(cx.db, session, event.actor.key(), &said)?;
    Ok(())
}

/// `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let n = ops::forget_older(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(usize::try_from(STEP).is_ok_and(|step| n == step))
}
