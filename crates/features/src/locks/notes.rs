//! Notes to the holder of a file that somebody else is waiting for. They ride on the holder's next tool result, and go
//! with the lease: nobody is kept from ending the turn that frees the file.

use substrate_core::{Cx, Db, DbError, Event, EventKind, Outcome, Part, Timestamp, Wish};

use super::owner::Owner;
use super::{ops, ops_globs};
use crate::retention::Expiring;

/// How many are told at once.
const MAX_TOLD: i64 = 3;

pub(super) const OF: &str =
    "select path, glob, said from lease_notes where session = $1 and actor = $2 limit $3";

/// A note about a file, or about a file in a reserved glob.
struct Note {
    path: String,
    glob: Option<i64>,
    said: String,
}

/// Leaves a note for the holder. Sixty who wait for one file are one note: the latest.
pub(super) fn leave(
    db: &mut dyn Db,
    holder: &Owner,
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

/// What rides on this tool result.
pub(super) fn riding(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    if !matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure) {
        return Ok(Vec::new());
    }
    let Some(me) = Owner::of_event(cx, event) else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for Note { path, glob, said } in of(cx.db, &me)? {
        let is_held = match glob {
            Some(id) => ops_globs::is_of(cx.db, id, &me.session, &me.actor)?,
            None => ops::one(cx.db, &path)?.is_some_and(|lease| lease.claim.owner.is_same(&me)),
        };
        if is_held {
            let parts = vec![Part { what: path.into(), id: 0, end: said.len() }];
            out.push(Wish::Context { text: said, more: Some("substrate locks".to_owned()), parts });
        }
    }
    Ok(out)
}

/// What is in the answer was told.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    for part in outcome.told(super::FEATURE.name) {
        if let Some(me) = Owner::of_event(cx, event) {
            forget(cx.db, &me, &part.what)?;
        }
    }
    Ok(())
}

fn of(db: &mut dyn Db, holder: &Owner) -> Result<Vec<Note>, DbError> {
    let params = [holder.session.as_str().into(), holder.actor.as_str().into(), MAX_TOLD.into()];
    db.rows(OF, &params, |row| {
        Ok(Note { path: row.text(0)?, glob: row.opt_int(1)?, said: row.text(2)? })
    })
}

/// The lease is gone, or its note was told.
pub(super) fn forget(db: &mut dyn Db, holder: &Owner, path: &str) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and path = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), path.into()],
    )?;
    Ok(())
}

/// A reserved glob is gone, and with it what was waited for in it.
pub(super) fn forget_glob(db: &mut dyn Db, holder: &Owner, id: i64) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and glob = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), id.into()],
    )?;
    Ok(())
}

/// Notes that were never told.
pub(super) const OLD: Expiring =
    Expiring { table: "lease_notes", key: "session, actor, path", when: "at_ms < $1" };
