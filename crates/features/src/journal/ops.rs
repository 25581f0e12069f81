//! The journal's SQL. No other code touches its tables.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use substrate_core::engine::processed::{Scope, StoodFor};
use substrate_core::{Db, DbError, Param, RequestId, Row, Timestamp};

use super::condition::CostRow;
use super::sessions;
use crate::lookups;

/// A row to be written.
pub(super) struct NewRow<'a> {
    pub(super) at: Timestamp,
    pub(super) request: RequestId,
    pub(super) client: &'a str,
    pub(super) event: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) actor: &'a str,
    pub(super) actor_kind: Option<&'a str>,
    pub(super) tool: Option<&'a str>,
    pub(super) tool_use: Option<&'a str>,
    pub(super) cwd: &'a str,
    pub(super) input: Option<Cow<'a, str>>,
    pub(super) output: Option<Cow<'a, str>>,
    pub(super) verdict: &'a str,
    pub(super) answer: Option<String>,
    pub(super) wishes: Option<String>,
    pub(super) undeliverable: Option<String>,
    pub(super) failures: Option<String>,
    pub(super) costs: Option<String>,
    pub(super) spent_us: i64,
    pub(super) why: Option<&'a str>,
    pub(super) n_bytes: i64,
    pub(super) n_unknown_fields: i64,
    /// If the row stands for its request.
    pub(super) scope: Option<Scope>,
}

/// A row as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(super) struct JournalRow {
    pub(super) id: i64,
    pub(super) at_ms: i64,
    pub(super) request: String,
    pub(super) client: String,
    pub(super) event: String,
    pub(super) session: Option<String>,
    /// The name of the session's agent.
    pub(super) agent: Option<String>,
    pub(super) actor: String,
    pub(super) actor_kind: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) tool_use: Option<String>,
    pub(super) cwd: String,
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    pub(super) verdict: String,
    pub(super) answer: Option<serde_json::Value>,
    pub(super) wishes: Option<serde_json::Value>,
    pub(super) undeliverable: Option<serde_json::Value>,
    pub(super) failures: Option<serde_json::Value>,
    pub(super) costs: Option<serde_json::Value>,
    pub(super) spent_us: i64,
    pub(super) host: String,
    pub(super) why: Option<String>,
    pub(super) n_bytes: i64,
    pub(super) n_unknown_fields: i64,
}

const COLUMNS: &str = "id, at_ms, request, client, event, session, actor, actor_kind, tool, tool_use, cwd, input, output, \
     verdict, answer, wishes, undeliverable, failures, costs, spent_us, host, why, n_bytes, n_unknown_fields";

/// Writes a row. Most say only what the event was: nothing was wished, and nothing failed.
pub(super) fn append(db: &mut dyn Db, entry: &NewRow<'_>) -> Result<(), DbError> {
    sessions::next(db, |db, id| {
        let request = entry.request.hex();
        let usual = [
            id.into(),
            entry.at.0.into(),
            request.as_str().into(),
            entry.client.into(),
            entry.event.into(),
            entry.session.into(),
            entry.actor.into(),
            entry.actor_kind.into(),
            entry.tool.into(),
            entry.tool_use.into(),
            entry.cwd.into(),
            entry.input.as_deref().into(),
            entry.output.as_deref().into(),
            entry.verdict.into(),
            entry.spent_us.into(),
            entry.n_bytes.into(),
            entry.n_unknown_fields.into(),
            entry.scope.map(Scope::code).into(),
        ];
        let more: [Param<'_>; 6] = [
            entry.answer.as_deref().into(),
            entry.wishes.as_deref().into(),
            entry.undeliverable.as_deref().into(),
            entry.failures.as_deref().into(),
            entry.costs.as_deref().into(),
            entry.why.into(),
        ];
        if more.iter().all(|param| *param == Param::Null) {
            return db.execute_last(
                "insert into journal (id, at_ms, request, client, event, session, actor, actor_kind, tool, tool_use, cwd,
                   input, output, verdict, spent_us, n_bytes, n_unknown_fields, scope, host)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 'daemon')",
                &usual,
            ).map(drop);
        }
        let mut all = [Param::Null; 24];
        all[..18].copy_from_slice(&usual);
        all[18..].copy_from_slice(&more);
        db.execute_last(
            "insert into journal (id, at_ms, request, client, event, session, actor, actor_kind, tool, tool_use, cwd,
               input, output, verdict, spent_us, n_bytes, n_unknown_fields, scope,
               answer, wishes, undeliverable, failures, costs, why, host)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
               $19, $20, $21, $22, $23, $24, 'daemon')",
            &all,
        ).map(drop)
    })
}

