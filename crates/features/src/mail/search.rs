//! Full-text search. The one place with a dialect of its own: FTS5. The table keeps no text, only the index; its `who`
//! column holds one word per mailbox and sender, so that a search finds only one's own mail.

use substrate_core::text::cut;
use substrate_core::{Db, DbError, Migration};

pub(super) use crate::lookups::Words;

/// This many bytes of a body are searchable.
const MAX_INDEXED: usize = 64 * 1024;

pub(super) const TABLE: Migration = Migration {
    about: "the full-text index of mail",
    sql: "create virtual table mail_search using fts5(who, subject, body, content='', contentless_delete=1)",
};

pub(super) const FIND: &str = "select s.rowid from mail_search s join messages m on m.id = s.rowid
         where mail_search match $1
           and ($3 = 1 or m.sender = $2 or exists (
             select 1 from deliveries d where d.message = m.id and d.agent = $2 and d.box <> 'trash'))
         order by s.rowid desc limit $4";

/// What all recipients threw away is left out, unless the user wrote it.
pub(super) const FIND_ALL: &str =
    "select s.rowid, m.sender from mail_search s join messages m on m.id = s.rowid
         where mail_search match $1
           and (m.sender = $2 or exists (
             select 1 from deliveries d where d.message = m.id and d.box <> 'trash'))
         order by s.rowid desc limit $3";

/// Makes a message findable by these agents.
pub(super) fn add(
    db: &mut dyn Db,
    message: i64,
    agents: &[i64],
    subject: &str,
    body: &str,
) -> Result<(), DbError> {
    let mut who: Vec<String> = agents.iter().map(|agent| token(*agent)).collect();
    who.sort();
    who.dedup();
    db.execute(
        "insert into mail_search (rowid, who, subject, body) values ($1, $2, $3, $4)",
        &[
            message.into(),
            who.join(" ").as_str().into(),
            subject.into(),
            cut(body, MAX_INDEXED).into(),
        ],
    )?;
    Ok(())
}

pub(super) fn forget(db: &mut dyn Db, message: i64) -> Result<(), DbError> {
    db.execute("delete from mail_search where rowid = $1", &[message.into()])?;
    Ok(())
}

/// The newest messages of an agent with all these words. Trash is searched only `with_trash`.
pub(super) fn find(
    db: &mut dyn Db,
    agent: i64,
    words: &Words,
    with_trash: bool,
    limit: i64,
) -> Result<Vec<i64>, DbError> {
    let query = format!("who : \"{}\" AND {{subject body}} : ({})", token(agent), words.terms());
    db.rows(
        FIND,
        &[query.as_str().into(), agent.into(), i64::from(with_trash).into(), limit.into()],
        |row| row.int(0),
    )
}

/// The newest messages of all agents with all these words, each with its sender. Only for the user.
pub(super) fn find_all(
    db: &mut dyn Db,
    user: i64,
    words: &Words,
    limit: i64,
) -> Result<Vec<(i64, i64)>, DbError> {
    let query = format!("{{subject body}} : ({})", words.terms());
    let params = [query.as_str().into(), user.into(), limit.into()];
    db.rows(FIND_ALL, &params, |row| Ok((row.int(0)?, row.int(1)?)))
}

fn token(agent: i64) -> String {
    format!("a{agent}")
}
