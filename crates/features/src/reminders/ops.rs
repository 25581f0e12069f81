//! The SQL of which reminders were told.

use substrate_core::{Db, DbError, Memorable, Migration, RequestId, SafeId, Timestamp};

use super::source::Reminder;
use crate::retention::Expiring;

/// Which reminders each actor was told, so that none comes twice.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "which reminders an actor was told",
    sql: "create table reminders_told (
            session text not null,
            actor text not null,
            reminder text not null,
            request text not null,
            at_ms bigint not null,
            primary key (session, actor, reminder)
          );",
}];

/// The reminders that an actor was told.
pub(super) fn told(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
) -> Result<Vec<Reminder>, DbError> {
    const TOLD: Memorable = Memorable { name: "reminders told", tables: &["reminders_told"] };
    let read = |db: &mut (dyn Db + '_)| {
        db.rows(
            "select reminder from reminders_told where session = $1 and actor = $2",
            &[session.as_str().into(), actor.into()],
            |row| row.text(0),
        )
    };
    let names = db.remembered(TOLD, [session.as_str(), actor], read)?;
    Ok(names.iter().filter_map(|name| Reminder::named(name)).collect())
}

/// Notes that the answer to this request tells an actor the reminder.
pub(super) fn tell(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    reminder: Reminder,
    request: RequestId,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into reminders_told (session, actor, reminder, request, at_ms) values ($1, $2, $3, $4, $5)
         on conflict (session, actor, reminder) do nothing",
        &[
            session.as_str().into(),
            actor.into(),
            reminder.name().into(),
            request.to_string().as_str().into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// The answer to this request never arrived.
pub(super) fn take_back(db: &mut dyn Db, request: RequestId) -> Result<(), DbError> {
    db.execute(
        "delete from reminders_told where request = $1",
        &[request.to_string().as_str().into()],
    )?;
    Ok(())
}

/// Reminders that were told long ago.
pub(super) const TOLD: Expiring =
    Expiring { table: "reminders_told", key: "session, actor, reminder", when: "at_ms < $1" };
