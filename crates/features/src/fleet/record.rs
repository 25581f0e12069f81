//! What came of an event: the status of its actor, where it changed.
//!
//! This runs at every event of every agent: one look-up by the primary key, and no write while an agent simply works.

use serde_json::{Value, json};
use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::{Cx, DbError, Detail, Event, EventKind, FeatureError, Outcome};

use super::status::{self, IDLE_PROMPT, Status, StatusChange};
use super::{activity, limits, ops, paint};
use crate::identity::book::MAIN;

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    if !cx.settings.on("fleet.on") {
        return Ok(());
    }
    // The client's own helper and events without a session have no status.
    let (Some(session), Some(_)) = (&event.session, &cx.who) else { return Ok(()) };
    let session = session.as_str();
    if let (EventKind::TaskCompleted, Detail::Task { subject, .. }) = (event.kind, &event.detail) {
        let subject = one_line(&redacted(subject, 400, false), 100);
        ops::set_task(cx.db, session, event.actor.key(), &subject)?;
        return Ok(());
    }
    if event.kind == EventKind::Activity {
        return Ok(activity::record(cx, event)?);
    }
    if event.kind == EventKind::ClientLeft {
        return Ok(client_left(cx, event, session)?);
    }
    if !status::matters(event.kind) || is_nothing_new(cx, event) {
        return Ok(());
    }
    let actor = event.actor.key();
    let kept = ops::one(cx.db, session, actor)?;
    let before = kept.as_ref().map(|kept| kept.before(cx.now));
    let Some(next) = status::next(before.as_ref(), event, &outcome.verdict) else { return Ok(()) };
    let next = status::limited(next, limits::of(event, cx.world.offset_s(cx.now)));
    let moved = event.pane.is_some() && kept.as_ref().is_some_and(|kept| kept.pane != event.pane);
    if !moved && kept.as_ref().is_some_and(|kept| kept.is(&next)) {
        return Ok(());
    }
    // The client does not say whose dialog it means. An open request says it better.
    if event.kind == EventKind::Notification && ops::is_asking(cx.db, session)? {
        return Ok(());
    }
    let old_pane = kept.and_then(|kept| kept.pane);
    ops::put(cx.db, (session, actor), &next, event.pane.as_ref(), cx.now)?;
    let pane = event.pane.clone().or_else(|| old_pane.clone());
    ended(cx, event, &next, actor)?;
    for pane in old_pane.filter(|_| moved).into_iter().chain(pane) {
        paint::pane(cx, &pane)?;
    }
    Ok(())
}

/// The pane of a terminal that was closed is its own again. The other terminal's next event says where that one is.
fn client_left(cx: &mut Cx<'_>, event: &Event, session: &str) -> Result<(), DbError> {
    let kept = ops::one(cx.db, session, event.actor.key())?;
    let Some(pane) = event.pane.as_ref().filter(|_| kept.is_some_and(|it| it.pane == event.pane))
    else {
        return Ok(());
    };
    ops::leave_pane(cx.db, session)?;
    paint::pane(cx, pane)
}

/// Passing time alone does not make a finished agent need a person, unless settings say so. A second terminal says
/// nothing about the turn in the first.
fn is_nothing_new(cx: &Cx<'_>, event: &Event) -> bool {
    match &event.detail {
        Detail::Notification { kind, .. } => {
            kind == IDLE_PROMPT && !cx.settings.on("fleet.idle_is_attention")
        }
        Detail::SessionStart { .. } => cx.who.as_ref().is_some_and(|who| who.is_shared),
        _ => false,
    }
}

/// A subagent that is done is gone, and a session takes all its actors with it.
fn ended(cx: &mut Cx<'_>, event: &Event, next: &StatusChange, actor: &str) -> Result<(), DbError> {
    let Some(session) = &event.session else { return Ok(()) };
    let is_done = next.status == Status::Done;
    match event.kind {
        EventKind::SubagentStop if is_done && actor != MAIN => {
            ops::forget(cx.db, session.as_str(), actor)
        }
        EventKind::SessionEnd => {
            ops::forget_subagents(cx.db, session.as_str())?;
            ops::leave_pane(cx.db, session.as_str())
        }
        _ => Ok(()),
    }
}

/// What the event made of its actor, for `hook --explain`.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    let Some(session) = event.session.as_ref().filter(|_| cx.settings.on("fleet.on")) else {
        return Ok(json!({"agentStatus": null}));
    };
    let kept = ops::one(cx.db, session.as_str(), event.actor.key())?;
    Ok(json!({"agentStatus": kept.map(|kept| kept.shown().name())}))
}
