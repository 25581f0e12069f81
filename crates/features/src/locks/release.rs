//! Letting go, and telling those who wait.

use substrate_core::{Cx, DbError, Effect};

use super::ops::{self, Lease};
use super::ops_globs::{self, Reserved};
use super::ops_history::{self, What};
use super::owner::Owner;
use super::{mirror, notes, words};

/// How many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) n_files: usize,
    pub(super) n_globs: usize,
}

/// Everything that an actor holds.
pub(super) fn of_actor(
    cx: &mut Cx<'_>,
    session: &str,
    actor: &str,
    what: What,
) -> Result<Released, DbError> {
    // A Stop that is heard late says nothing of what was taken after it.
    let leases = ops::remove_of(cx.db, session, actor, cx.now)?;
    let globs = ops_globs::remove_of(cx.db, session, actor)?;
    after(cx, &leases, &globs, what)
}

/// Everything that a session holds, its subagents included.
pub(super) fn of_session(cx: &mut Cx<'_>, session: &str) -> Result<Released, DbError> {
    let leases = ops::remove_of_session(cx.db, session)?;
    let globs = ops_globs::remove_of_session(cx.db, session)?;
    after(cx, &leases, &globs, What::Released)
}

/// These leases and globs.
pub(super) fn these(
    cx: &mut Cx<'_>,
    leases: &[Lease],
    globs: &[Reserved],
    what: What,
) -> Result<Released, DbError> {
    for lease in leases {
        ops::remove(cx.db, &lease.path)?;
    }
    for glob in globs {
        ops_globs::remove(cx.db, glob.id)?;
    }
    after(cx, leases, globs, what)
}

/// Rows that are gone: history, waiters, mirrors.
fn after(
    cx: &mut Cx<'_>,
    leases: &[Lease],
    globs: &[Reserved],
    what: What,
) -> Result<Released, DbError> {
    for lease in leases {
        note(cx, &lease.claim.owner, &lease.path, what)?;
        notes::forget(cx.db, &lease.claim.owner, &lease.path)?;
        cx.effects.push(Effect::Wake { key: words::wake_key(&lease.path) });
    }
    for glob in globs {
        note(cx, &glob.claim.owner, &format!("{}/{}", glob.root, glob.glob), what)?;
        notes::forget_glob(cx.db, &glob.claim.owner, glob.id)?;
        cx.effects.push(Effect::Wake { key: words::glob_key(glob.id) });
    }
    mirror::released(cx, leases, what)?;
    Ok(Released { n_files: leases.len(), n_globs: globs.len() })
}

/// The history says who did it: the owner, or whoever took it from the owner.
fn note(cx: &mut Cx<'_>, owner: &Owner, path: &str, what: What) -> Result<(), DbError> {
    let holder = owner.address(cx)?;
    match cx.who.as_ref().filter(|_| what == What::Forced).map(substrate_core::Who::address) {
        Some(who) => ops_history::add(cx.db, path, &who, what, &format!("from {holder}"), cx.now),
        None => ops_history::add(cx.db, path, &holder, what, "", cx.now),
    }
}
