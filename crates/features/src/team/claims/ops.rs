//! The SQL of claims.

use substrate_core::{Db, DbError, Row, Timestamp};

/// A claim as this machine knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) name: String,
    /// What tells this hold from another one of the same holder.
    pub(super) token: String,
    pub(super) holder: String,
    pub(super) note: String,
    pub(super) epoch: i64,
    /// The hub decided it.
    pub(super) in_team: bool,
    pub(super) granted: Timestamp,
    pub(super) ttl_ms: i64,
    pub(super) expires: Timestamp,
}

macro_rules! select {
    ($where:literal) => {
        concat!(
            "select name, token, holder, note, epoch, in_team, granted_ms, ttl_ms, expires_ms from claims where ",
            $where
        )
    };
}

fn row(row: &dyn Row) -> Result<Held, DbError> {
    Ok(Held {
        name: row.text(0)?,
        token: row.text(1)?,
        holder: row.text(2)?,
        note: row.text(3)?,
        epoch: row.int(4)?,
        in_team: row.int(5)? != 0,
        granted: Timestamp(row.int(6)?),
        ttl_ms: row.int(7)?,
        expires: Timestamp(row.int(8)?),
    })
}

/// The latest hold of that name, whether or not it has run out.
pub(super) fn of(db: &mut dyn Db, name: &str) -> Result<Option<Held>, DbError> {
    db.first(select!("name = $1"), &[name.into()], row)
}

/// What is held now.
pub(super) fn all(db: &mut dyn Db, now: Timestamp) -> Result<Vec<Held>, DbError> {
    db.rows(select!("expires_ms > $1 order by name limit 1000"), &[now.0.into()], row)
}

pub(super) fn set(db: &mut dyn Db, held: &Held) -> Result<(), DbError> {
    db.execute(
        "insert into claims (name, token, holder, note, epoch, in_team, granted_ms, ttl_ms, expires_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (name) do update set token = excluded.token, holder = excluded.holder, note = excluded.note,
           epoch = excluded.epoch, in_team = excluded.in_team, granted_ms = excluded.granted_ms,
           ttl_ms = excluded.ttl_ms, expires_ms = excluded.expires_ms",
        &[
            held.name.as_str().into(),
            held.token.as_str().into(),
            held.holder.as_str().into(),
            held.note.as_str().into(),
            held.epoch.into(),
            i64::from(held.in_team).into(),
            held.granted.0.into(),
            held.ttl_ms.into(),
            held.expires.0.into(),
        ],
    )?;
    Ok(())
}

/// Lets go. The row stays, for its epoch.
pub(super) fn end(db: &mut dyn Db, name: &str) -> Result<(), DbError> {
    db.execute("update claims set expires_ms = 0 where name = $1", &[name.into()])?;
    Ok(())
}

/// A question for the hub. Returns its number. Old ones go.
pub(super) fn ask(
    db: &mut dyn Db,
    what: &str,
    until: Timestamp,
    now: Timestamp,
) -> Result<i64, DbError> {
    db.execute("delete from team_asks where until_ms < $1", &[(now.0 - 60_000).into()])?;
    let id = db.first(
        "insert into team_asks (what, until_ms) values ($1, $2) returning id",
        &[what.into(), until.0.into()],
        |row| row.int(0),
    )?;
    id.ok_or_else(|| DbError::Other { detail: "a question got no number".to_owned() })
}

/// What the hub has not answered yet: (number, question, until).
pub(super) fn open(
    db: &mut dyn Db,
    now: Timestamp,
) -> Result<Vec<(i64, String, Timestamp)>, DbError> {
    db.rows(
        "select id, what, until_ms from team_asks where answer is null and until_ms > $1 order by id limit 100",
        &[now.0.into()],
        |row| Ok((row.int(0)?, row.text(1)?, Timestamp(row.int(2)?))),
    )
}

pub(super) fn answer(db: &mut dyn Db, id: i64, answer: &str) -> Result<(), DbError> {
    db.execute("update team_asks set answer = $2 where id = $1", &[id.into(), answer.into()])?;
    Ok(())
}

/// `None`: there is no such question. `Some(None)`: no answer has come yet.
pub(super) fn answered(db: &mut dyn Db, id: i64) -> Result<Option<Option<String>>, DbError> {
    db.first("select answer from team_asks where id = $1", &[id.into()], |row| row.opt_text(0))
}
