//! Who waits for a file, and the note that its holder gets.
//!
//! The note rides on the holder's next tool result and is dropped with the lease. It never blocks the Stop that would
//! free the file.

use std::rc::Rc;

use substrate_core::{
    Cx, Db, DbError, Event, EventKind, Memorable, Outcome, Part, Timestamp, Wish,
};

use super::history::{self, LeaseChange};
use super::status::Blocker;
use super::{leases, mirror, reservations, words};
use crate::identity::holder::Holder;
use crate::mail::face;

/// Notes that are delivered at once.
const MAX_TOLD: i64 = 3;

pub(super) const OF: &str =
    "select path, glob, said from lease_notes where session = $1 and actor = $2 limit $3";

/// A note about a file, or about a file in a reserved glob.
#[derive(Debug, PartialEq, Eq)]
struct WaitNote {
    path: String,
    glob: Option<i64>,
    said: String,
}

/// Tells a holder, once, that `me` wants its file. `root` is given if `me` was refused.
pub(super) fn wanted(
    cx: &mut Cx<'_>,
    me: &Holder,
    blocker: &Blocker,
    (path, relative): (&str, &str),
    root: Option<&str>,
) -> Result<(), DbError> {
    // The holder knows the file by the name it holds it under.
    let other = blocker.other_name.as_ref().map(|(path, relative)| (&**path, &**relative));
    let (path, relative) = other.unwrap_or((path, relative));
    let who = me.address(cx)?;
    let is_new = note_waiter(cx.db, path, me, blocker.hold.acquired, cx.now)?;
    if let Some(root) = root {
        mirror::decided(cx, root, &who, LeaseChange::Denied, relative);
    }
    if !is_new {
        return Ok(());
    }
    let holder = &blocker.hold.holder;
    if root.is_some() {
        let detail = format!("held by {}", holder.address(cx)?);
        history::add(cx.db, path, &who, LeaseChange::Denied, &detail, cx.now)?;
    }
    let freed = match &blocker.glob {
        Some((_, glob)) => words::in_root(path, relative, glob),
        None => path.to_owned(),
    };
    if holder.is_person() {
        let (subject, body) = words::waits(&who, relative, &freed);
        // However many wait for one file, the person gets one message.
        let key = format!("waits {path}");
        return face::note(cx, (holder.agent, &holder.sub), &subject, body, Some(key));
    }
    let glob = blocker.glob.as_ref().map(|(id, _)| *id);
    let said = words::waits_for_you(&who, relative, &freed);
    leave(cx.db, holder, (path, glob), &said, cx.now)
}

/// Notes that an actor waits for a file that was taken at `since`. `true` if that is new.
fn note_waiter(
    db: &mut dyn Db,
    path: &str,
    waiter: &Holder,
    since: Timestamp,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "insert into lease_waiters (path, session, actor, since_ms, at_ms) values ($1, $2, $3, $4, $5)
         on conflict (path, session, actor) do update set since_ms = excluded.since_ms, at_ms = excluded.at_ms
         where lease_waiters.since_ms <> excluded.since_ms",
        &[
            path.into(),
            waiter.session.as_str().into(),
            waiter.actor.as_str().into(),
            since.0.into(),
            now.0.into(),
        ],
    )?;
    Ok(n > 0)
}

/// Leaves a note for the holder. Only the latest note about a file is kept, however many wait for it.
fn leave(
    db: &mut dyn Db,
    holder: &Holder,
    (path, glob): (&str, Option<i64>),
    said: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into lease_notes (session, actor, path, glob, said, at_ms) values ($1, $2, $3, $4, $5, $6)
         on conflict (session, actor, path) do update
         set glob = excluded.glob, said = excluded.said, at_ms = excluded.at_ms",
        &[
            holder.session.as_str().into(),
            holder.actor.as_str().into(),
            path.into(),
            glob.into(),
            said.into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// The notes that ride on this tool result.
pub(super) fn riding(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    if !matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure) {
        return Ok(Vec::new());
    }
    let Some(me) = Holder::of_event(cx, event) else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for WaitNote { path, glob, said } in of(cx.db, &me)?.iter() {
        let is_held = match glob {
            Some(id) => reservations::is_of(cx.db, *id, &me.session, &me.actor)?,
            None => leases::one(cx.db, path)?.is_some_and(|lease| lease.hold.holder.is_same(&me)),
        };
        if is_held {
            let parts = vec![Part { what: path.clone().into(), id: 0, end: said.len() }];
            let (text, more) = (said.clone(), Some("substrate locks".to_owned()));
            out.push(Wish::Context { text, more, parts });
        }
    }
    Ok(out)
}

/// Drops the notes that the answer contained.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    for part in outcome.told(super::FEATURE.name) {
        if let Some(me) = Holder::of_event(cx, event) {
            forget(cx.db, &me, &part.what)?;
        }
    }
    Ok(())
}

fn of(db: &mut dyn Db, holder: &Holder) -> Result<Rc<Vec<WaitNote>>, DbError> {
    const NOTES: Memorable = Memorable { name: "notes to a holder", tables: &["lease_notes"] };
    let key = [holder.session.as_str(), holder.actor.as_str()];
    let read = |db: &mut (dyn Db + '_)| {
        db.rows(OF, &[key[0].into(), key[1].into(), MAX_TOLD.into()], |row| {
            Ok(WaitNote { path: row.text(0)?, glob: row.opt_int(1)?, said: row.text(2)? })
        })
    };
    db.remembered(NOTES, key, read)
}

/// Drops the note about a lease that is gone, or a note that was delivered.
pub(super) fn forget(db: &mut dyn Db, holder: &Holder, path: &str) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and path = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), path.into()],
    )?;
    Ok(())
}

/// Drops the notes about a reserved glob that is gone.
pub(super) fn forget_glob(db: &mut dyn Db, holder: &Holder, id: i64) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and glob = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), id.into()],
    )?;
    Ok(())
}

/// Forgets notes and waiters from before that time, at most `limit` of each. Returns the larger count.
pub(super) fn forget_older(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    let params = [before.0.into(), limit.into()];
    let n_notes = db.execute(
        "delete from lease_notes where (session, actor, path) in
           (select session, actor, path from lease_notes where at_ms < $1 limit $2)",
        &params,
    )?;
    let n_waiters = db.execute(
        "delete from lease_waiters where (path, session, actor) in
           (select path, session, actor from lease_waiters where at_ms < $1 limit $2)",
        &params,
    )?;
    Ok(n_notes.max(n_waiters))
}
