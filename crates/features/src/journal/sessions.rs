//! Which rows a session has. `journal_session` is summed up from the rows, many at a time: written with every event, it
//! would cost as much as the event's own row. Questions look at the few rows that are not summed up yet as well.

use std::cell::Cell;

use substrate_core::{Db, DbError, Memorable, Param};

/// Rows are summed up whenever this many are new, so no question looks at more of them.
const STEP: i64 = 64;

/// The id of the newest row. Only the writer asks, and it counts on by itself.
const NEWEST: Memorable = Memorable { name: "newest row of the journal", tables: &[] };

/// The rows of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) first_id: i64,
    pub(super) last_id: i64,
    /// Of its first row.
    pub(super) cwd: String,
    pub(super) first_ms: i64,
}

/// Runs `append` with the id of the next row.
pub(super) fn next(
    db: &mut dyn Db,
    append: impl FnOnce(&mut dyn Db, i64) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let newest = db.remembered(NEWEST, ["", ""], |db| newest_id(db).map(Cell::new))?;
    let id = newest.get() + 1;
    if id % STEP == 0 {
        sum_up(db)?;
    }
    append(db, id)?;
    newest.set(id);
    Ok(())
}

/// The newest row there is, or was: an id is never given twice.
pub(super) fn newest_id(db: &mut dyn Db) -> Result<i64, DbError> {
    let newest = db.first("select max(id) from journal", &[], |row| row.opt_int(0))?.flatten();
    Ok(newest.unwrap_or(0).max(summed_up_to(db)?))
}

fn summed_up_to(db: &mut dyn Db) -> Result<i64, DbError> {
    let up_to = db.first("select up_to from journal_summed", &[], |row| row.int(0))?;
    Ok(up_to.unwrap_or(0))
}

/// Adds the rows that are new to the ranges of their sessions.
pub(super) fn sum_up(db: &mut dyn Db) -> Result<(), DbError> {
    let (after, newest) = (summed_up_to(db)?, newest_id(db)?);
    if newest == after {
        return Ok(());
    }
    db.execute(
        "insert into journal_session (session, client, cwd, first_id, last_id, n_events, first_ms, last_ms)
         select new.session, first.client, first.cwd, new.first_id, new.last_id, new.n, new.first_ms, new.last_ms
         from (select session, min(id) as first_id, max(id) as last_id, count(*) as n, min(at_ms) as first_ms,
                 max(at_ms) as last_ms
               from journal where id > $1 and id <= $2 and session is not null group by session) new
           join journal first on first.id = new.first_id
         where true
         on conflict (session) do update
         set last_id = excluded.last_id, n_events = journal_session.n_events + excluded.n_events,
           last_ms = case when excluded.last_ms > journal_session.last_ms then excluded.last_ms
                          else journal_session.last_ms end",
        &[after.into(), newest.into()],
    )?;
    db.execute("update journal_summed set up_to = $1", &[newest.into()])?;
    Ok(())
}

