//! What the journal really contains, read from the database file.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use rusqlite::{Connection, OpenFlags};

/// What senders know about their events, by marker.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Answered: must be there exactly once.
    pub(crate) answered: Vec<String>,
    /// Sent without an answer: may be there, at most once.
    pub(crate) unanswered: Vec<String>,
}

impl Sent {
    pub(crate) fn add(&mut self, other: Self) {
        self.answered.extend(other.answered);
        self.unanswered.extend(other.unanswered);
    }
}

/// The comparison of what was sent with what is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) n_rows: usize,
    pub(crate) lost: Vec<String>,
    pub(crate) doubled: Vec<String>,
    pub(crate) unknown: Vec<String>,
    /// Rows written without the daemon.
    pub(crate) n_in_process: usize,
}

impl Comparison {
    pub(crate) fn is_exact(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.unknown.is_empty()
    }

    pub(crate) fn words(&self) -> String {
        let some = |list: &[String]| match list {
            [] => "0".to_owned(),
            [first, ..] => format!("{} ({first}, …)", list.len()),
        };
        format!(
            "{} rows ({} in-process), lost {}, doubled {}, unknown {}",
            self.n_rows,
            self.n_in_process,
            some(&self.lost),
            some(&self.doubled),
            some(&self.unknown)
        )
    }
}

pub(crate) fn open(database: &Path) -> Result<Connection> {
    let conn = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("`{}`", database.display()))?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(conn)
}

/// How often each marker is in the journal, and whether it was written in-process.
pub(crate) fn rows(database: &Path) -> Result<Vec<(String, String, Option<String>)>> {
    let conn = open(database)?;
    let mut statement =
        conn.prepare("select coalesce(tool_use, ''), host, why from journal order by id")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Compares the journal with what was sent.
pub(crate) fn compare(database: &Path, sent: &Sent) -> Result<Comparison> {
    let rows = rows(database)?;
    let n_in_process = rows.iter().filter(|(_, host, _)| host == "in-process").count();
    let found = tally(rows.into_iter().map(|(marker, ..)| marker), sent);
    Ok(Comparison { n_in_process, ..found })
}

/// Compares the markers in the journal with those that were sent.
pub(crate) fn tally(there: impl IntoIterator<Item = String>, sent: &Sent) -> Comparison {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut found = Comparison::default();
    for marker in there {
        *counts.entry(marker).or_default() += 1;
        found.n_rows += 1;
    }
    for marker in &sent.answered {
        match counts.remove(marker) {
            None => found.lost.push(marker.clone()),
            Some(1) => {}
            Some(_) => found.doubled.push(marker.clone()),
        }
    }
    for marker in &sent.unanswered {
        if counts.remove(marker).is_some_and(|n| n > 1) {
            found.doubled.push(marker.clone());
        }
    }
    found.unknown = counts.into_keys().collect();
    found
}

#[cfg(test)]
mod tests {
    use super::{Sent, tally};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn answered_is_there_once_and_unanswered_at_most_once() {
        let sent = Sent { answered: words("a b c"), unanswered: words("d e f") };
        let found = tally(words("a b d b e e x"), &sent);
        assert_eq!(found.lost, ["c"]);
        assert_eq!(found.doubled, ["b", "e"]);
        assert_eq!(found.unknown, ["x"]);
        assert!(tally(words("c a b f"), &sent).is_exact());
    }
}
