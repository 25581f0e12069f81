//! The SQL of the session logs. No other code touches `journal_agent` and `journal_setup`.

use substrate_core::{Db, DbError, Timestamp};

/// Notes a subagent of the session.
pub(super) fn note_agent(
    db: &mut dyn Db,
    session: &str,
    agent: &str,
    at: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into journal_agent (session, agent, at_ms) values ($1, $2, $3)
         on conflict (session, agent) do nothing",
        &[session.into(), agent.into(), at.0.into()],
    )?;
    Ok(())
}

/// How many different subagents the session had.
pub(super) fn n_agents(db: &mut dyn Db, session: &str) -> Result<i64, DbError> {
    let n = db.first(
        "select count(*) from journal_agent where session = $1",
        &[session.into()],
        |row| row.int(0),
    )?;
    Ok(n.unwrap_or(0))
}

/// Keeps a text for the project's next session.
pub(super) fn keep_setup(
    db: &mut dyn Db,
    root: &str,
    said: &str,
    at: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into journal_setup (root, said, at_ms) values ($1, $2, $3)
         on conflict (root) do update set said = excluded.said, at_ms = excluded.at_ms",
        &[root.into(), said.into(), at.0.into()],
    )?;
    Ok(())
}

pub(super) fn setup_said(db: &mut dyn Db, root: &str) -> Result<Option<String>, DbError> {
    db.first("select said from journal_setup where root = $1", &[root.into()], |row| row.text(0))
}

pub(super) fn forget_setup(db: &mut dyn Db, root: &str) -> Result<(), DbError> {
    db.execute("delete from journal_setup where root = $1", &[root.into()])?;
    Ok(())
}

pub(super) fn forget(db: &mut dyn Db, before: Timestamp) -> Result<(), DbError> {
    db.execute("delete from journal_agent where at_ms < $1", &[before.0.into()])?;
    db.execute("delete from journal_setup where at_ms < $1", &[before.0.into()])?;
    Ok(())
}
