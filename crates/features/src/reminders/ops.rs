//! The SQL of what was told.

use substrate_core::{Db, DbError, RequestId, SafeId, Timestamp};

use super::source::Reminder;

/// What that actor was told.
pub(super) fn told(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
) -> Result<Vec<Reminder>, DbError> {
    let names = db.rows(
        "select reminder from reminders_told where session = $1 and actor = $2",
        &[session.as_str().into(), actor.into()],
        |row| row.text(0),
    )?;
    Ok(names.iter().filter_map(|name| Reminder::named(name)).collect())
}

/// Notes that it is told this by the answer to that request.
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

/// The answer to that request never reached anybody.
pub(super) fn take_back(db: &mut dyn Db, request: RequestId) -> Result<(), DbError> {
    db.execute(
        "delete from reminders_told where request = $1",
        &[request.to_string().as_str().into()],
    )?;
    Ok(())
}

/// Forgets what was told before then, at most `limit` rows. How many were forgotten.
pub(super) fn forget_older(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    db.execute(
        "delete from reminders_told where (session, actor, reminder) in
           (select session, actor, reminder from reminders_told where at_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}
