//! Which sessions are told, and what must be looked up for it.

use substrate_core::facts::GitQuestion;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Need, Settings, StartSource, Wish,
};

use super::render;
use crate::commits;

/// How many entries of the tree are told.
const MAX_ENTRIES: usize = 200;

/// How deep the tree goes.
const DEPTH: usize = 2;

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if !is_asked(event, settings) {
        return Vec::new();
    }
    let dir = dir(event);
    let git = |what| Need::Git { dir: dir.to_owned(), what };
    vec![tree(dir), git(GitQuestion::Status), commits::need(dir)]
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !is_asked(event, cx.settings) {
        return Ok(Vec::new());
    }
    let dir = dir(event);
    let parts = [
        cx.facts.tree(&tree(dir)).and_then(render::tree),
        cx.facts.git(dir, GitQuestion::Status).and_then(render::status),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let more = Some("git status".to_owned());
    let tree = (!text.is_empty()).then(|| Wish::context(text, more));
    Ok(tree.into_iter().chain(commits::wish(cx.facts, dir)).collect())
}

/// Only a new or cleared session. One that was resumed, forked or compacted has been told.
fn is_asked(event: &Event, settings: &Settings) -> bool {
    let is_new = matches!(
        event.detail,
        Detail::SessionStart { source: StartSource::Startup | StartSource::Clear, .. }
    );
    event.kind == EventKind::SessionStart
        && is_new
        && matches!(event.actor, Actor::Main { .. })
        && !dir(event).is_empty()
        && settings.on("agent-init.on")
}

fn dir(event: &Event) -> &str {
    event.project_dir.as_deref().unwrap_or(&event.cwd)
}

fn tree(dir: &str) -> Need {
    Need::Tree { root: dir.to_owned(), depth: DEPTH, max: MAX_ENTRIES }
}
