//! One feature's part of a transaction: what it writes stays only if it succeeds.
//!
//! Most features only look at most events, so the savepoint is opened by the first statement that writes.

use std::cell::Cell;

use crate::db::{Db, DbError, Param, Row};
use crate::memo::Memo;

/// The transaction as the features see it, one after the other.
pub(super) struct Contained<'a> {
    db: &'a mut dyn Db,
    /// Whether the feature at hand has written.
    writes: &'a Cell<bool>,
}

const BEGIN: &str = "savepoint feature_step";
const END: &str = "release feature_step";
const TAKE_BACK: &str = "rollback to feature_step";

/// The feature at hand is done: keeps what it wrote, or takes it back.
pub(super) fn end(db: &mut dyn Db, writes: &Cell<bool>, keep: bool) -> Result<(), DbError> {
    if !writes.replace(false) {
        return Ok(());
    }
    if !keep {
        db.execute(TAKE_BACK, &[])?;
    }
    db.execute(END, &[]).map(drop)
}

impl<'a> Contained<'a> {
    pub(super) fn new(db: &'a mut dyn Db, writes: &'a Cell<bool>) -> Self {
        Self { db, writes }
    }

    fn before(&mut self, sql: &str) -> Result<(), DbError> {
        if !self.writes.get() && !only_looks(sql) && ![END, TAKE_BACK].contains(&sql) {
            self.db.execute(BEGIN, &[])?;
            self.writes.set(true);
        }
        Ok(())
    }
}

impl Db for Contained<'_> {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.before(sql)?;
        self.db.execute(sql, params)
    }

    fn execute_last(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
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
        let writes = Cell::new(false);
        let mut contained = Contained::new(&mut db, &writes);
        for sql in statements {
            contained.query(sql, &[], &mut |_| Ok(())).unwrap();
        }
        end(&mut contained, &writes, keep).unwrap();
        db.0
    }

    #[test]
    fn who_only_looks_needs_no_savepoint() {
        assert_eq!(noted(&["select 1", " SELECT 2"], false), ["select 1", " SELECT 2"]);
    }

    #[test]
    fn a_last_statement_alone_needs_none() {
        let (mut db, writes) = (Noted::default(), Cell::new(false));
        let mut contained = Contained::new(&mut db, &writes);
        contained.execute_last("insert into x", &[]).unwrap();
        end(&mut contained, &writes, true).unwrap();
        contained.execute("update y", &[]).unwrap();
        contained.execute_last("insert into x", &[]).unwrap();
        end(&mut contained, &writes, true).unwrap();
        assert_eq!(db.0, ["insert into x", BEGIN, "update y", "insert into x", END]);
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
