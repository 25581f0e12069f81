//! The SQL of what clients reported about context windows.

use substrate_core::{Db, DbError, Memorable, Migration, Timestamp};

use crate::retention::Expiring;

/// What status lines and model names reported about an actor's window.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "how full context windows are, as clients say it",
    sql: "create table context_usage (
            session text not null,
            actor text not null,
            used bigint,
            size bigint not null,
            source text not null,
            at_ms bigint not null,
            primary key (session, actor)
          );
          create index context_usage_at on context_usage (at_ms);",
}];

/// What a client reported about a window, outside its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    /// Tokens in use; `None` if only the size is known.
    pub(super) used: Option<i64>,
    /// The window's size in tokens; 0 if unknown.
    pub(super) size: i64,
    pub(super) source: String,
    pub(super) at: Timestamp,
}

pub(super) const ONE: &str =
    "select used, size, source, at_ms from context_usage where session = $1 and actor = $2";

pub(super) fn one(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<ReportedUsage>, DbError> {
    const USAGE: Memorable = Memorable { name: "context usage", tables: &["context_usage"] };
    let read = |db: &mut (dyn Db + '_)| {
        db.first(ONE, &[session.into(), actor.into()], |row| {
            Ok(ReportedUsage {
                used: row.opt_int(0)?,
                size: row.int(1)?,
                source: row.text(2)?,
                at: Timestamp(row.int(3)?),
            })
        })
    };
    Ok((*db.remembered(USAGE, [session, actor], read)?).clone())
}

/// Stores a report, unless nothing has changed.
pub(super) fn report(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    new: &ReportedUsage,
) -> Result<(), DbError> {
    let before = one(db, session, actor)?;
    let is_same =
        |old: ReportedUsage| (old.used, old.size, &old.source) == (new.used, new.size, &new.source);
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

/// Old reports.
pub(super) const REPORTS: Expiring =
    Expiring { table: "context_usage", key: "session, actor", when: "at_ms < $1" };
