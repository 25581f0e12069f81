//! The contract of a store: what every implementation of `Db` and `Writer` must do. It runs on a file and in memory.

use std::time::Duration;

use substrate_core::{Db, DbError, Migration, Param, Timestamp};

use crate::{Database, Durability, Prepared, Setup, Tx, Writer};

const SCHEMA: &[(&str, &[Migration])] = &[(
    "contract",
    &[Migration {
        about: "one table of each kind",
        sql: "create table item (id integer primary key, name text not null unique, size bigint, data blob);
              create table child (item bigint not null references item (id), n bigint not null, primary key (item, n));
              create index item_size on item (size) where size is not null;",
    }],
)];

/// A database of one kind, and the folder it needs.
struct Store {
    writer: Writer,
    _folder: Option<tempfile::TempDir>,
}

fn on_file() -> Store {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup {
        schema: SCHEMA,
        now: Timestamp(0),
        backups: folder.path(),
        patience: Duration::from_secs(5),
    };
    let Prepared { writer, .. } = Database::at(&folder.path().join("db")).prepare(&setup).unwrap();
    Store { writer, _folder: Some(folder) }
}

fn in_memory() -> Store {
    Store { writer: Writer::in_memory(SCHEMA, Timestamp(0)).unwrap(), _folder: None }
}

impl Store {
    fn begin(&mut self) -> Tx<'_> {
        self.writer.begin(Durability::Normal).unwrap()
    }

    /// One transaction that is committed.
    fn commit<T>(&mut self, body: impl FnOnce(&mut dyn Db) -> T) -> T {
        let mut tx = self.begin();
        let out = body(&mut tx);
        tx.commit().unwrap();
        out
    }

    fn names(&mut self) -> Vec<String> {
        self.commit(names)
    }
}

fn add(db: &mut dyn Db, name: &str) {
    db.execute("insert into item (name) values ($1)", &[name.into()]).unwrap();
}

fn names(db: &mut dyn Db) -> Vec<String> {
    db.rows("select name from item order by id", &[], |row| row.text(0)).unwrap()
}

fn int(db: &mut dyn Db, sql: &str) -> Option<i64> {
    db.first(sql, &[], |row| row.int(0)).unwrap()
}

