//! What leases tell the views of all features: an agent's refusals and waits in its story, and who held what at a moment.

use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Cx, Db, DbError, FeatureError, Timestamp};

use crate::page::in_query;

/// Entries of the history that are read for a story. They are those of all agents.
const MAX_READ: i64 = 4_000;

/// A lease that was taken longer ago than this is not found again.
const HELD_MS: i64 = 12 * 3_600_000;

pub(super) const BETWEEN: &str = "select at_ms, who, what, path, detail from lease_history
     where at_ms >= $1 and at_ms <= $2 order by at_ms desc limit $3";

struct Entry {
    at_ms: i64,
    who: String,
    what: String,
    path: String,
    detail: String,
}

/// Newest first.
fn between(db: &mut dyn Db, from: i64, until: i64) -> Result<Vec<Entry>, DbError> {
    db.rows(BETWEEN, &[from.into(), until.into(), MAX_READ.into()], |row| {
        Ok(Entry {
            at_ms: row.int(0)?,
            who: row.text(1)?,
            what: row.text(2)?,
            path: row.text(3)?,
            detail: row.text(4)?,
        })
    })
}

/// The files that an agent or its subagents were refused, until they got them.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let below = format!("{}/", of.name);
    let is_its = |who: &str| who == of.name || who.starts_with(&below);
    let (mut out, mut got): (Vec<Moment>, Vec<(String, String, i64)>) = (Vec::new(), Vec::new());
    for entry in between(cx.db, of.from.0, of.until.0)? {
        if !is_its(&entry.who) {
            continue;
        }
        if entry.what != "denied" {
            got.push((entry.who, entry.path, entry.at_ms));
            continue;
        }
        let gets = got.iter().rfind(|(who, path, _)| *who == entry.who && *path == entry.path);
        out.push(Moment {
            at_ms: entry.at_ms,
            until_ms: gets.map(|(.., at_ms)| *at_ms),
            kind: MomentKind::Wait,
            actor: entry.who.strip_prefix(&below).unwrap_or_default().to_owned(),
            title: "Was refused a file".to_owned(),
            text: format!("{}, {}", entry.path, entry.detail),
            link: Some(format!("/locks?file={}", in_query(&entry.path))),
            ..Moment::default()
        });
        if i64::try_from(out.len()).unwrap_or(i64::MAX) >= of.limit {
            break;
        }
    }
    Ok(out)
}

/// Who held which files at a moment, as the history tells it.
pub(crate) fn held_at(db: &mut dyn Db, at: Timestamp) -> Result<Vec<(String, String)>, DbError> {
    let mut held: Vec<(String, String)> = Vec::new();
    for entry in between(db, at.0 - HELD_MS, at.0)?.into_iter().rev() {
        match entry.what.as_str() {
            "acquired" | "taken over" => {
                held.retain(|(_, path)| *path != entry.path);
                held.push((entry.who, entry.path));
            }
            "released" | "expired" | "forced" => held.retain(|(_, path)| *path != entry.path),
            _ => {}
        }
    }
    Ok(held)
}
