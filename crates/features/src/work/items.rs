//! The SQL of work items.

use substrate_core::{Db, DbError, Row, Timestamp};

use super::claims::WorkClaim;
use crate::identity::holder::Holder;
use crate::retention::Expiring;

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: i64,
    pub(super) project: String,
    pub(super) state: ItemState,
    pub(super) title: String,
    pub(super) added_by: String,
    pub(super) added: Timestamp,
    pub(super) n_claims: i64,
    /// The current claim; the last one if the item is done.
    pub(super) claim: Option<WorkClaim>,
    /// Why it came back to the queue, and from whom.
    pub(super) note: String,
    pub(super) done_by: Option<String>,
    pub(super) done: Option<Timestamp>,
    pub(super) result: Option<String>,
    pub(super) body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemState {
    Queued,
    Claimed,
    Done,
}

impl ItemState {
    pub(super) const ALL: [Self; 3] = [Self::Queued, Self::Claimed, Self::Done];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }
}

macro_rules! columns {
    () => {
        "id, project, state, title, added_by, added_ms, n_claims, session, actor, agent, sub, pid, began, claimed_ms,
         expires_ms, ttl_ms, note, done_by, done_ms, result, body"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select ", columns!(), $rest)
    };
}

pub(super) const NEXT: &str =
    "select id from work where project = $1 and state = 'queued' order by id limit 1";
pub(super) const CLAIMED: &str = select!(
    " from work where state = 'claimed' and claimed_ms >= $1 order by claimed_ms, id limit $2"
);
pub(super) const CLAIMED_BY_REQUEST: &str =
    select!(" from work where claim_request = $1 and state = 'claimed'");
const ONE: &str = select!(" from work where id = $1");
const LIST: &str = select!(
    " from work where ($1 = '' or project = $1) and ($2 = '' or state = $2) order by id desc limit $3"
);
pub(super) const QUEUED: &str =
    select!(" from work where state = 'queued' and ($1 = '' or project = $1) order by id limit $2");
pub(super) const CAME_BACK: &str =
    select!(" from work where state = 'queued' and note <> '' order by id desc limit $1");
pub(super) const DONE: &str = select!(
    " from work where state = 'done' and ($1 = '' or project = $1) order by done_ms desc limit $2"
);
pub(super) const OF_AGENT: &str = select!(
    " from (select id as newest from work order by id desc limit 2000) n join work on id = newest
      where agent = $1 order by id desc limit $2"
);
const TAKE: &str = concat!(
    "update work set state = 'claimed', n_claims = n_claims + 1, session = $2, actor = $3, agent = $4, sub = $5,
       pid = $6, began = $7, claim_request = $8, claimed_ms = $9, expires_ms = $10, ttl_ms = $11
     where id = $1 and state = 'queued' returning ",
    columns!()
);

/// An item about to be added.
pub(super) struct NewItem<'a> {
    pub(super) project: &'a str,
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    pub(super) by: &'a str,
    /// Identifies the request: repeating it adds no second item.
    pub(super) request: &'a str,
    /// Adds it once in this project, also after the item was done and forgotten.
    pub(super) key: Option<&'a str>,
}

/// An item of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) id: i64,
    /// It was added before, under the same key.
    pub(super) is_repeated: bool,
}

pub(super) fn add(db: &mut dyn Db, new: &NewItem<'_>, now: Timestamp) -> Result<Added, DbError> {
    if let Some(known) = known(db, new)? {
        return Ok(known);
    }
    let id = insert(db, new, now)?;
    if let Some(key) = new.key {
        db.execute(
            "insert into work_keys (project, key, item) values ($1, $2, $3)",
            &[new.project.into(), key.into(), id.into()],
        )?;
    }
    Ok(Added { id, is_repeated: false })
}

/// The item that was added for this before.
fn known(db: &mut dyn Db, new: &NewItem<'_>) -> Result<Option<Added>, DbError> {
    let by_request = "select id from work where request = $1";
    if let Some(id) = db.first(by_request, &[new.request.into()], |row| row.int(0))? {
        return Ok(Some(Added { id, is_repeated: false }));
    }
    let Some(key) = new.key else { return Ok(None) };
    let by_key = "select item from work_keys where project = $1 and key = $2";
    let found = db.first(by_key, &[new.project.into(), key.into()], |row| row.int(0))?;
    Ok(found.map(|id| Added { id, is_repeated: true }))
}

fn insert(db: &mut dyn Db, new: &NewItem<'_>, now: Timestamp) -> Result<i64, DbError> {
    let id = db.first(
        "insert into work (project, state, title, request, added_by, added_ms, n_claims, note, body)
         values ($1, 'queued', $2, $3, $4, $5, 0, '', $6) returning id",
        &[
            new.project.into(),
            new.title.into(),
            new.request.into(),
            new.by.into(),
            now.0.into(),
            new.body.into(),
        ],
        |row| row.int(0),
    )?;
    id.ok_or_else(|| DbError::Other { detail: "the item was not added".to_owned() })
}

pub(super) fn one(db: &mut dyn Db, id: i64) -> Result<Option<Item>, DbError> {
    db.first(ONE, &[id.into()], item)
}

/// The newest items. An empty project or state matches any.
pub(super) fn list(
    db: &mut dyn Db,
    project: &str,
    state: &str,
    limit: i64,
) -> Result<Vec<Item>, DbError> {
    db.rows(LIST, &[project.into(), state.into(), limit.into()], item)
}

