//! Work that was left behind: it came back from an agent, and no other agent has taken it since.

use substrate_core::need::UserNeed;
use substrate_core::{Cx, FeatureError, NeedKind};

use super::items;

/// The most that are shown.
const MAX: i64 = 20;

pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let found = items::came_back(cx.db, MAX)?;
    let need = |item: items::Item| UserNeed {
        reason: format!("work #{} {}", item.id, item.note),
        text: item.title,
        since_ms: item.added.0,
        project: item.project,
        ..UserNeed::new(format!("work:{}", item.id), NeedKind::Dead)
    };
    Ok(found.into_iter().map(need).collect())
}