/// The newest requests that rows stand for.
pub(super) fn stood_for(db: &mut dyn Db, n: i64) -> Result<Vec<StoodFor>, DbError> {
    let found = db.rows(
        "select request, scope from (select id, request, scope from journal order by id desc limit $1)
         where scope is not null order by id desc",
        &[n.into()],
        |row| {
            let scope = Scope::of(row.int(1)?);
            Ok(RequestId::of_hex(&row.text(0)?).map(|request| StoodFor { request, scope }))
        },
    )?;
    Ok(found.into_iter().flatten().collect())
}

/// Which rows to list.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// Only these sessions.
    pub(super) sessions: Option<Vec<String>>,
    pub(super) actor: Option<String>,
    pub(super) event: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) verdict: Option<String>,
    /// Rows after this one.
    pub(super) after: i64,
    pub(super) limit: i64,
    /// The first that match instead of the last.
    pub(super) from_the_start: bool,
}

/// The newest matching rows, or the first ones. Either way oldest first.
pub(super) fn list(db: &mut dyn Db, filter: &Filter) -> Result<Vec<JournalRow>, DbError> {
    let (mut after, mut up_to) = (filter.after, i64::MAX);
    if let Some(sessions) = &filter.sessions {
        let Some((first, last)) = range(db, sessions)? else { return Ok(Vec::new()) };
        after = after.max(first - 1);
        up_to = last;
    }
    let mut sql = format!("select {COLUMNS} from journal where id > $1 and id <= $2");
    let mut params: Vec<Param<'_>> = vec![after.into(), up_to.into()];
    if let Some(sessions) = &filter.sessions {
        let _infallible = write!(sql, " and session in ({})", places(params.len(), sessions.len()));
        params.extend(sessions.iter().map(|session| Param::from(session.as_str())));
    }
    let wanted = [
        ("actor", &filter.actor),
        ("event", &filter.event),
        ("tool", &filter.tool),
        ("verdict", &filter.verdict),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            params.push(value.as_str().into());
            let _infallible = write!(sql, " and {column} = ${}", params.len());
        }
    }
    params.push(filter.limit.into());
    let order = if filter.from_the_start { "" } else { " desc" };
    let _infallible = write!(sql, " order by id{order} limit ${}", params.len());
    let mut rows = db.rows(&sql, &params, shown)?;
    if !filter.from_the_start {
        rows.reverse();
    }
    Ok(rows)
}

pub(super) fn show(db: &mut dyn Db, id: i64) -> Result<Option<JournalRow>, DbError> {
    db.first(&format!("select {COLUMNS} from journal where id = $1"), &[id.into()], shown)
}

/// The name of a row's event.
pub(super) fn event(db: &mut dyn Db, id: i64) -> Result<Option<String>, DbError> {
    db.first("select event from journal where id = $1", &[id.into()], |row| row.text(0))
}

pub(super) const REFUSED: &str = "select id from journal
     where (verdict = 'deny' or verdict = 'ask' or verdict = 'block') and id < $1 order by id desc limit $2";

pub(super) const REFUSED_SO: &str = "select id from journal
     where (verdict = 'deny' or verdict = 'ask' or verdict = 'block') and id < $1 and verdict = $3
     order by id desc limit $2";

/// What was refused, held or asked about before an entry, newest first. An empty verdict is any of them.
pub(super) fn refused(
    db: &mut dyn Db,
    before: i64,
    limit: i64,
    verdict: &str,
) -> Result<Vec<JournalRow>, DbError> {
    let params = [before.into(), limit.into(), verdict.into()];
    let ids = match verdict {
        "" => db.rows(REFUSED, &params[..2], |row| row.int(0))?,
        _ => db.rows(REFUSED_SO, &params, |row| row.int(0))?,
    };
    let mut out = Vec::with_capacity(ids.len());
    for id in ids {
        out.extend(show(db, id)?);
    }
    Ok(out)
}

pub(super) const REFUSED_SINCE: &str = "select verdict, wishes, answer from journal
     where (verdict = 'deny' or verdict = 'ask' or verdict = 'block') and id > $1 order by id desc limit $2";

