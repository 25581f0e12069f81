//! Every request is processed once, whatever is killed when. A daemon may die between its commit and its reply; the
//! caller then asks the next daemon with the same id.
//!
//! Most requests get an empty answer, and the row of a feature that records every event stands for them
//! (`Feature::processed`). A row of our own names the others of a commit, in the transaction that processed them, with
//! their answers. A request that says it was sent before is looked up by its id, never by times.

use crate::db::{Db, DbError};
use crate::feature::{Feature, Migration};
use crate::ids::RequestId;
use crate::quick::QuickMap;

/// How many commits are remembered. A caller asks again within its deadline, and no daemon commits this often until
/// then.
const KEPT: i64 = 16_384;

/// Old rows are removed each time this many commits were made.
const STEP: i64 = 64;

/// When a daemon starts, it reads the scopes of this many commits. Two hooks of one event start almost together.
const SCOPES: i64 = 64;

/// The first question loads the ids into memory: of all commits that are kept, and of so many rows that stand for one.
const STOOD_FOR: i64 = 65_536;

/// So many ids are known before the older half is forgotten.
const KNOWN: usize = 262_144;

/// The registration that brought an event: the user's own and the project's may both bring it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The same for one event from two scopes. Its two highest bits are zero.
    pub digest: u64,
    /// Which registration: the user's own (0), the user's for this project, or the project's.
    pub origin: u8,
}

impl Scope {
    /// As one number, for a row that stands for a request.
    pub const fn code(self) -> i64 {
        (self.digest << 2 | self.origin as u64 & 3) as i64
    }

    /// The reverse.
    pub const fn of(code: i64) -> Self {
        Self { digest: code as u64 >> 2, origin: (code & 3) as u8 }
    }
}

/// A request that a feature's own row stands for. Its answer was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoodFor {
    pub request: RequestId,
    pub scope: Scope,
}

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

/// The commit of each request. `None`: its answer was empty, and the row of a feature stands for it.
type Commits = QuickMap<RequestId, Option<i64>>;

/// In two parts: when the newer one is full, the older one goes.
#[derive(Debug, Default)]
struct Known {
    newer: Commits,
    older: Commits,
}

impl Known {
    fn get(&self, request: RequestId) -> Option<Option<i64>> {
        self.newer.get(&request).or_else(|| self.older.get(&request)).copied()
    }

    fn add(&mut self, ids: &[u8], commit: Option<i64>) {
        self.newer.extend(ids.as_chunks::<16>().0.iter().map(|id| (RequestId(*id), commit)));
        if self.newer.len() > KNOWN / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
    }
}

/// The requests of one commit.
#[derive(Debug, Default)]
pub struct Group {
    /// Those that the row of a feature stands for.
    stood_for: Vec<u8>,
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

    /// Notes a request that the row of a feature stands for, scope included.
    pub fn add_stood_for(&mut self, request: RequestId) {
        self.stood_for.extend_from_slice(&request.0);
    }

    /// Which registration brought the event.
    pub fn add_scope(&mut self, Scope { digest, origin }: Scope) {
        self.scopes.extend_from_slice(&digest.to_le_bytes());
        self.scopes.push(origin);
    }

    /// Nothing in it needs a row of our own.
    const fn is_stood_for(&self) -> bool {
        self.ids.is_empty() && self.scopes.is_empty()
    }

    fn has(&self, request: RequestId) -> bool {
        [&self.ids, &self.stood_for].iter().any(|ids| ids.as_chunks::<16>().0.contains(&request.0))
    }
}

impl Processed {
    /// Loads where the database stands and the scopes of the latest events.
    pub fn load(db: &mut dyn Db, features: &[&Feature]) -> Result<(Self, Vec<Scope>), DbError> {
        let newest = db.first("select max(n) from processed", &[], |row| row.opt_int(0))?.flatten();
        let mut scopes = db.rows(
            "select scopes from processed order by n desc limit $1",
            &[SCOPES.into()],
            |row| row.blob(0),
        )?;
        scopes.reverse();
        let scopes = scopes.iter().flat_map(|blob| blob.as_chunks::<9>().0.iter());
        let mut scopes: Vec<Scope> = scopes
            .map(|[a, b, c, d, e, f, g, h, origin]| Scope {
                digest: u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
                origin: *origin,
            })
            .collect();
        scopes.extend(stood_for(db, features, SCOPES)?.iter().rev().map(|one| one.scope));
        Ok((Self { next: newest.map_or(0, |n| n + 1), known: None }, scopes))
    }

