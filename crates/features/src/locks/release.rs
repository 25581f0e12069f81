//! Releasing leases and waking those who wait for them; the tick releases the leases of holders that are gone.

use substrate_core::{Cx, DbError, Effect, FeatureError, Who};

use super::history::{self, LeaseChange};
use super::leases::{self, Lease};
use super::reservations::{self, Reservation};
use super::{lending, mirror, waiting, words};
use crate::identity::holder::{self, Holder, Pulses};

/// What was released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) n_files: usize,
    pub(super) n_globs: usize,
}

/// Releases everything an actor holds.
pub(super) fn of_actor(
    cx: &mut Cx<'_>,
    session: &str,
    actor: &str,
    what: LeaseChange,
) -> Result<Released, DbError> {
    if leases::holds_nothing(cx.db, session, actor)? {
        return Ok(Released::default());
    }
    // A Stop that arrives late must not release what was taken after it.
    let leases = leases::remove_of(cx.db, session, actor, cx.now)?;
    let globs = reservations::remove_of(cx.db, session, actor)?;
    follow_up(cx, &leases, &globs, what)
}

/// Releases everything a session holds, including its subagents.
pub(super) fn of_session(cx: &mut Cx<'_>, session: &str) -> Result<Released, DbError> {
    let leases = leases::remove_of_session(cx.db, session)?;
    let globs = reservations::remove_of_session(cx.db, session)?;
    follow_up(cx, &leases, &globs, LeaseChange::Released)
}

/// Releases these leases and globs.
pub(super) fn these(
    cx: &mut Cx<'_>,
    leases: &[Lease],
    globs: &[Reservation],
    what: LeaseChange,
) -> Result<Released, DbError> {
    for lease in leases {
        leases::remove(cx.db, &lease.path)?;
    }
    for glob in globs {
        reservations::remove(cx.db, glob.id)?;
    }
    follow_up(cx, leases, globs, what)
}

/// Updates what depends on released rows: history, waiters and mirrors.
fn follow_up(
    cx: &mut Cx<'_>,
    leases: &[Lease],
    globs: &[Reservation],
    what: LeaseChange,
) -> Result<Released, DbError> {
    for lease in leases {
        note(cx, &lease.hold.holder, &lease.path, what)?;
        waiting::forget(cx.db, &lease.hold.holder, &lease.path)?;
        cx.effects.push(Effect::Wake { key: words::wake_key(&lease.path) });
    }
    for glob in globs {
        note(cx, &glob.hold.holder, &format!("{}/{}", glob.root, glob.glob), what)?;
        waiting::forget_glob(cx.db, &glob.hold.holder, glob.id)?;
        cx.effects.push(Effect::Wake { key: words::glob_key(glob.id) });
    }
    mirror::released(cx, leases, what)?;
    Ok(Released { n_files: leases.len(), n_globs: globs.len() })
}

/// Adds to the history who released it: the holder, or the person who forced it.
fn note(cx: &mut Cx<'_>, holder: &Holder, path: &str, what: LeaseChange) -> Result<(), DbError> {
    let holder = holder.address(cx)?;
    match cx.who.as_ref().filter(|_| what == LeaseChange::Forced).map(Who::address) {
        Some(who) => history::add(cx.db, path, &who, what, &format!("from {holder}"), cx.now),
        None => history::add(cx.db, path, &holder, what, "", cx.now),
    }
}

const DAY_MS: i64 = 86_400_000;
const HISTORY_MS: i64 = 30 * DAY_MS;

/// Rows handled per round, so that no hook has to wait.
const STEP: i64 = 200;

/// Releases what has expired and forgets old rows. `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let full = usize::try_from(STEP).unwrap_or(usize::MAX);
    release_of_gone(cx)?;
    let late = leases::expired(cx.db, cx.now, STEP)?;
    let mut pulses = Pulses::default();
    for lease in &late {
        match lease.hold.until(cx, &mut pulses)? {
            // The holder gave a sign of life. Store the later end, so that the next round looks at other leases.
            Some(until) => leases::prolong(cx.db, &lease.path, until)?,
            None => {
                these(cx, std::slice::from_ref(lease), &[], LeaseChange::Expired)?;
            }
        }
    }
    for glob in reservations::all(cx.db, 10_000)? {
        if glob.hold.expires <= cx.now && glob.hold.until(cx, &mut pulses)?.is_none() {
            these(cx, &[], &[glob], LeaseChange::Expired)?;
        }
    }
    let (old, older) = (cx.now.plus_ms(-DAY_MS), cx.now.plus_ms(-HISTORY_MS));
    let n_entries = history::forget(cx.db, older, STEP)?;
    let n_calls = lending::forget(cx.db, old, STEP)?;
    let n_notes = waiting::forget_older(cx.db, old, STEP)?;
    Ok(late.len() >= full || n_entries.max(n_calls).max(n_notes) >= full)
}

/// Releases what is held by actors that have ended or whose process is gone.
fn release_of_gone(cx: &mut Cx<'_>) -> Result<(), FeatureError> {
    for (session, actor) in leases::holders(cx.db)? {
        let pulse = holder::pulse(cx.db, cx.world, &session, &actor)?;
        if !holder::is_person(&session) && pulse.is_none_or(|pulse| pulse.is_over) {
            of_actor(cx, &session, &actor, LeaseChange::Expired)?;
        }
    }
    Ok(())
}
