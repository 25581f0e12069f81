//! Every request is processed once, whatever is killed when. A daemon may die between its commit and its reply; the
//! caller then asks the next daemon with the same id.
//!
//! One row per commit names the requests in it, in the transaction that processed them, with the answers that were not
//! empty. A request that says it was sent before is looked up by its id, never by times.

use std::collections::HashMap;

use crate::db::{Db, DbError};
use crate::feature::Migration;
use crate::ids::RequestId;

/// How many commits are remembered. A caller asks again within its deadline, and no daemon commits this often until
/// then.
const KEPT: i64 = 16_384;

/// Old rows are removed each time this many commits were made.
const STEP: i64 = 64;

/// When a daemon starts, it reads the scopes of this many commits. Two hooks of one event start almost together.
const SCOPES: i64 = 64;

/// The first question loads the ids into memory. After this many more commits they are loaded again.
const FRESH: i64 = 4_096;

/// Tables of earlier versions, which had several writers.
pub(super) const ANSWERS: Migration = Migration {
    about: "requests that were answered or taken over",
    sql: "create table answered (
            slot integer primary key,
            request text not null,
            at_ms bigint not null,
            exit_code bigint not null,
            stdout text not null,
            stderr text not null
          );
          create table taken_over (request text primary key, at_ms bigint not null);",
};
pub(super) const SCOPE_SEEN: Migration = Migration {
    about: "events that a hook without a daemon has processed, by digest",
    sql: "create table scope_seen (digest bigint primary key, origin bigint not null, at_ms bigint not null);",
};

pub(super) const MIGRATION: Migration = Migration {
    about: "requests that were processed, a row per commit; one writer needs no spool and no kept answers",
    sql: "create table processed (n integer primary key, ids blob not null, scopes blob not null, answers blob);
          drop table answered;
          drop table taken_over;
          drop table scope_seen;",
};

/// Which requests were processed, and how they were answered.
#[derive(Debug, Default)]
pub struct Processed {
    /// The number of the next commit.
    next: i64,
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    /// In which commit.
    by_id: HashMap<RequestId, i64>,
    from: i64,
}

/// The requests of one commit.
#[derive(Debug, Default)]
pub struct Group {
    ids: Vec<u8>,
    scopes: Vec<u8>,
    answers: Vec<u8>,
}

impl Group {
    /// Notes a processed request. Most answers are empty.
    pub fn add(&mut self, request: RequestId, answer: &[u8]) {
        self.ids.extend_from_slice(&request.0);
        if !answer.is_empty() {
            self.answers.extend_from_slice(&request.0);
            let len = u32::try_from(answer.len()).unwrap_or(0);
            self.answers.extend_from_slice(&len.to_le_bytes());
            self.answers.extend_from_slice(answer);
        }
    }

    /// Which registration brought the event.
    pub fn add_scope(&mut self, digest: u64, origin: u8) {
        self.scopes.extend_from_slice(&digest.to_le_bytes());
        self.scopes.push(origin);
    }

    fn has(&self, request: RequestId) -> bool {
        self.ids.as_chunks::<16>().0.contains(&request.0)
    }
}

impl Processed {
    /// Loads where the database stands and the scopes of the latest events.
    pub fn load(db: &mut dyn Db) -> Result<(Self, Vec<(u64, u8)>), DbError> {
        let newest = db.first("select max(n) from processed", &[], |row| row.opt_int(0))?.flatten();
        let mut scopes = db.rows(
            "select scopes from processed order by n desc limit $1",
            &[SCOPES.into()],
            |row| row.blob(0),
        )?;
        scopes.reverse();
        let scopes = scopes.iter().flat_map(|blob| blob.as_chunks::<9>().0.iter());
        let scopes = scopes
            .map(|[a, b, c, d, e, f, g, h, origin]| {
                (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), *origin)
            })
            .collect();
        Ok((Self { next: newest.map_or(0, |n| n + 1), known: None }, scopes))
    }

    /// The answer to a request that was processed before, perhaps in this very commit.
    pub fn answer_to(
        &mut self,
        db: &mut dyn Db,
        request: RequestId,
        group: &Group,
    ) -> Result<Option<Vec<u8>>, DbError> {
        if group.has(request) {
            return Ok(Some(answer_in(&group.answers, request)));
        }
        let is_stale = self.known.as_ref().is_none_or(|known| self.next - known.from > FRESH);
        if is_stale {
            self.known = Some(Known { by_id: ids(db)?, from: self.next });
        }
        let Some(n) = self.known.as_ref().and_then(|known| known.by_id.get(&request)) else {
            return Ok(None);
        };
        let answers =
            db.first("select answers from processed where n = $1", &[(*n).into()], |row| {
                row.opt_blob(0)
            })?;
        Ok(answers.map(|answers| answer_in(&answers.unwrap_or_default(), request)))
    }

    /// Notes what the open transaction processes.
    pub fn note(&mut self, db: &mut dyn Db, group: &Group) -> Result<(), DbError> {
        if group.ids.is_empty() && group.scopes.is_empty() {
            return Ok(());
        }
        let answers = (!group.answers.is_empty()).then_some(group.answers.as_slice());
        db.execute(
            "insert into processed (n, ids, scopes, answers) values ($1, $2, $3, $4)",
            &[
                self.next.into(),
                group.ids.as_slice().into(),
                group.scopes.as_slice().into(),
                answers.into(),
            ],
        )?;
        if self.next % STEP == 0 {
            db.execute("delete from processed where n <= $1", &[(self.next - KEPT).into()])?;
        }
        Ok(())
    }

    /// The transaction was committed.
    pub fn committed(&mut self, group: &Group) {
        if let Some(known) = &mut self.known {
            let ids = group.ids.as_chunks::<16>().0.iter();
            known.by_id.extend(ids.map(|id| (RequestId(*id), self.next)));
        }
        self.next += 1;
    }
}

fn ids(db: &mut dyn Db) -> Result<HashMap<RequestId, i64>, DbError> {
    let rows =
        db.rows("select n, ids from processed", &[], |row| Ok((row.int(0)?, row.blob(1)?)))?;
    let each = rows
        .iter()
        .flat_map(|(n, ids)| ids.as_chunks::<16>().0.iter().map(|id| (RequestId(*id), *n)));
    Ok(each.collect())
}

/// Nothing where the answer was empty.
fn answer_in(mut answers: &[u8], request: RequestId) -> Vec<u8> {
    while let Some((id, rest)) = answers.split_first_chunk::<16>() {
        let Some((len, rest)) = rest.split_first_chunk::<4>() else { break };
        let Some((answer, rest)) = rest.split_at_checked(u32::from_le_bytes(*len) as usize) else {
            break;
        };
        if *id == request.0 {
            return answer.to_vec();
        }
        answers = rest;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_its_id_and_nothing_where_it_was_empty() {
        let mut group = Group::default();
        let id = |n: u8| RequestId([n; 16]);
        group.add(id(1), b"");
        group.add(id(2), b"deny");
        group.add(id(3), b"block");
        assert!(group.has(id(1)) && group.has(id(3)) && !group.has(id(4)));
        for (n, expected) in [(1, &b""[..]), (2, b"deny"), (3, b"block"), (4, b"")] {
            assert_eq!(answer_in(&group.answers, id(n)), expected);
        }
        assert_eq!(answer_in(&group.answers[..7], id(2)), b"", "a cut blob does no harm");
    }
}