/// Takes a verdict with its wishes and its answer.
type EachRefusal<'a> =
    &'a mut dyn FnMut(&str, Option<serde_json::Value>, Option<serde_json::Value>);

/// The verdict, wishes and answer of the newest refusals after an entry.
pub(super) fn refused_since(
    db: &mut dyn Db,
    after: i64,
    limit: i64,
    each: EachRefusal<'_>,
) -> Result<(), DbError> {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    db.query(REFUSED_SINCE, &[after.into(), limit.into()], &mut |row| {
        each(&row.text(0)?, json(row.opt_text(1)?), json(row.opt_text(2)?));
        Ok(())
    })
}

/// The first calls, ends of turns and prompts of an actor after one entry and up to another.
pub(super) fn next_of(
    db: &mut dyn Db,
    (session, actor): (&str, &str),
    after: i64,
    up_to: i64,
    limit: i64,
) -> Result<Vec<JournalRow>, DbError> {
    let sql = format!(
        "select {COLUMNS} from journal where id > $1 and id <= $2 and session = $3 and actor = $4
           and event in ('PreToolUse', 'Stop', 'SubagentStop', 'UserPromptSubmit', 'SessionEnd') order by id limit $5"
    );
    let params = [after.into(), up_to.into(), session.into(), actor.into(), limit.into()];
    db.rows(&sql, &params, shown)
}

/// The range of row ids of these sessions.
fn range(db: &mut dyn Db, sessions: &[String]) -> Result<Option<(i64, i64)>, DbError> {
    let mut ends: Option<(i64, i64)> = None;
    for session in sessions {
        if let Some(rows) = sessions::rows_of(db, session)? {
            let (first, last) = ends.unwrap_or((rows.first_id, rows.last_id));
            ends = Some((first.min(rows.first_id), last.max(rows.last_id)));
        }
    }
    Ok(ends)
}

/// Placeholders: `$3, $4` are two after the second.
pub(super) fn places(after: usize, n: usize) -> String {
    let each: Vec<String> = (1..=n).map(|at| format!("${}", after + at)).collect();
    each.join(", ")
}

/// The distinct words in a column of the newest rows.
pub(super) fn words(db: &mut dyn Db, column: Column, n_rows: i64) -> Result<Vec<String>, DbError> {
    let column = column.name();
    db.rows(
        &format!(
            "select distinct {column} from (select {column} from journal order by id desc limit $1)
             where {column} is not null"
        ),
        &[n_rows.into()],
        |row| row.text(0),
    )
}

/// A column whose words only the journal knows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Actor,
    Event,
    Tool,
}

impl Column {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Event => "event",
            Self::Tool => "tool",
        }
    }
}

/// The columns of a row that statistics need.
pub(super) struct StatsRow {
    pub(super) event: String,
    pub(super) verdict: String,
    pub(super) spent_us: i64,
    pub(super) why: Option<String>,
    pub(super) failures: Option<String>,
    pub(super) n_unknown_fields: i64,
}

impl StatsRow {
    /// A call or the end of a turn was refused, or put to the user.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.verdict.as_str(), "deny" | "ask" | "block")
    }
}

/// The rows after `after`, at most the newest `limit`.
pub(super) fn figures(db: &mut dyn Db, after: i64, limit: i64) -> Result<Vec<StatsRow>, DbError> {
    db.rows(
        "select event, verdict, spent_us, why, failures, n_unknown_fields from journal where id > $1 order by id desc limit $2",
        &[after.into(), limit.into()],
        |row| {
            Ok(StatsRow {
                event: row.text(0)?,
                verdict: row.text(1)?,
                spent_us: row.int(2)?,
                why: row.opt_text(3)?,
                failures: row.opt_text(4)?,
                n_unknown_fields: row.int(5)?,
            })
        },
    )
}

/// The first and the last id.
pub(super) fn ends(db: &mut dyn Db) -> Result<Option<(i64, i64)>, DbError> {
    // Two questions: SQLite reads every row to answer both at once.
    let ends = db.first(
        "select (select min(id) from journal), (select max(id) from journal)",
        &[],
        |row| Ok(row.opt_int(0)?.zip(row.opt_int(1)?)),
    )?;
    Ok(ends.flatten())
}

