//! What an agent's shell is told about itself. What the agent is told after a compaction, `context` says.

use substrate_core::{Cx, Event, EventKind, FeatureError, Wish};

use super::files;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !matches!(event.kind, EventKind::SessionStart | EventKind::PreCompact) {
        return Ok(Vec::new());
    }
    let Some(who) = cx.who.clone().filter(|who| who.sub.is_empty()) else { return Ok(Vec::new()) };
    let Some(session) = &who.session else { return Ok(Vec::new()) };
    if event.kind == EventKind::PreCompact {
        files::keep(cx, session)?;
        return Ok(Vec::new());
    }
    let export =
        |name: &str, value: &str| Wish::Export { name: name.to_owned(), value: value.to_owned() };
    let own = event.dialect.session_variable.map(|name| export(name, session.as_str()));
    Ok(own.into_iter().chain([export("AGENT_ID", &who.name)]).collect())
}
