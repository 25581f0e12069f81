//! Who has a file: nobody, the one who asks, or somebody else.

use substrate_core::facts::Place;
use substrate_core::{Cx, DbError, Timestamp};

use super::life::{self, Claim, Lives};
use super::ops::{self, Lease};
use super::ops_globs::{self, Reserved};
use super::owner::Owner;
use super::{globs, lending, words};

/// How a file stands to somebody who wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody has it. Perhaps somebody had, and is gone.
    Free {
        before: Option<Lease>,
    },
    Own(Lease),
    /// Somebody else has it.
    Taken(Holder),
}

/// Somebody who has a file, by itself or by a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) claim: Claim,
    /// The reserved glob that the file is in.
    pub(super) glob: Option<(i64, String)>,
    /// When that ends if the holder is not heard of again.
    pub(super) until: Timestamp,
}

impl Holder {
    /// What those wait for who want the file.
    pub(super) fn wake_key(&self, path: &str) -> String {
        self.glob.as_ref().map_or_else(|| words::wake_key(path), |(id, _)| words::glob_key(*id))
    }
}

/// One look-up by the path; a second one for reserved globs where nobody has the file.
pub(super) fn of(cx: &mut Cx<'_>, me: &Owner, place: &Place) -> Result<Standing, DbError> {
    let lease = ops::one(cx.db, &place.path)?;
    if let Some(lease) = &lease {
        let claim = &lease.claim;
        if claim.owner.is_same(me) {
            let is_late = claim.is_provisional && claim.expires <= cx.now;
            if !is_late && !me.came_back(cx, &claim.owner)? {
                return Ok(Standing::Own(lease.clone()));
            }
        } else if let Some(until) = life::until(cx, claim)?
            // What is being edited at this very moment is not lent.
            && (claim.is_provisional || !lending::waits_for(cx, &claim.owner, me)?)
        {
            return Ok(Standing::Taken(Holder { claim: claim.clone(), glob: None, until }));
        }
    }
    Ok(match reserved_by_other(cx, me, place)? {
        Some(holder) => Standing::Taken(holder),
        None => Standing::Free { before: lease },
    })
}

/// Somebody else's glob that keeps `me` off the file. Whoever shares a glob may edit in it.
fn reserved_by_other(
    cx: &mut Cx<'_>,
    me: &Owner,
    place: &Place,
) -> Result<Option<Holder>, DbError> {
    let found = ops_globs::in_root(cx.db, &place.root)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut lives = Lives::default();
    let (mut shares, mut shared, mut exclusive) = (false, None, None);
    for one in found.into_iter().filter(|one| globs::matches(&one.glob, &place.relative)) {
        let Some(until) = lives.until(cx, &one.claim)? else { continue };
        let Reserved { id, glob, is_shared, claim, .. } = one;
        if claim.owner.is_same(me) {
            shares = true;
            continue;
        }
        if lending::waits_for(cx, &claim.owner, me)? {
            continue;
        }
        let holder = Holder { claim, glob: Some((id, glob)), until };
        if is_shared {
            shared.get_or_insert(holder)
        } else {
            exclusive.get_or_insert(holder)
        };
    }
    Ok(exclusive.or_else(|| shared.filter(|_| !shares)))
}