/// The rows of a session, if it has any.
pub(super) fn rows_of(db: &mut dyn Db, session: &str) -> Result<Option<Rows>, DbError> {
    let known = db.first(
        "select first_id, last_id, cwd, first_ms from journal_session where session = $1",
        &[session.into()],
        |row| {
            let (first_id, last_id) = (row.int(0)?, row.int(1)?);
            Ok(Rows { first_id, last_id, cwd: row.text(2)?, first_ms: row.int(3)? })
        },
    )?;
    let after = summed_up_to(db)?;
    let params: [Param<'_>; 2] = [after.into(), session.into()];
    if let Some(known) = known {
        let newer = newest_of(db, session, after)?;
        return Ok(Some(Rows { last_id: newer.unwrap_or(known.last_id), ..known }));
    }
    let first = db.first(
        "select id, cwd, at_ms from journal where id > $1 and session = $2 order by id limit 1",
        &params,
        |row| Ok((row.int(0)?, row.text(1)?, row.int(2)?)),
    )?;
    let Some((first_id, cwd, first_ms)) = first else { return Ok(None) };
    let last_id = newest_of(db, session, after)?.unwrap_or(first_id);
    Ok(Some(Rows { first_id, last_id, cwd, first_ms }))
}

/// The newest row of a session.
pub(super) fn last_id(db: &mut dyn Db, session: &str) -> Result<Option<i64>, DbError> {
    let after = summed_up_to(db)?;
    if let Some(newest) = newest_of(db, session, after)? {
        return Ok(Some(newest));
    }
    db.first("select last_id from journal_session where session = $1", &[session.into()], |row| {
        row.int(0)
    })
}

fn newest_of(db: &mut dyn Db, session: &str, after: i64) -> Result<Option<i64>, DbError> {
    db.first(
        "select id from journal where id > $1 and session = $2 order by id desc limit 1",
        &[after.into(), session.into()],
        |row| row.int(0),
    )
}

/// The session whose id starts with the prefix; the newest, if several do.
pub(super) fn starting(db: &mut dyn Db, prefix: &str) -> Result<Option<String>, DbError> {
    let after = summed_up_to(db)?;
    let new = db.first(
        "select session from journal
         where id > $2 and session is not null and substr(session, 1, length($1)) = $1 order by id desc limit 1",
        &[prefix.into(), after.into()],
        |row| row.text(0),
    )?;
    if new.is_some() {
        return Ok(new);
    }
    db.first(
        "select session from journal_session
         where substr(session, 1, length($1)) = $1 order by last_id desc limit 1",
        &[prefix.into()],
        |row| row.text(0),
    )
}

#[cfg(test)]
mod tests {
    use substrate_core::EventKind;

    use super::*;
    use crate::stage::Stage;

    /// Every session's range is that of its rows.
    fn agree(stage: &mut Stage) {
        stage.with(|cx| {
            let by_rows = cx.db.rows(
                "select session, min(id), max(id), min(at_ms) from journal group by session",
                &[],
                |row| Ok((row.text(0)?, row.int(1)?, row.int(2)?, row.int(3)?)),
            );
            for (session, first, last, first_ms) in by_rows.unwrap() {
                let rows = rows_of(cx.db, &session).unwrap().unwrap();
                assert_eq!((rows.first_id, rows.last_id, rows.first_ms), (first, last, first_ms));
                assert_eq!(last_id(cx.db, &session).unwrap(), Some(last));
                assert_eq!(starting(cx.db, &session).unwrap(), Some(session));
            }
        });
    }

    #[test]
    fn a_range_is_that_of_the_rows_whenever_it_is_asked_for() {
        let mut stage = Stage::new("");
        for n in 0..2 * STEP + 10 {
            let event = stage.event(EventKind::PreToolUse, &format!("s{}-{}", n % 3, n / 50));
            stage.happen(&event);
            stage.pass(10);
            if n % 9 == 0 {
                agree(&mut stage);
            }
            if n == STEP + 5 {
                stage.reopen();
            }
        }
        stage.with(|cx| sum_up(cx.db)).unwrap();
        agree(&mut stage);
        let n_events = stage.with(|cx| {
            let sql = "select sum(n_events) from journal_session";
            cx.db.first(sql, &[], |row| row.int(0)).unwrap()
        });
        assert_eq!(n_events, Some(2 * STEP + 10), "no row is counted twice");
    }

    #[test]
    fn an_id_is_never_given_twice() {
        let mut stage = Stage::new("");
        let event = stage.event(EventKind::PreToolUse, "s");
        stage.happen(&event);
        stage.with(|cx| {
            sum_up(cx.db).unwrap();
            cx.db.execute("delete from journal", &[]).unwrap();
        });
        stage.reopen();
        stage.happen(&event);
        assert_eq!(stage.with(|cx| last_id(cx.db, "s").unwrap()), Some(2));
    }
}
