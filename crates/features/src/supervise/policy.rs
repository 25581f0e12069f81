//! When a supervised client is started anew. Nothing is looked up at any other event.

use substrate_core::wish::{Cause, Insists};
use substrate_core::{Actor, Cx, Detail, Effect, Event, EventKind, FeatureError, Wish};

use super::ops;

/// A supervisor that has not done what it was asked for so long does not listen: the client may compact.
pub(super) const PATIENCE_MS: i64 = 20_000;

pub(super) const WHY: &str = "the context was full";

/// What the client is told instead of a compaction; people see it too.
pub(super) const REASON: &str = "Not compacted: `substrate run` ends this session now and starts it anew with a fresh context (context.on_auto_compact = \"restart\").";

/// Supervisors that one tick looks at.
const STEP: i64 = 1_000;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !matches!(event.actor, Actor::Main { .. }) {
        return Ok(Vec::new());
    }
    match (event.kind, &event.detail) {
        (EventKind::SessionStart, _) => began(cx, event),
        (EventKind::PreCompact, Detail::Because { word }) if word == "auto" => overflow(cx, event),
        _ => Ok(Vec::new()),
    }
}

/// Remembers which session runs in a supervised client, so that its agent goes on in the next one.
fn began(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let (Some(pid), Some(session)) = (event.client_pid, &event.session) else {
        return Ok(Vec::new());
    };
    if let Some(found) = ops::of_child(cx.db, cx.world, pid)? {
        let agent = cx.who.as_ref().map(|who| who.name.as_str());
        ops::heard_of(cx.db, &found.token, session, agent)?;
    }
    Ok(Vec::new())
}

/// The context is full: a supervised client is not compacted but started anew, where the settings say so.
fn overflow(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if cx.settings.word("context.on_auto_compact") != "restart" {
        return Ok(Vec::new());
    }
    let (Some(pid), Some(session)) = (event.client_pid, &event.session) else {
        return Ok(Vec::new());
    };
    let Some(found) = ops::of_child(cx.db, cx.world, pid)? else { return Ok(Vec::new()) };
    match &found.wanted {
        Some((since, _)) if cx.now.since(*since) > PATIENCE_MS => return Ok(Vec::new()),
        Some(_) => {}
        None => {
            let agent = cx.who.as_ref().map(|who| who.name.as_str());
            ops::heard_of(cx.db, &found.token, session, agent)?;
            ops::want(cx.db, &found.token, WHY, cx.now)?;
        }
    }
    cx.effects.push(Effect::Wake { key: found.wake_key() });
    let reason = REASON.to_owned();
    Ok(vec![Wish::block(Cause::Rule, reason, Insists::Always)])
}

/// Supervisors that ended without a word are forgotten.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    for one in ops::all(cx.db, STEP)? {
        if !one.own.is_there(cx.world) {
            ops::forget(cx.db, &one.token)?;
        }
    }
    Ok(false)
}
