//! Removes rows that have outlived their use. Each tick deletes a small batch, so no hook waits for a long one.

use substrate_core::{Cx, Db, DbError, FeatureError, Timestamp};

/// The most rows that one tick deletes from a table.
pub(crate) const BATCH: usize = 200;

/// A table whose rows are deleted once they are old.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiring {
    pub(crate) table: &'static str,
    /// The columns of the primary key.
    pub(crate) key: &'static str,
    /// When a row is old: a condition on `$1`, the oldest moment that is kept.
    pub(crate) when: &'static str,
}

impl Expiring {
    /// Deletes rows older than `before`, at most `limit` of them, and returns how many it deleted.
    pub(crate) fn delete(
        self,
        db: &mut dyn Db,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, DbError> {
        let Self { table, key, when } = self;
        let sql = format!(
            "delete from {table} where ({key}) in (select {key} from {table} where {when} limit $2)"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        db.execute(&sql, &[before.0.into(), limit.into()])
    }

    /// Deletes one batch of rows that are older than `kept_ms`, and returns how many it deleted.
    pub(crate) fn batch(self, cx: &mut Cx<'_>, kept_ms: i64) -> Result<usize, DbError> {
        self.delete(cx.db, cx.now.plus_ms(-kept_ms), BATCH)
    }

    /// A feature's tick: deletes one batch, and returns whether more may be left.
    pub(crate) fn tick(self, cx: &mut Cx<'_>, kept_ms: i64) -> Result<bool, FeatureError> {
        Ok(self.batch(cx, kept_ms)? == BATCH)
    }
}
