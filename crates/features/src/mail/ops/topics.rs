//! Topics and who follows them.

use serde::Serialize;
use substrate_core::{Db, DbError, Timestamp};

use super::Mailbox;

#[derive(Clone, Debug, Serialize)]
pub(in crate::mail) struct Topic {
    pub(in crate::mail) name: String,
    pub(in crate::mail) about: String,
    #[serde(skip)]
    pub(in crate::mail) made_by: i64,
    pub(in crate::mail) made_ms: i64,
    pub(in crate::mail) n_subscribers: i64,
}

/// `false`: there is one of that name.
pub(in crate::mail) fn create(
    db: &mut dyn Db,
    name: &str,
    about: &str,
    made_by: i64,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "insert into topics (name, about, made_by, made_ms) values ($1, $2, $3, $4) on conflict (name) do nothing",
        &[name.into(), about.into(), made_by.into(), now.0.into()],
    )?;
    Ok(n > 0)
}

pub(in crate::mail) fn exists(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    Ok(db
        .first("select 1 from topics where name = $1", &[name.into()], |row| row.int(0))?
        .is_some())
}

pub(in crate::mail) fn list(db: &mut dyn Db) -> Result<Vec<Topic>, DbError> {
    db.rows(
        "select t.name, t.about, t.made_by, t.made_ms,
           (select count(*) from subscriptions s where s.topic = t.name)
         from topics t order by t.name limit 500",
        &[],
        |row| {
            Ok(Topic {
                name: row.text(0)?,
                about: row.text(1)?,
                made_by: row.int(2)?,
                made_ms: row.int(3)?,
                n_subscribers: row.int(4)?,
            })
        },
    )
}

/// `false`: it was so already.
pub(in crate::mail) fn subscribe(
    db: &mut dyn Db,
    topic: &str,
    of: Mailbox<'_>,
) -> Result<bool, DbError> {
    let n = db.execute(
        "insert into subscriptions (topic, agent, sub) values ($1, $2, $3) on conflict (topic, agent, sub) do nothing",
        &[topic.into(), of.agent.into(), of.sub.into()],
    )?;
    Ok(n > 0)
}

/// `false`: it was so already.
pub(in crate::mail) fn unsubscribe(
    db: &mut dyn Db,
    topic: &str,
    of: Mailbox<'_>,
) -> Result<bool, DbError> {
    let n = db.execute(
        "delete from subscriptions where topic = $1 and agent = $2 and sub = $3",
        &[topic.into(), of.agent.into(), of.sub.into()],
    )?;
    Ok(n > 0)
}

/// A subagent has ended and follows nothing any more.
pub(in crate::mail) fn forget_sub(db: &mut dyn Db, agent: i64, sub: &str) -> Result<(), DbError> {
    db.execute(
        "delete from subscriptions where agent = $1 and sub = $2 and sub <> ''",
        &[agent.into(), sub.into()],
    )?;
    Ok(())
}

pub(in crate::mail) fn subscribers(
    db: &mut dyn Db,
    topic: &str,
) -> Result<Vec<(i64, String)>, DbError> {
    db.rows(
        "select agent, sub from subscriptions where topic = $1 order by agent, sub limit 500",
        &[topic.into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )
}