    /// The answer to a request that was processed before, perhaps in this very commit.
    pub fn answer_to(
        &mut self,
        db: &mut dyn Db,
        features: &[&Feature],
        request: RequestId,
        group: &Group,
    ) -> Result<Option<Vec<u8>>, DbError> {
        if group.has(request) {
            return Ok(Some(answer_in(&group.answers, request)));
        }
        let known = match &mut self.known {
            Some(known) => known,
            none => none.insert(known(db, features)?),
        };
        let n = match known.get(request) {
            Some(Some(n)) => n,
            Some(None) => return Ok(Some(Vec::new())),
            None => return Ok(None),
        };
        let answers =
            db.first("select answers from processed where n = $1", &[n.into()], |row| {
                row.opt_blob(0)
            })?;
        Ok(answers.map(|answers| answer_in(&answers.unwrap_or_default(), request)))
    }

    /// Notes what the open transaction processes.
    pub fn note(&mut self, db: &mut dyn Db, group: &Group) -> Result<(), DbError> {
        if group.is_stood_for() {
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
            known.add(&group.stood_for, None);
            known.add(&group.ids, Some(self.next));
        }
        self.next += i64::from(!group.is_stood_for());
    }
}

fn known(db: &mut dyn Db, features: &[&Feature]) -> Result<Known, DbError> {
    let mut known = Known::default();
    for one in stood_for(db, features, STOOD_FOR)? {
        known.add(&one.request.0, None);
    }
    // These come last: a request that has an answer may have a row as well.
    for (n, ids) in
        db.rows("select n, ids from processed", &[], |row| Ok((row.int(0)?, row.blob(1)?)))?
    {
        known.add(&ids, Some(n));
    }
    Ok(known)
}

/// The newest requests that rows of features stand for, newest first.
fn stood_for(db: &mut dyn Db, features: &[&Feature], n: i64) -> Result<Vec<StoodFor>, DbError> {
    let mut out = Vec::new();
    for processed in features.iter().filter_map(|feature| feature.processed) {
        out.extend(processed(db, n)?);
    }
    Ok(out)
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
    fn a_scope_is_one_number() {
        for digest in [0, 1, u64::MAX >> 2, 0x1234_5678_9abc_def0] {
            for origin in 0..3 {
                let scope = Scope { digest, origin };
                assert_eq!(Scope::of(scope.code()), scope);
            }
        }
    }

    #[test]
    fn ids_are_bounded_and_the_newest_are_known() {
        let mut known = Known::default();
        let id = |n: usize| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&n.to_le_bytes());
            id
        };
        for n in 0..2 * KNOWN {
            known.add(&id(n), None);
            assert!(known.newer.len() + known.older.len() <= KNOWN + 1);
        }
        let last = 2 * KNOWN - 1;
        assert!(known.get(RequestId(id(last))).is_some());
        assert!(known.get(RequestId(id(last - KNOWN / 2))).is_some());
        assert!(known.get(RequestId(id(0))).is_none());
    }

    #[test]
    fn an_answer_is_found_by_its_id_and_nothing_where_it_was_empty() {
        let mut group = Group::default();
        let id = |n: u8| RequestId([n; 16]);
        group.add(id(1), b"");
        group.add(id(2), b"deny");
        group.add(id(3), b"block");
        assert!(group.has(id(1)) && group.has(id(3)) && !group.has(id(4)));
        group.add_stood_for(id(5));
        assert!(group.has(id(5)));
        for (n, expected) in [(1, &b""[..]), (2, b"deny"), (3, b"block"), (4, b"")] {
            assert_eq!(answer_in(&group.answers, id(n)), expected);
        }
        assert_eq!(answer_in(&group.answers[..7], id(2)), b"", "a cut blob does no harm");
    }
}
