//! What an event made of its actor, for `hook --explain`.

use serde_json::{Value, json};
use substrate_core::{Cx, Event, FeatureError};

use super::ops;

pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    let Some(session) = event.session.as_ref().filter(|_| cx.settings.on("fleet.on")) else {
        return Ok(json!({"agentStatus": null}));
    };
    let kept = ops::one(cx.db, session.as_str(), event.actor.key())?;
    Ok(json!({"agentStatus": kept.map(|kept| kept.shown().name())}))
}
