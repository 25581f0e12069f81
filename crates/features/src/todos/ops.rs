//! The SQL of stored task lists.

use substrate_core::redact::clean;
use substrate_core::{Db, DbError, Memorable, Migration, SafeId, Timestamp};

use super::list::{Todo, Unfinished};
use crate::retention::Expiring;

/// Lists without files: what a session's latest `TodoWrite` left unfinished.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "unfinished entries of TodoWrite lists",
    sql: "create table todo_lists (
            session text primary key,
            entries text not null,
            n_unfinished bigint not null,
            at_ms bigint not null
          );",
}];

/// Replaces the session's list. A finished list is forgotten.
pub(super) fn replace(
    db: &mut dyn Db,
    session: &SafeId,
    list: &Unfinished,
    now: Timestamp,
) -> Result<(), DbError> {
    if list.n == 0 {
        return forget(db, session);
    }
    let entries = serde_json::to_string(&list.first)
        .map_err(|error| DbError::Other { detail: format!("a task list: {error}") })?;
    let entries = clean(&entries);
    let n = i64::try_from(list.n).unwrap_or(i64::MAX);
    db.execute(
        "insert into todo_lists (session, entries, n_unfinished, at_ms) values ($1, $2, $3, $4)
         on conflict (session) do update
         set entries = excluded.entries, n_unfinished = excluded.n_unfinished, at_ms = excluded.at_ms",
        &[session.as_str().into(), (&*entries).into(), n.into(), now.0.into()],
    )?;
    Ok(())
}

pub(super) fn load(db: &mut dyn Db, session: &SafeId) -> Result<Unfinished, DbError> {
    const LIST: Memorable = Memorable { name: "task list", tables: &["todo_lists"] };
    let read = |db: &mut (dyn Db + '_)| {
        db.first(
            "select entries, n_unfinished from todo_lists where session = $1",
            &[session.as_str().into()],
            |row| Ok((row.text(0)?, row.int(1)?)),
        )
    };
    let found = db.remembered(LIST, [session.as_str(), ""], read)?;
    let Some((entries, n)) = &*found else { return Ok(Unfinished::default()) };
    let first: Vec<Todo> = serde_json::from_str(entries).unwrap_or_default();
    Ok(Unfinished { n: usize::try_from(*n).unwrap_or(0).max(first.len()), first })
}

pub(super) fn forget(db: &mut dyn Db, session: &SafeId) -> Result<(), DbError> {
    db.execute("delete from todo_lists where session = $1", &[session.as_str().into()])?;
    Ok(())
}

/// Lists that were written long ago.
pub(super) const LISTS: Expiring =
    Expiring { table: "todo_lists", key: "session", when: "at_ms < $1" };
