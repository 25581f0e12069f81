//! How full the window is, for `hook --explain`.

use serde_json::{Value, json};
use substrate_core::{Actor, Cx, Event, EventKind, FeatureError};

use super::face;

/// From which percentage of the point where the client compacts it is said to overflow.
const OVERFLOW: i64 = 90;

/// `contextUsage` is a fraction of the point where the client compacts: 1 is where it does.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    if event.kind != EventKind::PreToolUse {
        return Ok(json!({}));
    }
    let percent = face::usage(cx, event)?.map(|usage| usage.percent_of_compaction);
    let is_main = matches!(event.actor, Actor::Main { .. });
    let usage =
        percent.map(|percent| f64::from(i32::try_from(percent).unwrap_or(i32::MAX)) / 100.0);
    Ok(json!({
        "contextUsage": usage,
        "overflowWarning": is_main && percent.is_some_and(|percent| percent >= OVERFLOW),
    }))
}
