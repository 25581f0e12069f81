//! Who has a file: the actor that asks, another actor, or no one.

use substrate_core::facts::Place;
use substrate_core::{Cx, DbError, Timestamp};

use super::leases::{self, Lease};
use super::reservations::{self, Reservation};
use super::{globs, lending, words};
use crate::identity::holder::{Holder, Pulses, Term};

/// How long a lease lives that no edit has confirmed.
pub(super) const PROVISIONAL_MS: i64 = 60_000;

/// What a lease and a reserved glob have in common: who holds it, why, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) holder: Holder,
    pub(super) reason: String,
    pub(super) acquired: Timestamp,
    /// Taken for an edit that has not happened yet.
    pub(super) is_provisional: bool,
    pub(super) expires: Timestamp,
    pub(super) ttl_ms: i64,
}

impl Hold {
    /// When it ends unless the holder gives another sign of life. `None`: it has ended.
    pub(super) fn until(
        &self,
        cx: &mut Cx<'_>,
        pulses: &mut Pulses,
    ) -> Result<Option<Timestamp>, DbError> {
        let ttl_ms = (!self.is_provisional).then_some(self.ttl_ms);
        let term = Term { expires: self.expires, ttl_ms };
        Ok(pulses.liveness(cx, &self.holder, term)?.until())
    }
}

/// What an actor that wants a file finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileStatus {
    /// It is free. `before` is a lease of a holder that is gone.
    Free {
        before: Option<Lease>,
    },
    Own(Lease),
    Taken(Blocker),
}

/// Another actor's hold on a file, by a lease or by a reserved glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blocker {
    pub(super) hold: Hold,
    /// The reserved glob that the file is in.
    pub(super) glob: Option<(i64, String)>,
    /// The other name under which the file is held: its path, and the path below its tree.
    pub(super) other_name: Option<(String, String)>,
    /// When it ends unless the holder gives another sign of life.
    pub(super) until: Timestamp,
}

impl Blocker {
    /// The key under which waiters for the file are woken.
    pub(super) fn wake_key(&self, path: &str) -> String {
        match (&self.glob, &self.other_name) {
            (Some((id, _)), _) => words::glob_key(*id),
            (None, Some((other, _))) => words::wake_key(other),
            (None, None) => words::wake_key(path),
        }
    }
}

/// Looks a file up by path and identity, and then in the reserved globs unless it is leased.
///
/// The holder of that exact path is never refused. A lease under another name of the file (a hard link, a renamed
/// folder) only keeps others off.
pub(super) fn of(cx: &mut Cx<'_>, me: &Holder, place: &Place) -> Result<FileStatus, DbError> {
    let found = leases::same(cx.db, &place.path, place.file.as_deref())?;
    let lease = found.iter().find(|lease| lease.path == place.path);
    if let Some(lease) = lease {
        let hold = &lease.hold;
        if hold.holder.is_same(me) {
            let is_late = hold.is_provisional && hold.expires <= cx.now;
            if !is_late && !me.was_restarted(cx, &hold.holder)? {
                return Ok(FileStatus::Own(lease.clone()));
            }
        } else if let Some(until) = kept_until(cx, me, hold)? {
            let hold = hold.clone();
            return Ok(FileStatus::Taken(Blocker { hold, glob: None, other_name: None, until }));
        }
    }
    for Lease { hold, path, relative, .. } in found.iter().filter(|one| one.path != place.path) {
        if !hold.holder.is_same(me)
            && let Some(until) = kept_until(cx, me, hold)?
        {
            let (hold, other_name) = (hold.clone(), Some((path.clone(), relative.clone())));
            return Ok(FileStatus::Taken(Blocker { hold, glob: None, other_name, until }));
        }
    }
    Ok(match reserved_by_other(cx, me, place)? {
        Some(blocker) => FileStatus::Taken(blocker),
        None => FileStatus::Free { before: lease.cloned() },
    })
}

/// Until when another actor's hold keeps `me` off a file, if it does.
fn kept_until(cx: &mut Cx<'_>, me: &Holder, hold: &Hold) -> Result<Option<Timestamp>, DbError> {
    let Some(until) = hold.until(cx, &mut Pulses::default())? else { return Ok(None) };
    // A file that is being edited right now is not lent.
    let is_lent = !hold.is_provisional && lending::waits_for(cx, &hold.holder, me)?;
    Ok((!is_lent).then_some(until))
}

/// Another actor's glob that keeps `me` off the file. Those who share a glob may edit in it.
fn reserved_by_other(
    cx: &mut Cx<'_>,
    me: &Holder,
    place: &Place,
) -> Result<Option<Blocker>, DbError> {
    let found = reservations::in_root(cx.db, &place.root)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut pulses = Pulses::default();
    let (mut shares, mut shared, mut exclusive) = (false, None, None);
    for one in found.iter().filter(|one| globs::matches(&one.glob, &place.relative)) {
        let Some(until) = one.hold.until(cx, &mut pulses)? else { continue };
        let Reservation { id, glob, is_shared, hold, .. } = one;
        if hold.holder.is_same(me) {
            shares = true;
            continue;
        }
        if lending::waits_for(cx, &hold.holder, me)? {
            continue;
        }
        let glob = Some((*id, glob.clone()));
        let blocker = Blocker { hold: hold.clone(), glob, other_name: None, until };
        if *is_shared {
            shared.get_or_insert(blocker)
        } else {
            exclusive.get_or_insert(blocker)
        };
    }
    Ok(exclusive.or_else(|| shared.filter(|_| !shares)))
}
