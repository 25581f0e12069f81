//! Full-text search. The one place with a dialect of its own: FTS5. The table keeps no text, only the index; its `who`
//! column holds one word per mailbox and sender, so that a search finds only one's own mail.

use substrate_core::text::cut;
use substrate_core::{Db, DbError, Migration};

/// This many bytes of a body are searchable.
const MAX_INDEXED: usize = 64 * 1024;

/// Words of a query that count.
const MAX_WORDS: usize = 16;

pub(super) const TABLE: Migration = Migration {
    about: "the full-text index of mail",
    sql: "create virtual table mail_search using fts5(who, subject, body, content='', contentless_delete=1)",
};

pub(super) const FIND: &str = "select s.rowid from mail_search s join messages m on m.id = s.rowid
         where mail_search match $1
           and ($3 = 1 or m.sender = $2 or exists (
             select 1 from deliveries d where d.message = m.id and d.agent = $2 and d.box <> 'trash'))
         order by s.rowid desc limit $4";

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
    let query = format!("who : \"{}\" AND {{subject body}} : ({})", token(agent), words.0);
    db.rows(
        FIND,
        &[query.as_str().into(), agent.into(), i64::from(with_trash).into(), limit.into()],
        |row| row.int(0),
    )
}

/// What is searched for, as quoted terms. Every typed word is a word, never an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words(String);

impl Words {
    /// `None` where nothing is left to search for.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut terms: Vec<String> = Vec::new();
        for word in text.split_whitespace().take(MAX_WORDS) {
            if !word.chars().any(char::is_alphanumeric) {
                continue;
            }
            let plain: String =
                word.chars().filter(|c| *c != '"' && !c.is_control()).take(256).collect();
            let star = if plain.ends_with('*') { " *" } else { "" };
            terms.push(format!("\"{}\"{star}", plain.trim_end_matches('*')));
        }
        (!terms.is_empty()).then(|| Self(terms.join(" AND ")))
    }
}

fn token(agent: i64) -> String {
    format!("a{agent}")
}

#[cfg(test)]
mod tests {
    use super::Words;
    use rstest::rstest;

    #[rstest]
    #[case::words("build  failed", Some("\"build\" AND \"failed\""))]
    #[case::prefix("buil*", Some("\"buil\" *"))]
    #[case::operators("a OR b", Some("\"a\" AND \"OR\" AND \"b\""))]
    #[case::quotes("x\" OR who:\"a1", Some("\"x\" AND \"OR\" AND \"who:a1\""))]
    #[case::columns("who:a1", Some("\"who:a1\""))]
    #[case::nothing(" * \" () ", None)]
    fn a_query_is_only_words(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(Words::read(text).map(|words| words.0), expected.map(str::to_owned));
    }
}
