//! What the queue tells the views of all features: an agent's work in its story, items that were searched for, and items
//! that need the user.

use substrate_core::need::UserNeed;
use substrate_core::text::one_line;
use substrate_core::view::{Hit, HitKind, Moment, MomentKind, StoryOf, Wanted};
use substrate_core::{Cx, FeatureError, NeedKind};

use super::items;

/// A search looks at this many of the newest items.
const MAX_SEARCHED: i64 = 2_000;

/// What an agent claimed, until it was done.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let mut out = Vec::new();
    for item in items::of_agent(cx.db, of.agent, of.limit)? {
        let Some(claim) = item.claim else { continue };
        let until_ms = item.done.map(|at| at.0);
        if of.covers(claim.at.0, until_ms.unwrap_or(i64::MAX)) {
            out.push(Moment {
                at_ms: claim.at.0,
                until_ms,
                kind: MomentKind::Work,
                actor: claim.by.actor,
                title: format!("Work #{}: {}", item.id, item.title),
                text: item.result.unwrap_or_default(),
                link: Some(link(item.id)),
                ..Moment::default()
            });
        }
    }
    Ok(out)
}

/// Items with all the words in their title, text or result.
pub(super) fn find(cx: &mut Cx<'_>, wanted: &Wanted) -> Result<Vec<Hit>, FeatureError> {
    let mut out = Vec::new();
    for item in items::newest(cx.db, MAX_SEARCHED)? {
        let result = item.result.as_deref().unwrap_or_default();
        let whole = format!("{}\n{}\n{result}", item.title, item.body);
        if wanted.is_in(&whole) {
            out.push(Hit {
                at_ms: item.done.map_or(item.added.0, |at| at.0),
                kind: HitKind::Work,
                who: item.done_by.unwrap_or(item.added_by),
                text: format!("#{} {}", item.id, one_line(&item.title, 200)),
                link: link(item.id),
            });
        }
        if i64::try_from(out.len()).unwrap_or(i64::MAX) >= wanted.limit {
            break;
        }
    }
    Ok(out)
}

fn link(id: i64) -> String {
    format!("/work#work-{id}")
}

/// The most needs that are shown.
const MAX_SHOWN: i64 = 20;

/// Work that was left behind: it came back from an agent, and no other agent has taken it since.
pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let found = items::came_back(cx.db, MAX_SHOWN)?;
    let need = |item: items::Item| UserNeed {
        reason: format!("work #{} {}", item.id, item.note),
        text: item.title,
        since_ms: item.added.0,
        project: item.project,
        ..UserNeed::new(format!("work:{}", item.id), NeedKind::Dead)
    };
    Ok(found.into_iter().map(need).collect())
}
