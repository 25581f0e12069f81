//! Finds a moment in a table whose ids grow with time. An index on the time would cost every row that is written.

use substrate_core::{Db, DbError, Timestamp};

/// The id before the first row since that moment, where it is known to lie between two ids. `at` selects the time of the
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
