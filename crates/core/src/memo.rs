//! What the one writer remembers of its tables between transactions.
//!
//! Every event asks the same few questions: whose session is this, what is its status. The answers change rarely, and only
//! this process changes them. So they are kept in memory, and dropped when a statement writes to one of their tables, when
//! anything is rolled back, and when a commit fails. A daemon that starts knows nothing and reads again.

use std::any::Any;
use std::fmt::Debug;
use std::rc::Rc;

use crate::db::{Db, DbError};
use crate::quick::QuickMap;

/// After so many answers a question starts over, so that sessions of the past are forgotten.
const MAX_ANSWERS: usize = 1_024;

/// A question that many events ask, and the tables that its answer comes from.
#[derive(Clone, Copy, Debug)]
pub struct Memorable {
    pub name: &'static str,
    pub tables: &'static [&'static str],
}

/// The answers to all questions.
#[derive(Debug, Default)]
pub struct Memo {
    /// There are few questions, so a list is searched faster than a map.
    questions: Vec<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    name: &'static str,
    tables: &'static [&'static str],
    /// By session.
    by_key: QuickMap<Box<str>, OfKey>,
    /// Counts the writes. An answer of an older version is not true any more; it is replaced when it is asked for again.
    version: Version,
    n_put: usize,
}

type Version = u64;

#[derive(Debug)]
struct Answer {
    version: Version,
    value: Rc<dyn Any>,
}

/// The answers by what else was asked for: an actor, or nothing. Most sessions have one actor, which needs no map.
#[derive(Debug)]
struct OfKey {
    first: (Box<str>, Answer),
    others: QuickMap<Box<str>, Answer>,
}

impl OfKey {
    fn get(&self, second: &str) -> Option<&Answer> {
        let (known, answer) = &self.first;
        if **known == *second { Some(answer) } else { self.others.get(second) }
    }

    fn put(&mut self, second: &str, answer: Answer) {
        if *self.first.0 == *second {
            self.first.1 = answer;
        } else {
            self.others.insert(second.into(), answer);
        }
    }
}

impl Memo {
    /// Forgets everything. Called after a rollback, whose extent is not known here.
    pub fn clear(&mut self) {
        self.questions.clear();
    }

    /// Call this for every statement that is executed: what it changes is forgotten.
    pub fn executed(&mut self, sql: &str) {
        if self.questions.is_empty() {
            return;
        }
        match effect(sql) {
            Changes::Nothing => {}
            Changes::Table(table) => {
                for answers in &mut self.questions {
                    answers.version += Version::from(answers.tables.contains(&table));
                }
            }
            Changes::Anything => self.clear(),
        }
    }

    fn get(&self, question: Memorable, [first, second]: [&str; 2]) -> Option<&Rc<dyn Any>> {
        let answers = self.questions.iter().find(|answers| answers.name == question.name)?;
        let answer = answers.by_key.get(first)?.get(second)?;
        (answer.version == answers.version).then_some(&answer.value)
    }

    fn put(&mut self, question: Memorable, [first, second]: [&str; 2], value: Rc<dyn Any>) {
        let at = self.questions.iter().position(|answers| answers.name == question.name);
        let at = at.unwrap_or_else(|| {
            let Memorable { name, tables } = question;
            self.questions.push(Answers { name, tables, ..Answers::default() });
            self.questions.len() - 1
        });
        let answers = &mut self.questions[at];
        if answers.n_put >= MAX_ANSWERS {
            answers.by_key.clear();
            answers.n_put = 0;
        }
        answers.n_put += 1;
        let answer = Answer { version: answers.version, value };
        match answers.by_key.get_mut(first) {
            Some(known) => known.put(second, answer),
            None => {
                let new = OfKey { first: (second.into(), answer), others: QuickMap::default() };
                answers.by_key.insert(first.into(), new);
            }
        }
    }
}

/// What a statement may change.
#[derive(Debug, PartialEq, Eq)]
enum Changes<'a> {
    Nothing,
    Table(&'a str),
    Anything,
}

/// Reads the first words of one of our own statements.
fn effect(sql: &str) -> Changes<'_> {
    let mut words = sql.split_ascii_whitespace();
    let table = match words.next().unwrap_or_default() {
        "select" | "savepoint" | "release" | "begin" | "commit" => return Changes::Nothing,
        "update" => words.next(),
        "insert" | "delete" => words.nth(1),
        _ => None,
    };
    table
        .map_or(Changes::Anything, |table| Changes::Table(table.split('(').next().unwrap_or(table)))
}