macro_rules! contract {
    ($($name:ident($store:ident) $body:block)*) => {
        mod rules {
            use super::*;
            $(pub(super) fn $name(mut $store: Store) $body)*
        }
        mod a_file {
            $(#[test] fn $name() { super::rules::$name(super::on_file()); })*
        }
        mod memory {
            $(#[test] fn $name() { super::rules::$name(super::in_memory()); })*
        }
    };
}

contract! {
    // Transactions.
    a_commit_is_seen_by_the_next_transaction(store) {
        store.commit(|db| add(db, "a"));
        assert_eq!(store.names(), ["a"]);
    }
    a_transaction_sees_its_own_writes(store) {
        let mut tx = store.begin();
        add(&mut tx, "a");
        assert_eq!(names(&mut tx), ["a"]);
    }
    a_dropped_transaction_never_happened(store) {
        let mut tx = store.begin();
        add(&mut tx, "a");
        drop(tx);
        assert!(store.names().is_empty());
    }
    a_transaction_can_follow_a_dropped_one(store) {
        drop(store.begin());
        store.commit(|db| add(db, "a"));
        assert_eq!(store.names(), ["a"]);
    }
    an_empty_transaction_commits(store) {
        store.begin().commit().unwrap();
        assert!(store.names().is_empty());
    }
    both_durabilities_commit(store) {
        for durability in [Durability::Normal, Durability::Full, Durability::Normal] {
            let mut tx = store.writer.begin(durability).unwrap();
            let n = int(&mut tx, "select count(*) from item").unwrap();
            add(&mut tx, &format!("{durability:?}{n}"));
            tx.commit().unwrap();
        }
        assert_eq!(store.names().len(), 3);
    }
    a_transaction_for_reading_sees_what_was_committed(store) {
        store.commit(|db| add(db, "a"));
        assert_eq!(names(&mut store.writer.begin_reading().unwrap()), ["a"]);
    }
    nothing_stays_of_a_transaction_for_reading(store) {
        let mut tx = store.writer.begin_reading().unwrap();
        let _may_fail = tx.execute("insert into item (name) values ('a')", &[]);
        drop(tx);
        assert!(store.names().is_empty());
    }
    a_failed_statement_leaves_the_transaction_open(store) {
        let mut tx = store.begin();
        add(&mut tx, "a");
        assert!(tx.execute("insert into item (name) values ('a')", &[]).is_err());
        add(&mut tx, "b");
        assert!(tx.failure().is_none());
        tx.commit().unwrap();
        assert_eq!(store.names(), ["a", "b"]);
    }
    a_statement_that_ends_the_transaction_by_itself_is_noticed(store) {
        let mut tx = store.begin();
        add(&mut tx, "a");
        tx.execute("rollback", &[]).unwrap();
        assert!(tx.execute("insert into item (name) values ('b')", &[]).is_err());
        assert!(tx.commit().is_err());
        assert!(store.names().is_empty());
    }
    a_failed_statement_changes_nothing(store) {
        store.commit(|db| {
            add(db, "a");
            add(db, "b");
            assert!(db.execute("update item set name = 'c'", &[]).is_err(), "two rows, one name");
        });
        assert_eq!(store.names(), ["a", "b"]);
    }

    // Savepoints.
    a_savepoint_that_succeeds_stays(store) {
        store.commit(|db| {
            db.savepoint(|db| { add(db, "a"); Ok::<_, DbError>(()) }).unwrap();
        });
        assert_eq!(store.names(), ["a"]);
    }
    a_savepoint_that_fails_takes_only_its_own_writes(store) {
        store.commit(|db| {
            add(db, "before");
            let failed = db.savepoint(|db| { add(db, "inside"); Err::<(), _>(DbError::Busy) });
            assert!(matches!(failed, Err(DbError::Busy)));
            add(db, "after");
        });
        assert_eq!(store.names(), ["before", "after"]);
    }
    savepoints_nest(store) {
        store.commit(|db| {
            db.savepoint(|db| {
                add(db, "outer");
                let _failed = db.savepoint(|db| { add(db, "inner"); Err::<(), _>(DbError::Busy) });
                Ok::<_, DbError>(())
            }).unwrap();
        });
        assert_eq!(store.names(), ["outer"]);
    }
    a_failed_outer_savepoint_takes_the_inner_one_with_it(store) {
        store.commit(|db| {
            let failed = db.savepoint(|db| {
                db.savepoint(|db| { add(db, "inner"); Ok::<_, DbError>(()) })?;
                Err::<(), _>(DbError::Busy)
            });
            assert!(failed.is_err());
        });
        assert!(store.names().is_empty());
    }
    a_savepoint_returns_what_its_body_returns(store) {
        let found = store.commit(|db| db.savepoint(|db| Ok::<_, DbError>(int(db, "select 7"))));
        assert_eq!(found.unwrap(), Some(7));
    }

    // Parameters.
    parameters_go_by_their_number(store) {
        store.commit(|db| {
            db.execute("insert into item (name, id) values ($2, $1)", &[Param::Int(7), "seven".into()]).unwrap();
            assert_eq!(int(db, "select id from item where name = 'seven'"), Some(7));
        });
    }
    a_parameter_may_be_used_twice(store) {
        let sum = store.commit(|db| db.first("select $1 + $1 + $2", &[3.into(), 1.into()], |row| row.int(0)));
        assert_eq!(sum.unwrap(), Some(7));
    }
    a_missing_parameter_is_an_error(store) {
        let mut tx = store.begin();
        assert!(tx.execute("insert into item (name) values ($3)", &["a".into()]).is_err());
    }
    parameters_of_one_call_are_forgotten_by_the_next(store) {
        let mut tx = store.begin();
        let sql = "insert into item (name, size) values ($1, $2)";
        tx.execute(sql, &["a".into(), 1.into()]).unwrap();
        assert!(tx.execute(sql, &["b".into()]).is_err());
    }
    quotes_in_a_parameter_are_text(store) {
        let name = "'); drop table item; --";
        store.commit(|db| add(db, name));
        assert_eq!(store.names(), [name]);
    }
    an_absent_option_is_null(store) {
        store.commit(|db| {
            let none: Option<i64> = None;
            db.execute("insert into item (name, size) values ('a', $1)", &[none.into()]).unwrap();
            assert_eq!(int(db, "select count(*) from item where size is null"), Some(1));
        });
    }

    // Values.
    integers_come_back_as_they_were(store) {
        store.commit(|db| {
            for n in [0, -1, i64::MIN, i64::MAX] {
                let back = db.first("select $1", &[n.into()], |row| row.int(0)).unwrap();
                assert_eq!(back, Some(n));
            }
        });
    }
    texts_come_back_as_they_were(store) {
        let long = "x".repeat(1 << 20);
        for text in ["", "ä 日本 🦀", "a\0b", "line\nline", &long] {
            let back = store.commit(|db| db.first("select $1", &[text.into()], |row| row.text(0)));
            assert_eq!(back.unwrap().as_deref(), Some(text));
        }
    }
    bytes_come_back_as_they_were(store) {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&b""[..], &all] {
            let back = store.commit(|db| db.first("select $1", &[bytes.into()], |row| row.blob(0)));
            assert_eq!(back.unwrap().as_deref(), Some(bytes));
        }
    }
    null_is_none_and_not_a_value(store) {
        store.commit(|db| {
            db.query("select null", &[], &mut |row| {
                assert_eq!((row.opt_int(0)?, row.opt_text(0)?, row.opt_blob(0)?), (None, None, None));
                assert!(row.int(0).is_err() && row.text(0).is_err() && row.blob(0).is_err());
                Ok(())
            }).unwrap();
        });
    }
    a_value_of_another_type_is_an_error(store) {
        store.commit(|db| {
            db.query("select 'a', 1", &[], &mut |row| {
                assert!(row.int(0).is_err() && row.opt_int(0).is_err());
                assert!(row.text(1).is_err() && row.blob(1).is_err());
                Ok(())
            }).unwrap();
        });
    }
    a_column_that_is_not_there_is_an_error(store) {
        store.commit(|db| {
            db.query("select 1", &[], &mut |row| {
                assert!(row.int(1).is_err() && row.opt_text(9).is_err());
                Ok(())
            }).unwrap();
        });
    }

    // Statements.
    a_statement_says_how_many_rows_it_changed(store) {
        store.commit(|db| {
            for name in ["a", "b", "c"] { add(db, name); }
            assert_eq!(db.execute("update item set size = 1 where name <> 'c'", &[]).unwrap(), 2);
            assert_eq!(db.execute("delete from item where size = 1", &[]).unwrap(), 2);
            assert_eq!(db.execute("delete from item where size = 1", &[]).unwrap(), 0);
        });
    }
    a_statement_can_be_run_again(store) {
        store.commit(|db| for n in 0..300 { add(db, &n.to_string()) });
        assert_eq!(store.names().len(), 300);
    }
    more_statements_than_are_kept_ready_work(store) {
        store.commit(|db| {
            for n in 0..400 { assert_eq!(int(db, &format!("select {n}")), Some(n)); }
        });
    }
    an_insert_that_conflicts_can_update(store) {
        store.commit(|db| {
            let sql = "insert into item (name, size) values ('a', $1) on conflict (name) do update set size = excluded.size";
            for n in [1, 2] { assert_eq!(db.execute(sql, &[n.into()]).unwrap(), 1); }
            assert_eq!(int(db, "select size from item"), Some(2));
        });
    }
    an_insert_that_conflicts_can_do_nothing(store) {
        store.commit(|db| {
            add(db, "a");
            let sql = "insert into item (name) values ('a') on conflict (name) do nothing";
            assert_eq!(db.execute(sql, &[]).unwrap(), 0);
        });
    }
    a_statement_can_return_rows_it_wrote(store) {
        let id = store.commit(|db| db.first("insert into item (name) values ('a') returning id", &[], |row| row.int(0)));
        assert_eq!(id.unwrap(), Some(1));
        assert_eq!(store.names(), ["a"]);
    }
    rows_are_deleted_by_a_pair_of_values(store) {
        store.commit(|db| {
            add(db, "a");
            for n in 0..5 { db.execute("insert into child (item, n) values (1, $1)", &[n.into()]).unwrap(); }
            let sql = "delete from child where (item, n) in (select item, n from child order by n limit 2)";
            assert_eq!(db.execute(sql, &[]).unwrap(), 2);
            assert_eq!(int(db, "select min(n) from child"), Some(2));
        });
    }
    a_statement_that_can_not_be_read_is_not_the_disks_fault(store) {
        let mut tx = store.begin();
        let error = tx.execute("insert item", &[]).unwrap_err();
        assert!(matches!(error, DbError::Other { .. }) && !error.is_storage(), "{error}");
    }
    a_table_that_is_not_there_is_named(store) {
        let mut tx = store.begin();
        let error = tx.execute("delete from nowhere", &[]).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
    a_broken_constraint_is_not_the_disks_fault(store) {
        let mut tx = store.begin();
        let error = tx.execute("insert into item (size) values (1)", &[]).unwrap_err();
        assert!(!error.is_storage(), "{error}");
    }

    // Queries.
    rows_come_in_the_order_that_was_asked_for(store) {
        store.commit(|db| for name in ["b", "c", "a"] { add(db, name) });
        let found = store.commit(|db| db.rows("select name from item order by name desc", &[], |row| row.text(0)));
        assert_eq!(found.unwrap(), ["c", "b", "a"]);
    }
    the_first_row_is_none_where_there_are_none(store) {
        assert_eq!(store.commit(|db| int(db, "select id from item")), None);
    }
    a_query_ends_when_its_reader_fails(store) {
        store.commit(|db| for name in ["a", "b", "c"] { add(db, name) });
        let mut n = 0;
        let mut tx = store.begin();
        let failed = tx.query("select name from item", &[], &mut |_| { n += 1; Err(DbError::Busy) });
        assert!(matches!(failed, Err(DbError::Busy)));
        assert_eq!(n, 1);
        assert_eq!(names(&mut tx).len(), 3, "and the transaction goes on");
    }
    a_query_can_be_asked_again_with_other_values(store) {
        store.commit(|db| for name in ["a", "b"] { add(db, name) });
        store.commit(|db| for (name, id) in [("a", 1), ("b", 2), ("a", 1)] {
            let found = db.first("select id from item where name = $1", &[name.into()], |row| row.int(0));
            assert_eq!(found.unwrap(), Some(id));
        });
    }
    limits_and_offsets_are_honoured(store) {
        store.commit(|db| for n in 0..10 { add(db, &n.to_string()) });
        let page = store.commit(|db| db.rows("select name from item order by id limit $1 offset $2", &[2.into(), 3.into()], |row| row.text(0)));
        assert_eq!(page.unwrap(), ["3", "4"]);
    }

    // The database as a whole.
    its_size_grows_with_what_is_in_it(store) {
        let before = store.begin().size_bytes().unwrap();
        store.commit(|db| add(db, &"x".repeat(1 << 20)));
        assert!(store.begin().size_bytes().unwrap() >= before + (1 << 20));
    }
    its_size_shrinks_when_rows_are_deleted(store) {
        store.commit(|db| add(db, &"x".repeat(1 << 20)));
        let full = store.begin().size_bytes().unwrap();
        store.commit(|db| db.execute("delete from item", &[]).map(drop).unwrap());
        assert!(store.begin().size_bytes().unwrap() < full);
    }
    it_takes_writes_as_long_as_nothing_is_wrong(store) {
        store.writer.probe().unwrap();
        store.commit(|db| add(db, "a"));
        store.writer.probe().unwrap();
        assert_eq!(store.names(), ["a"]);
    }
    looking_after_it_loses_nothing(store) {
        store.commit(|db| add(db, "a"));
        store.writer.copy_log_aside().unwrap();
        store.writer.when_idle().unwrap();
        store.writer.empty_log().unwrap();
        store.commit(|db| add(db, "b"));
        assert_eq!(store.names(), ["a", "b"]);
    }
    its_schema_is_noted(store) {
        let steps = store.commit(|db| int(db, "select count(*) from schema_migration where feature = 'contract'"));
        assert_eq!(steps, Some(1));
    }
}
