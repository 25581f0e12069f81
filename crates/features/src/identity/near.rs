//! The names that somebody may have meant.

use substrate_core::text::nearest;
use substrate_core::{Db, DbError};

/// The names nearest to a text that is nobody's name, among the agents that were active last.
pub(super) fn names(db: &mut dyn Db, text: &str) -> Result<Vec<String>, DbError> {
    let known = db.rows(
        "select name from agents where deleted_ms is null order by id desc limit 2000",
        &[],
        |row| row.text(0),
    )?;
    Ok(nearest(text, known.iter().map(String::as_str)).into_iter().map(str::to_owned).collect())
}

/// The subagents of an agent that can be written to.
pub(super) fn subagents(db: &mut dyn Db, agent: i64, name: &str) -> Result<Vec<String>, DbError> {
    db.rows(
        "select name from agent_actors where agent = $1 and ended_ms is null order by last_ms desc limit 3",
        &[agent.into()],
        |row| Ok(format!("{name}/{}", row.text(0)?)),
    )
}