/// The oldest queued items, of one project or of all.
pub(super) fn queued(db: &mut dyn Db, project: &str, limit: i64) -> Result<Vec<Item>, DbError> {
    db.rows(QUEUED, &[project.into(), limit.into()], item)
}

/// Queued items that an agent had and did not finish, the newest first.
pub(super) fn came_back(db: &mut dyn Db, limit: i64) -> Result<Vec<Item>, DbError> {
    db.rows(CAME_BACK, &[limit.into()], item)
}

/// What was done last, in one project or in all.
pub(super) fn done(db: &mut dyn Db, project: &str, limit: i64) -> Result<Vec<Item>, DbError> {
    db.rows(DONE, &[project.into(), limit.into()], item)
}

/// The newest items whose current or last claimant is that agent.
pub(super) fn of_agent(db: &mut dyn Db, agent: i64, limit: i64) -> Result<Vec<Item>, DbError> {
    db.rows(OF_AGENT, &[agent.into(), limit.into()], item)
}

/// The newest items, for a search.
pub(super) fn newest(db: &mut dyn Db, limit: i64) -> Result<Vec<Item>, DbError> {
    list(db, "", "", limit)
}

/// How many items of a project are in that state.
pub(super) fn count(db: &mut dyn Db, project: &str, state: ItemState) -> Result<i64, DbError> {
    let sql = "select count(*) from work where ($1 = '' or project = $1) and state = $2";
    let found = db.first(sql, &[project.into(), state.name().into()], |row| row.int(0))?;
    Ok(found.unwrap_or(0))
}

/// The oldest queued item of a project.
pub(super) fn next(db: &mut dyn Db, project: &str) -> Result<Option<i64>, DbError> {
    db.first(NEXT, &[project.into()], |row| row.int(0))
}

/// Items claimed at `from` or later, oldest first.
pub(super) fn claimed(db: &mut dyn Db, from: Timestamp, limit: i64) -> Result<Vec<Item>, DbError> {
    db.rows(CLAIMED, &[from.0.into(), limit.into()], item)
}

/// What an earlier try of the same request claimed.
pub(super) fn claimed_by(db: &mut dyn Db, request: &str) -> Result<Option<Item>, DbError> {
    db.first(CLAIMED_BY_REQUEST, &[request.into()], item)
}

/// Claims a queued item. `None`: another agent was faster.
pub(super) fn take(
    db: &mut dyn Db,
    id: i64,
    claim: &WorkClaim,
    request: &str,
) -> Result<Option<Item>, DbError> {
    let [session, actor, agent, sub, pid, began] = claim.by.params();
    db.first(
        TAKE,
        &[
            id.into(),
            session,
            actor,
            agent,
            sub,
            pid,
            began,
            request.into(),
            claim.at.0.into(),
            claim.expires.0.into(),
            claim.ttl_ms.into(),
        ],
        item,
    )
}

/// Returns a claimed item to the queue.
pub(super) fn put_back(db: &mut dyn Db, id: i64, note: &str) -> Result<bool, DbError> {
    let n = db.execute(
        "update work set state = 'queued', note = $2, session = null, actor = null, agent = null, sub = null,
           pid = null, began = null, claim_request = null, claimed_ms = null, expires_ms = null, ttl_ms = null
         where id = $1 and state = 'claimed'",
        &[id.into(), note.into()],
    )?;
    Ok(n > 0)
}

/// Marks a claimed item as done. It keeps its claim, which shows who did it.
pub(super) fn finish(
    db: &mut dyn Db,
    item: &Item,
    by: &str,
    result: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "update work set state = 'done', done_by = $2, done_ms = $3, result = $4 where id = $1 and state = 'claimed'",
        &[item.id.into(), by.into(), now.0.into(), result.into()],
    )?;
    Ok(n > 0)
}

/// Finished items.
pub(super) const FINISHED: Expiring =
    Expiring { table: "work", key: "id", when: "state = 'done' and done_ms < $1" };

fn item(row: &dyn Row) -> Result<Item, DbError> {
    let state = row.text(2)?;
    let state = ItemState::ALL
        .into_iter()
        .find(|one| one.name() == state)
        .ok_or_else(|| DbError::Other { detail: format!("unknown state {state}") })?;
    Ok(Item {
        id: row.int(0)?,
        project: row.text(1)?,
        state,
        title: row.text(3)?,
        added_by: row.text(4)?,
        added: Timestamp(row.int(5)?),
        n_claims: row.int(6)?,
        claim: claim(row)?,
        note: row.text(16)?,
        done_by: row.opt_text(17)?,
        done: row.opt_int(18)?.map(Timestamp),
        result: row.opt_text(19)?,
        body: row.text(20)?,
    })
}

fn claim(row: &dyn Row) -> Result<Option<WorkClaim>, DbError> {
    if row.opt_text(7)?.is_none() {
        return Ok(None);
    }
    Ok(Some(WorkClaim {
        by: Holder::read(row, 7)?,
        at: Timestamp(row.opt_int(13)?.unwrap_or(0)),
        expires: Timestamp(row.opt_int(14)?.unwrap_or(0)),
        ttl_ms: row.opt_int(15)?.unwrap_or(0),
    }))
}
