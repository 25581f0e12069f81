//! What an agent is told about itself.

use substrate_core::text::one_line;
use substrate_core::{Cx, Detail, Event, EventKind, FeatureError, StartSource, Who, Wish};

use super::files;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !matches!(event.kind, EventKind::SessionStart | EventKind::PreCompact) {
        return Ok(Vec::new());
    }
    let Some(who) = cx.who.clone().filter(|who| who.sub.is_empty()) else { return Ok(Vec::new()) };
    let Some(session) = &who.session else { return Ok(Vec::new()) };
    if event.kind == EventKind::PreCompact {
        files::keep(cx, session)?;
        return Ok(vec![said(for_the_summary(&who))]);
    }
    let export =
        |name: &str, value: &str| Wish::Export { name: name.to_owned(), value: value.to_owned() };
    let mut wishes =
        vec![export("CLAUDE_SESSION_ID", session.as_str()), export("AGENT_ID", &who.name)];
    if matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. }) {
        wishes.push(said(after_compaction(&who, event)));
    }
    Ok(wishes)
}

fn said(text: String) -> Wish {
    Wish::context(text, Some("substrate agent whoami".to_owned()))
}

/// Becomes a part of the summariser's instructions.
fn for_the_summary(who: &Who) -> String {
    let name = &who.name;
    format!(
        "Keep in the summary: this agent is {name} (its Substrate name), and `substrate inbox` holds its mail."
    )
}

fn after_compaction(who: &Who, event: &Event) -> String {
    let name = &who.name;
    let place = place(event).map_or_else(String::new, |place| format!(" in {place}"));
    format!(
        "You are {name} (Substrate agent{place}). Your name, mail and session are unchanged by the compaction; `substrate agent whoami` shows it."
    )
}

/// The last part of the project's path, as people call it.
fn place(event: &Event) -> Option<String> {
    let path = if event.project.is_empty() { &event.cwd } else { &event.project };
    let path = path.trim_end_matches('/').trim_end_matches("/.git");
    let name = one_line(path.rsplit('/').next()?, 40);
    (!name.is_empty()).then_some(name)
}
