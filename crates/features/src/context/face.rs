//! What others may ask about context windows: other features, and `substrate hook --explain`.

use serde_json::{Value, json};
use substrate_core::{Actor, Cx, DbError, Event, EventKind, FeatureError, Need};

use super::policy::MAX_TAIL;
use super::{ops, window};
use crate::identity::book::MAIN;

pub(crate) use super::policy::transcript;
pub(crate) use super::window::Usage;

/// How full the window of the event's actor is, if that is known.
///
/// At a tool call it is the size of the request that led to it. The status line is the better source, unless it is older
/// than the transcript.
pub(crate) fn usage(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Usage>, DbError> {
    let Some(session) = &event.session else { return Ok(None) };
    let is_sub = matches!(event.actor, Actor::Subagent { .. });
    let found = transcript(event)
        .and_then(|path| cx.facts.tail(&path, MAX_TAIL))
        .and_then(|tail| (event.dialect.latest_answer)(tail, is_sub));
    let reported = ops::one(cx.db, session.as_str(), event.actor.key())?;
    let size = reported.as_ref().map_or(0, |reported| reported.size);
    let of = |used: i64, size: i64| Some(Usage::of(used, size, cx.settings));
    let Some(found) = found else {
        return Ok(reported.and_then(|reported| of(reported.used?, reported.size)));
    };
    if let Some(reported) = &reported
        && let Some(used) = reported.used
        && found.at.is_some_and(|at| reported.at >= at)
    {
        return Ok(of(used, reported.size));
    }
    let size = if size > 0 { size } else { window::guessed(&found.model, found.used) };
    Ok(of(found.used, size))
}

/// What must be looked up for `usage` to know more than the client reported.
pub(crate) fn need(event: &Event) -> Option<Need> {
    transcript(event).map(|path| Need::Tail { path, max: MAX_TAIL })
}

/// How full a session's main window was when the client last reported it. For commands, which see no transcript.
pub(crate) fn reported(cx: &mut Cx<'_>, session: &str) -> Result<Option<Usage>, DbError> {
    let reported = ops::one(cx.db, session, MAIN)?;
    Ok(reported.and_then(|report| Some(Usage::of(report.used?, report.size, cx.settings))))
}

/// The percentage of the point where the client compacts from which the context counts as overflowing.
const OVERFLOW: i64 = 90;

/// The fields of `hook --explain`. `contextUsage` is a fraction: 1 is where the client compacts.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    if event.kind != EventKind::PreToolUse {
        return Ok(json!({}));
    }
    let percent = usage(cx, event)?.map(|usage| usage.percent_of_compaction);
    let is_main = matches!(event.actor, Actor::Main { .. });
    let fraction =
        percent.map(|percent| f64::from(i32::try_from(percent).unwrap_or(i32::MAX)) / 100.0);
    Ok(json!({
        "contextUsage": fraction,
        "overflowWarning": is_main && percent.is_some_and(|percent| percent >= OVERFLOW),
    }))
}