impl dyn Db + '_ {
    /// The answer to a question, read once and kept until one of its tables changes.
    ///
    /// In a debug build every kept answer is read again and compared, so each test also proves that memory and tables agree.
    pub fn remembered<T: PartialEq + Debug + 'static>(
        &mut self,
        question: Memorable,
        key: [&str; 2],
        read: impl Fn(&mut Self) -> Result<T, DbError>,
    ) -> Result<Rc<T>, DbError> {
        let kept = self.memo().and_then(|memo| memo.get(question, key).cloned());
        if let Some(kept) = kept.and_then(|kept| kept.downcast::<T>().ok()) {
            if cfg!(debug_assertions) {
                assert_eq!(*kept, read(self)?, "memory and tables differ: {}", question.name);
            }
            return Ok(kept);
        }
        let answer = Rc::new(read(self)?);
        if let Some(memo) = self.memo() {
            memo.put(question, key, Rc::clone(&answer) as Rc<dyn Any>);
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::db::{Param, Row};

    const AGENT: Memorable =
        Memorable { name: "agent of a session", tables: &["sessions", "agents"] };
    const STATUS: Memorable = Memorable { name: "status", tables: &["fleet_status"] };

    /// A database with a memory and nothing else.
    #[derive(Default)]
    struct Remembering {
        memo: Memo,
    }

    impl Db for Remembering {
        fn execute(&mut self, sql: &str, _: &[Param<'_>]) -> Result<usize, DbError> {
            self.memo.executed(sql);
            Ok(0)
        }

        fn query(
            &mut self,
            _: &str,
            _: &[Param<'_>],
            _: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
        ) -> Result<(), DbError> {
            Ok(())
        }

        fn size_bytes(&mut self) -> Result<i64, DbError> {
            Ok(0)
        }

        fn memo(&mut self) -> Option<&mut Memo> {
            Some(&mut self.memo)
        }
    }

    fn ask(db: &mut dyn Db, question: Memorable, key: [&str; 2]) {
        assert_eq!(*db.remembered(question, key, |_| Ok(7)).unwrap(), 7);
    }

    #[rstest]
    #[case::another_table("insert into mail (id) values (1)", true)]
    #[case::a_table_of_the_answer("update agents set name = $1", false)]
    #[case::the_other_table("delete from sessions where id = $1", false)]
    #[case::a_look("select 1 from sessions", true)]
    #[case::a_step("savepoint feature_step", true)]
    #[case::a_rollback("rollback to feature_step", false)]
    #[case::something_else("with x as (select 1) delete from mail", false)]
    #[case::no_space("insert into sessions(id) values (1)", false)]
    fn an_answer_survives(#[case] sql: &str, #[case] survives: bool) {
        let mut db = Remembering::default();
        ask(&mut db, AGENT, ["s1", ""]);
        db.execute(sql, &[]).unwrap();
        assert_eq!(db.memo.get(AGENT, ["s1", ""]).is_some(), survives);
    }

    #[test]
    fn keys_and_questions_are_told_apart() {
        let mut db = Remembering::default();
        ask(&mut db, STATUS, ["s1", "main"]);
        assert!(db.memo.get(STATUS, ["s1", "main"]).is_some());
        for other in [["s1", "sub"], ["s2", "main"], ["main", "s1"]] {
            assert!(db.memo.get(STATUS, other).is_none());
        }
        assert!(db.memo.get(AGENT, ["s1", "main"]).is_none());
    }

    #[test]
    fn answers_are_bounded() {
        let mut memo = Memo::default();
        for n in 0..3 * MAX_ANSWERS {
            memo.put(STATUS, [&n.to_string(), "main"], Rc::new(n));
            assert!(memo.questions[0].by_key.len() <= MAX_ANSWERS);
        }
    }

    #[test]
    #[should_panic(expected = "memory and tables differ")]
    fn a_debug_build_notices_an_answer_that_is_not_true_any_more() {
        let mut db = Remembering::default();
        let db: &mut dyn Db = &mut db;
        let count = std::cell::Cell::new(0);
        let read = |_: &mut (dyn Db + '_)| {
            count.set(count.get() + 1);
            Ok(count.get())
        };
        for _ in 0..2 {
            let _kept = db.remembered(STATUS, ["s", "a"], read);
        }
    }
}
