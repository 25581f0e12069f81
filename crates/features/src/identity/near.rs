//! The names that somebody may have meant.

use substrate_core::{Db, DbError};

/// How many are told.
const MAX: i64 = 3;

/// The names nearest to a text that is nobody's name, among the agents that were active last.
pub(super) fn names(db: &mut dyn Db, text: &str) -> Result<Vec<String>, DbError> {
    let wanted = text.to_lowercase();
    let known = db.rows(
        "select name from agents where deleted_ms is null order by id desc limit 2000",
        &[],
        |row| row.text(0),
    )?;
    let mut scored: Vec<(usize, String)> =
        known.into_iter().map(|name| (distance(&wanted, &name.to_lowercase()), name)).collect();
    scored.sort();
    let far = wanted.chars().count().max(4) / 2;
    let close = scored.into_iter().filter(|(distance, _)| *distance <= far);
    Ok(close.take(usize::try_from(MAX).unwrap_or(3)).map(|(_, name)| name).collect())
}

/// The subagents of an agent that can be written to.
pub(super) fn subagents(db: &mut dyn Db, agent: i64, name: &str) -> Result<Vec<String>, DbError> {
    db.rows(
        "select name from agent_actors where agent = $1 and ended_ms is null order by last_ms desc limit $2",
        &[agent.into(), MAX.into()],
        |row| Ok(format!("{name}/{}", row.text(0)?)),
    )
}

/// How many characters must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_what_one_would_type_wrong() {
        assert_eq!(distance("noblelion", "noblelion"), 0);
        assert_eq!(distance("nobelion", "noblelion"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("lionnoble", "noblelion"), 8);
    }
}
