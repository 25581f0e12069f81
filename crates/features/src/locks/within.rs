//! Who has something inside a glob or a folder.

use substrate_core::{Cx, DbError};

use super::globs;
use super::life::Lives;
use super::ops::{self, Lease};
use super::ops_globs::{self, Reserved};
use super::owner::Owner;
use super::standing::Holder;
use super::targets::Target;

/// Leases of a working tree that are looked at.
const MAX_LOOKED_AT: i64 = 10_000;

/// The leases in there, and the reserved globs that may overlap; also those that have ended.
pub(super) fn all(
    cx: &mut Cx<'_>,
    target: &Target,
) -> Result<(Vec<Lease>, Vec<Reserved>), DbError> {
    let mut leases = ops::in_root(cx.db, &target.root, MAX_LOOKED_AT)?;
    leases.retain(|lease| globs::matches(&target.relative, &lease.relative));
    let mut reserved = ops_globs::in_root(cx.db, &target.root)?;
    reserved.retain(|one| globs::may_overlap(&one.glob, &target.relative));
    Ok((leases, reserved))
}

/// Somebody else who has something in there, with the path that it is: first whoever has a file.
pub(super) fn other(
    cx: &mut Cx<'_>,
    me: &Owner,
    target: &Target,
) -> Result<Option<(Holder, String, String)>, DbError> {
    let (leases, reserved) = all(cx, target)?;
    let mut lives = Lives::default();
    for lease in leases.into_iter().filter(|lease| !lease.claim.owner.is_same(me)) {
        if let Some(until) = lives.until(cx, &lease.claim)? {
            let holder = Holder { claim: lease.claim, glob: None, other_name: None, until };
            return Ok(Some((holder, lease.path, lease.relative)));
        }
    }
    let shares = reserved.iter().any(|one| one.is_shared && one.claim.owner.is_same(me));
    for one in reserved {
        let is_mine = one.claim.owner.is_same(me) || (one.is_shared && shares);
        if !is_mine && let Some(until) = lives.until(cx, &one.claim)? {
            let path = format!("{}/{}", one.root, one.glob);
            let glob = Some((one.id, one.glob.clone()));
            let holder = Holder { claim: one.claim, glob, other_name: None, until };
            return Ok(Some((holder, path, one.glob)));
        }
    }
    Ok(None)
}
