//! When the end of a transcript is read, what a model's name tells, and what an agent is told after a compaction.

use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Need, Outcome, Settings, StartSource, Who,
    Wish,
};

use super::ops::{self, ReportedUsage};
use super::window;
use crate::{efforts, locks, mail};

/// How much of a transcript is read, at every tool call. The answer that led to the call stands near the end. A single
/// long line after it, such as an image, is skipped.
pub(super) const MAX_TAIL: usize = 64 << 10;

/// How long a report is kept.
const KEPT_MS: i64 = 30 * 86_400_000;

/// The transcript is read only where a feature acts on it.
pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if event.kind != EventKind::PreToolUse || !settings.on("efforts.on") {
        return Vec::new();
    }
    super::face::need(event).into_iter().collect()
}

/// The transcript of the event's actor. A subagent has its own, in a folder beside its session's.
pub(crate) fn transcript(event: &Event) -> Option<String> {
    let path = event.transcript.as_ref()?;
    match &event.actor {
        Actor::Main { .. } => Some(path.clone()),
        Actor::Subagent { id, .. } => {
            Some(format!("{}/subagents/agent-{id}.jsonl", path.strip_suffix(".jsonl")?))
        }
    }
}

/// Tells an agent after a compaction who it is and which files it holds. Other features tell it about its mail, tasks and
/// effort. An agent that never had any of these needs no reminder.
pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let is_compact =
        matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. });
    if !is_compact && event.kind != EventKind::PreCompact {
        return Ok(Vec::new());
    }
    let Some(who) = cx.who.clone().filter(|who| who.sub.is_empty()) else { return Ok(Vec::new()) };
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    let held = locks::leases::held(cx, session.as_str(), event.actor.key())?;
    if held.is_none() && !has_anything(cx, &who)? {
        return Ok(Vec::new());
    }
    let text = match is_compact {
        true => after_compaction(&who, event, held.as_deref()),
        false => for_the_summary(&who),
    };
    Ok(vec![Wish::context(text, Some("substrate agent whoami".to_owned()))])
}

/// Whether an agent ever had mail, a lease or an effort.
fn has_anything(cx: &mut Cx<'_>, who: &Who) -> Result<bool, FeatureError> {
    Ok(mail::face::has_any(cx.db, who.agent)?
        || efforts::face::has_any(cx.db, who.agent)?
        || locks::leases::has_held(cx.db, &who.name)?)
}

/// Becomes part of the summariser's instructions.
fn for_the_summary(who: &Who) -> String {
    let name = &who.name;
    format!(
        "Keep in the summary: this agent is {name} (its Substrate name), and `substrate inbox` holds its mail."
    )
}

fn after_compaction(who: &Who, event: &Event, held: Option<&str>) -> String {
    let name = &who.name;
    let place = place(event).map_or_else(String::new, |place| format!(" in {place}"));
    let held = held.map_or_else(String::new, |held| format!(" {held}"));
    format!(
        "You are {name} (Substrate agent{place}). The compaction changed neither your name, nor your mail, nor your session: see `substrate agent whoami`.{held}"
    )
}

/// The last part of the project's path, which people call it by.
fn place(event: &Event) -> Option<String> {
    let path = if event.project.is_empty() { &event.cwd } else { &event.project };
    let path = path.trim_end_matches('/').trim_end_matches("/.git");
    let name = one_line(path.rsplit('/').next()?, 40);
    (!name.is_empty()).then_some(name)
}

/// Notes the size of the window. A client names its model only at a start or a switch.
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
    // A new window is empty, however full the one before it was.
    let report = ReportedUsage { used: None, size, source: "model".to_owned(), at: cx.now };
    ops::report(cx.db, session, event.actor.key(), &report)?;
    Ok(())
}

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    ops::REPORTS.tick(cx, KEPT_MS)
}
