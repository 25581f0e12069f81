//! How several features look things up in their tables.

use substrate_core::{Db, DbError, Timestamp};

/// Finds a moment in a table whose ids grow with time. An index on the time would cost every row that is written.
///
/// Returns the id before the first row since that moment, where it is known to lie between two ids. `at` selects the time of the
/// first row from an id (`$1`) on.
pub(crate) fn id_between(
    db: &mut dyn Db,
    at: &str,
    since: Timestamp,
    (mut low, mut high): (i64, i64),
) -> Result<i64, DbError> {
    while low < high {
        let middle = low + (high - low) / 2 + 1;
        let found = db.first(at, &[middle.into()], |row| row.int(0))?;
        if found.is_some_and(|found| found < since.0) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// Words of a query that count.
const MAX_WORDS: usize = 16;

/// What people type into a search, for FTS5: the one dialect of SQL that is not shared with other databases. These are quoted
/// terms. Every typed word is a word, never an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(String);

impl Words {
    /// As FTS5 reads it.
    pub(crate) fn terms(&self) -> &str {
        &self.0
    }

    /// `None` where nothing is left to search for.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut terms: Vec<String> = Vec::new();
        for word in text.split_whitespace().take(MAX_WORDS) {
            if !word.chars().any(char::is_alphanumeric) {
                continue;
            }
            let plain: String =
                word.chars().filter(|c| *c != '"' && !c.is_control()).take(256).collect();
            let star = if plain.ends_with('*') { " *" } else { "" };
            terms.push(format!("\"{}\"{star}", plain.trim_end_matches('*')));
        }
        (!terms.is_empty()).then(|| Self(terms.join(" AND ")))
    }
}

#[cfg(test)]
mod tests {
    use super::Words;
    use rstest::rstest;

    #[rstest]
    #[case::words("build  failed", Some("\"build\" AND \"failed\""))]
    #[case::prefix("buil*", Some("\"buil\" *"))]
    #[case::operators("a OR b", Some("\"a\" AND \"OR\" AND \"b\""))]
    #[case::quotes("x\" OR who:\"a1", Some("\"x\" AND \"OR\" AND \"who:a1\""))]
    #[case::columns("who:a1", Some("\"who:a1\""))]
    #[case::nothing(" * \" () ", None)]
    fn a_query_is_only_words(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(Words::read(text).map(|words| words.0), expected.map(str::to_owned));
    }
}
