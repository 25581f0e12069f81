//! One feature's part of a transaction: what it writes stays only if it succeeds.
//!
//! Most features only look at most events, so the savepoint is opened by the first statement that writes.

use crate::db::{Db, DbError, Param, Row};
use crate::memo::Memo;

/// The transaction as one feature sees it.
pub(super) struct Contained<'a> {
    db: &'a mut dyn Db,
    writes: bool,
}

impl<'a> Contained<'a> {
    pub(super) fn new(db: &'a mut dyn Db) -> Self {
        Self { db, writes: false }
    }

    /// Keeps what was written, or takes it back.
    pub(super) fn end(self, keep: bool) -> Result<(), DbError> {
        if !self.writes {
            return Ok(());
        }
        if !keep {
            self.db.execute("rollback to feature_step", &[])?;
        }
        self.db.execute("release feature_step", &[]).map(drop)
    }

    fn before(&mut self, sql: &str) -> Result<(), DbError> {
        if !self.writes && !only_looks(sql) {
            self.db.execute("savepoint feature_step", &[])?;
            self.writes = true;
        }
        Ok(())
    }
}

impl Db for Contained<'_> {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.before(sql)?;
        self.db.execute(sql, params)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.before(sql)?;
        self.db.query(sql, params, each)
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        self.db.size_bytes()
    }

    fn memo(&mut self) -> Option<&mut Memo> {
        self.db.memo()
    }
}

/// Anything that does not begin as a plain query may write: `insert … returning` is a query too.
fn only_looks(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes what it is told.
    #[derive(Default)]
    struct Noted(Vec<String>);

    impl Db for Noted {
        fn execute(&mut self, sql: &str, _: &[Param<'_>]) -> Result<usize, DbError> {
            self.0.push(sql.to_owned());
            Ok(0)
        }

        fn query(
            &mut self,
            sql: &str,
            _: &[Param<'_>],
            _: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
        ) -> Result<(), DbError> {
            self.0.push(sql.to_owned());
            Ok(())
        }

        fn size_bytes(&mut self) -> Result<i64, DbError> {
            Ok(0)
        }
    }

    fn noted(statements: &[&str], keep: bool) -> Vec<String> {
        let mut db = Noted::default();
        let mut contained = Contained::new(&mut db);
        for sql in statements {
            contained.query(sql, &[], &mut |_| Ok(())).unwrap();
        }
        contained.end(keep).unwrap();
        db.0
    }

    #[test]
    fn who_only_looks_needs_no_savepoint() {
        assert_eq!(noted(&["select 1", " SELECT 2"], false), ["select 1", " SELECT 2"]);
    }

    #[test]
    fn the_first_write_opens_one_and_the_end_closes_it() {
        let written =
            noted(&["select 1", "insert into x values (1) returning id", "update x"], true);
        assert_eq!(
            written,
            [
                "select 1",
                "savepoint feature_step",
                "insert into x values (1) returning id",
                "update x",
                "release feature_step"
            ]
        );
        let taken_back = noted(&["with y as (select 1) delete from x"], false);
        assert_eq!(
            taken_back,
            [
                "savepoint feature_step",
                "with y as (select 1) delete from x",
                "rollback to feature_step",
                "release feature_step"
            ]
        );
    }
}
