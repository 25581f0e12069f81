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
    /// The file's other name, under which it is held: its path, and the same below its tree.
    pub(super) other_name: Option<(String, String)>,
    /// When that ends if the holder is not heard of again.
    pub(super) until: Timestamp,
}

impl Holder {
    /// What those wait for who want the file.
    pub(super) fn wake_key(&self, path: &str) -> String {
        match (&self.glob, &self.other_name) {
            (Some((id, _)), _) => words::glob_key(*id),
            (None, Some((other, _))) => words::wake_key(other),
            (None, None) => words::wake_key(path),
        }
    }
}

/// One look-up by the path and the file; a second one for reserved globs where nobody has the file. Whoever holds the very
/// path is never refused; another name of the file (a hard link, a renamed folder) is held only against others.
pub(super) fn of(cx: &mut Cx<'_>, me: &Owner, place: &Place) -> Result<Standing, DbError> {
    let found = ops::same(cx.db, &place.path, place.file.as_deref())?;
    let (mut named, elsewhere): (Vec<Lease>, Vec<Lease>) =
        found.into_iter().partition(|lease| lease.path == place.path);
    let lease = named.pop();
    if let Some(lease) = &lease {
        let claim = &lease.claim;
        if claim.owner.is_same(me) {
            let is_late = claim.is_provisional && claim.expires <= cx.now;
            if !is_late && !me.came_back(cx, &claim.owner)? {
                return Ok(Standing::Own(lease.clone()));
            }
        } else if let Some(until) = kept_until(cx, me, claim)? {
            let claim = claim.clone();
            return Ok(Standing::Taken(Holder { claim, glob: None, other_name: None, until }));
        }
    }
    for Lease { claim, path, relative, .. } in elsewhere {
        if !claim.owner.is_same(me)
            && let Some(until) = kept_until(cx, me, &claim)?
        {
            let other_name = Some((path, relative));
            return Ok(Standing::Taken(Holder { claim, glob: None, other_name, until }));
        }
    }
    Ok(match reserved_by_other(cx, me, place)? {
        Some(holder) => Standing::Taken(holder),
        None => Standing::Free { before: lease },
    })
}

/// Until when somebody else's claim keeps `me` off a file, if it does.
fn kept_until(cx: &mut Cx<'_>, me: &Owner, claim: &Claim) -> Result<Option<Timestamp>, DbError> {
    let Some(until) = life::until(cx, claim)? else { return Ok(None) };
    // What is being edited at this very moment is not lent.
    let is_lent = !claim.is_provisional && lending::waits_for(cx, &claim.owner, me)?;
    Ok((!is_lent).then_some(until))
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
        let holder = Holder { claim, glob: Some((id, glob)), other_name: None, until };
        if is_shared {
            shared.get_or_insert(holder)
        } else {
            exclusive.get_or_insert(holder)
        };
    }
    Ok(exclusive.or_else(|| shared.filter(|_| !shares)))
}
