//! Changes that no edit announced: a shell command that changed what somebody else holds is noticed afterwards, and
//! both are told, once.

use substrate_core::{Cx, DbError, Detail, Event, Timestamp, Wish};

use super::life::{Claim, Lives};
use super::ops::{self, Lease};
use super::ops_history::{self, What};
use super::owner::Owner;
use super::{mirror, words};
use crate::mail::face;

/// Held files that are looked at after a command.
const MAX_LOOKED_AT: i64 = 64;

/// How long a command may have run where the client does not say.
const UNKNOWN_MS: i64 = 120_000;

/// How late a hook may come after the command has ended.
const LATE_MS: i64 = 2_000;

pub(super) fn after_shell(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Some(me) = Owner::of_event(cx, event) else { return Ok(Vec::new()) };
    if event.project.is_empty() {
        return Ok(Vec::new());
    }
    let began = began(event);
    let mut lives = Lives::default();
    let mut out = Vec::new();
    for lease in ops::in_project(cx.db, &event.project, MAX_LOOKED_AT)? {
        let Some(changed) = changed_since(cx, &lease, began) else { continue };
        let is_own = lease.claim.owner.is_same(&me);
        if !is_own && lives.until(cx, &lease.claim)?.is_none() {
            continue;
        }
        ops::modified(cx.db, &lease.path, changed)?;
        if !is_own {
            let Lease { path, relative, claim, root, .. } = &lease;
            out.push(tell(cx, &me, claim, path, relative, "your command")?);
            mirror::changed(cx, root)?;
        }
    }
    Ok(out)
}

/// When the command began, rather too early than too late.
fn began(event: &Event) -> Timestamp {
    let ran = match event.detail {
        Detail::ToolAfter { duration_ms, .. } | Detail::ToolFailed { duration_ms, .. } => {
            duration_ms.unwrap_or(UNKNOWN_MS).max(0)
        }
        _ => 0,
    };
    event.at.plus_ms(-(ran.saturating_add(LATE_MS)))
}

/// When the file was changed, if that was after its owner's own last edit and while the command ran. While the owner
/// edits, nobody can tell who it was.
fn changed_since(cx: &Cx<'_>, lease: &Lease, began: Timestamp) -> Option<Timestamp> {
    let own = lease.modified.max(lease.claim.acquired);
    if lease.claim.is_provisional {
        return None;
    }
    let changed = Timestamp(cx.world.changed_ms(&lease.path)?);
    (changed > own && changed > began).then_some(changed)
}

/// Tells the holder by mail; the wish tells the one who did it.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    me: &Owner,
    claim: &Claim,
    path: &str,
    relative: &str,
    how: &str,
) -> Result<Wish, DbError> {
    let (who, holder) = (me.address(cx)?, claim.owner.address(cx)?);
    ops_history::add(cx.db, path, &who, What::Bypassed, &format!("held by {holder}"), cx.now)?;
    let theirs = how.replace("your", "by their");
    let (subject, body) = words::was_changed(&who, relative, &theirs);
    face::note(cx, (claim.owner.agent, &claim.owner.sub), &subject, body, None)?;
    let text = words::you_changed(&holder, relative, how);
    Ok(Wish::Context {
        text,
        more: Some(format!("substrate locks show {}", words::path(relative))),
    })
}