/// The id before the first row since that moment.
pub(super) fn id_before(db: &mut dyn Db, since: Timestamp) -> Result<i64, DbError> {
    match ends(db)? {
        Some((first, last)) => id_between(db, since, (first - 1, last)),
        None => Ok(0),
    }
}

const AT: &str = "select at_ms from journal where id >= $1 order by id limit 1";

/// The same where it is known to lie between two ids.
pub(super) fn id_between(
    db: &mut dyn Db,
    since: Timestamp,
    ends: (i64, i64),
) -> Result<i64, DbError> {
    lookups::id_between(db, AT, since, ends)
}

/// When an entry was made.
pub(super) fn at(db: &mut dyn Db, id: i64) -> Result<Option<i64>, DbError> {
    db.first("select at_ms from journal where id = $1", &[id.into()], |row| row.int(0))
}

/// What the first events after one entry and up to another cost.
pub(super) fn costs(
    db: &mut dyn Db,
    (after, up_to): (i64, i64),
    limit: i64,
    each: &mut dyn FnMut(CostRow),
) -> Result<(), DbError> {
    db.query(
        "select event, spent_us, why from journal where id > $1 and id <= $2 order by id limit $3",
        &[after.into(), up_to.into(), limit.into()],
        &mut |row| {
            let (event, spent_us) = (row.text(0)?, row.int(1)?);
            each(CostRow { event, spent_us, why: row.opt_text(2)? });
            Ok(())
        },
    )
}

pub(super) const N_REFUSED: &str = "select count(*) from journal
     where (verdict = 'deny' or verdict = 'ask' or verdict = 'block') and id > $1 and id <= $2";

/// How many were refused, held or asked about after one entry and up to another.
pub(super) fn n_refused(db: &mut dyn Db, after: i64, up_to: i64) -> Result<i64, DbError> {
    let n = db.first(N_REFUSED, &[after.into(), up_to.into()], |row| row.int(0))?;
    Ok(n.unwrap_or(0))
}

pub(super) const FAILED: &str = "select id, at_ms, failures from journal
     where failures is not null and id > $1 order by id desc limit $2";

/// The newest entries after that one at which a feature failed.
pub(super) fn failed(
    db: &mut dyn Db,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, i64, String)>, DbError> {
    db.rows(FAILED, &[after.into(), limit.into()], |row| {
        Ok((row.int(0)?, row.int(1)?, row.text(2)?))
    })
}

/// Removes rows up to `id`, at most the oldest `limit`, and returns how many it removed.
pub(super) fn remove_up_to(db: &mut dyn Db, id: i64, limit: i64) -> Result<usize, DbError> {
    let first = db.first("select min(id) from journal", &[], |row| row.opt_int(0))?.flatten();
    let Some(first) = first else { return Ok(0) };
    let last = id.min(first.saturating_add(limit - 1));
    let removed = db.execute("delete from journal where id <= $1", &[last.into()])?;
    db.execute("delete from journal_session where last_id <= $1", &[last.into()])?;
    db.execute(
        "delete from journal_search where rowid >= $1 and rowid <= $2",
        &[first.into(), last.into()],
    )?;
    Ok(removed)
}

fn shown(row: &dyn Row) -> Result<JournalRow, DbError> {
    let json = |column| -> Result<Option<serde_json::Value>, DbError> {
        Ok(row.opt_text(column)?.and_then(|text| serde_json::from_str(&text).ok()))
    };
    Ok(JournalRow {
        id: row.int(0)?,
        at_ms: row.int(1)?,
        request: row.text(2)?,
        client: row.text(3)?,
        event: row.text(4)?,
        session: row.opt_text(5)?,
        agent: None,
        actor: row.text(6)?,
        actor_kind: row.opt_text(7)?,
        tool: row.opt_text(8)?,
        tool_use: row.opt_text(9)?,
        cwd: row.text(10)?,
        input: row.opt_text(11)?,
        output: row.opt_text(12)?,
        verdict: row.text(13)?,
        answer: json(14)?,
        wishes: json(15)?,
        undeliverable: json(16)?,
        failures: json(17)?,
        costs: json(18)?,
        spent_us: row.int(19)?,
        host: row.text(20)?,
        why: row.opt_text(21)?,
        n_bytes: row.int(22)?,
        n_unknown_fields: row.int(23)?,
    })
}
