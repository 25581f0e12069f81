//! Which files a window has read or changed. A subagent leaves its own to the window around it.

use substrate_core::{Db, DbError, Timestamp};

/// So many of a window are remembered.
const MAX_FILES: i64 = 500;

/// Notes a file. One statement; nothing is written for a file that is known.
pub(super) fn loaded(
    db: &mut dyn Db,
    window: i64,
    path: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into window_files (window_id, path, at_ms) select $1, $2, $3
         where (select count(*) from window_files where window_id = $1) < $4
         on conflict (window_id, path) do nothing",
        &[window.into(), path.into(), now.0.into(), MAX_FILES.into()],
    )?;
    Ok(())
}

/// The open window of an actor gives its files to the window that it is nested in.
pub(super) fn merge_into_parent(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<(), DbError> {
    db.execute(
        "insert into window_files (window_id, path, at_ms)
         select w.parent, f.path, f.at_ms from windows w join window_files f on f.window_id = w.id
         where w.session = $1 and w.actor = $2 and w.ended_ms is null and w.parent is not null
         on conflict (window_id, path) do nothing",
        &[session.into(), actor.into()],
    )?;
    Ok(())
}

/// The files of an effort: those of its main windows, the latest first.
pub(super) fn of_effort(db: &mut dyn Db, effort: i64, max: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select f.path from windows w join window_files f on f.window_id = w.id
         where w.effort = $1 and w.parent is null group by f.path order by max(f.at_ms) desc, f.path limit $2",
        &[effort.into(), max.into()],
        |row| row.text(0),
    )
}

/// The files of one window, the latest first.
pub(super) fn of_window(db: &mut dyn Db, window: i64, max: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select path from window_files where window_id = $1 order by at_ms desc, path limit $2",
        &[window.into(), max.into()],
        |row| row.text(0),
    )
}

/// Forgets the files of windows that are forgotten.
pub(super) fn forget(db: &mut dyn Db) -> Result<(), DbError> {
    db.execute("delete from window_files where window_id not in (select id from windows)", &[])?;
    Ok(())
}
