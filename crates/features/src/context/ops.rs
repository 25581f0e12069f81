//! The SQL of what clients said about windows.

use substrate_core::{Db, DbError, Timestamp};

/// What is known of a window without its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Tokens in use; `None` where only the size is known.
    pub(super) used: Option<i64>,
    /// Tokens of the window; 0 where nobody said.
    pub(super) size: i64,
    pub(super) source: String,
    pub(super) at: Timestamp,
}

pub(super) const ONE: &str =
    "select used, size, source, at_ms from context_usage where session = $1 and actor = $2";

pub(super) fn one(db: &mut dyn Db, session: &str, actor: &str) -> Result<Option<Said>, DbError> {
    db.first(ONE, &[session.into(), actor.into()], |row| {
        Ok(Said {
            used: row.opt_int(0)?,
            size: row.int(1)?,
            source: row.text(2)?,
            at: Timestamp(row.int(3)?),
        })
    })
}

/// Nothing is written where nothing has changed.
pub(super) fn say(db: &mut dyn Db, session: &str, actor: &str, new: &Said) -> Result<(), DbError> {
    let before = one(db, session, actor)?;
    let is_same =
        |old: Said| (old.used, old.size, &old.source) == (new.used, new.size, &new.source);
    if before.is_some_and(is_same) {
        return Ok(());
    }
    db.execute(
        "insert into context_usage (session, actor, used, size, source, at_ms) values ($1, $2, $3, $4, $5, $6)
         on conflict (session, actor) do update
         set used = excluded.used, size = excluded.size, source = excluded.source, at_ms = excluded.at_ms",
        &[
            session.into(),
            actor.into(),
            new.used.into(),
            new.size.into(),
            new.source.as_str().into(),
            new.at.0.into(),
        ],
    )?;
    Ok(())
}

/// Forgets what was said before then, at most `limit`. How many were forgotten.
pub(super) fn forget_older(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    db.execute(
        "delete from context_usage where (session, actor) in
           (select session, actor from context_usage where at_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}
