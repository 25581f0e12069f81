//! What the journal tells the views of the fleet: which actor did what in a span of time, and how everything was at a moment.

use std::collections::HashMap;
use std::rc::Rc;

use substrate_core::text::one_line;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Cx, Db, DbError, Dialect, EventKind, FeatureError, Param, Timestamp};

use super::ops;
use crate::calls;

/// Of one agent's entries, so many of all agents' are looked through at the most. Sessions have no index of their own.
const MAX_LOOKED_AT: i64 = 20_000;

/// Entries that are read to find out how everything was at a moment.
const MAX_BEFORE: i64 = 3_000;

/// An entry as a lane needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) id: i64,
    pub(crate) at_ms: i64,
    pub(crate) client: String,
    pub(crate) session: String,
    pub(crate) actor: String,
    /// The kind of a subagent.
    pub(crate) kind: Option<String>,
    pub(crate) event: String,
    pub(crate) tool: Option<String>,
    pub(crate) tool_use: Option<String>,
    pub(crate) verdict: String,
    /// Its beginning.
    pub(crate) input: String,
    pub(crate) output: String,
}

impl Trace {
    /// A call or the end of a turn was refused.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.verdict.as_str(), "deny" | "block")
    }
}

/// The entries of a span, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traces {
    pub(crate) rows: Vec<Trace>,
    /// Older entries of the span were left out: they are too many.
    pub(crate) is_cut: bool,
}

macro_rules! columns {
    () => {
        "id, at_ms, client, session, actor, actor_kind, event, tool, tool_use, verdict, substr(input, 1, 600),
         substr(output, 1, 200)"
    };
}

pub(super) const SPAN: &str = concat!(
    "select ",
    columns!(),
    " from journal where id > $1 and id <= $2 and session is not null order by id desc limit $3"
);

/// The latest entries of a span, of these sessions or of all.
pub(crate) fn traces(
    cx: &mut Cx<'_>,
    sessions: Option<&[String]>,
    (from, until): (Timestamp, Timestamp),
    limit: i64,
) -> Result<Traces, DbError> {
    let after = ops::id_before(cx.db, from)?;
    // Up to and with the last moment of the span.
    let up_to = ops::id_before(cx.db, until.plus_ms(1))?;
    let Some(sessions) = sessions else {
        let mut rows = cx.db.rows(SPAN, &[after.into(), up_to.into(), limit.into()], trace)?;
        rows.reverse();
        return Ok(Traces { is_cut: is_full(&rows, limit), rows });
    };
    let wanted = Wanted { sessions, after: after.max(up_to - MAX_LOOKED_AT), up_to, limit };
    // The lanes of an agent and its story are about the same entries, so that one look serves both.
    let looked = cx.once("entries of an agent", |cx| wanted.look(cx.db))?;
    let rows = match looked.part(&wanted) {
        Some(rows) => rows,
        None => wanted.look(cx.db)?.rows,
    };
    let is_cut = is_full(&rows, limit) || up_to - after > MAX_LOOKED_AT;
    Ok(Traces { rows, is_cut })
}

fn is_full(rows: &[Trace], limit: i64) -> bool {
    i64::try_from(rows.len()).unwrap_or(i64::MAX) >= limit
}

/// Which entries of an agent are wanted.
struct Wanted<'a> {
    sessions: &'a [String],
    after: i64,
    up_to: i64,
    limit: i64,
}

/// Entries of an agent that were found, oldest first.
struct Looked {
    sessions: Vec<String>,
    after: i64,
    up_to: i64,
    is_cut: bool,
    rows: Vec<Trace>,
}

impl Wanted<'_> {
    fn look(&self, db: &mut dyn Db) -> Result<Looked, DbError> {
        let Self { sessions, after, up_to, limit } = *self;
        let mut rows = Vec::new();
        if !sessions.is_empty() {
            let mut params: Vec<Param<'_>> = vec![after.into(), up_to.into(), limit.into()];
            let places = ops::places(params.len(), sessions.len());
            params.extend(sessions.iter().map(|session| Param::from(session.as_str())));
            let sql = format!(
                concat!(
                    "select ",
                    columns!(),
                    " from journal where id > $1 and id <= $2 and session in ({}) order by id desc limit $3"
                ),
                places
            );
            rows = db.rows(&sql, &params, trace)?;
            rows.reverse();
        }
        let is_cut = is_full(&rows, limit);
        Ok(Looked { sessions: sessions.to_vec(), after, up_to, is_cut, rows })
    }
}

impl Looked {
    /// What is wanted, if it is all here.
    fn part(&self, wanted: &Wanted<'_>) -> Option<Vec<Trace>> {
        let is_same = self.sessions == wanted.sessions && self.up_to == wanted.up_to;
        let from = self.rows.partition_point(|row| row.id <= wanted.after);
        let part = &self.rows[from..];
        let is_whole = self.after <= wanted.after && (!self.is_cut || from > 0);
        if !is_same || !(is_whole || is_full(part, wanted.limit)) {
            return None;
        }
        let limit = usize::try_from(wanted.limit).unwrap_or(usize::MAX);
        Some(part[part.len().saturating_sub(limit)..].to_vec())
    }
}

/// How the journal stood at a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standstill {
    /// The last entry up to then.
    pub(crate) entry: i64,
    /// The latest entries up to then, newest first.
    pub(crate) rows: Vec<Trace>,
    /// Sessions that had entries before and after it, and none among these.
    pub(crate) silent: Vec<String>,
}

pub(super) const OPEN_THEN: &str = "select session from journal_session where first_id <= $1 and last_id >= $1 order by last_id desc limit 500";

pub(crate) fn at(db: &mut dyn Db, at: Timestamp) -> Result<Standstill, DbError> {
    let entry = ops::id_before(db, at.plus_ms(1))?;
    let rows = db.rows(SPAN, &[0_i64.into(), entry.into(), MAX_BEFORE.into()], trace)?;
    let seen: HashMap<&str, ()> = rows.iter().map(|row| (row.session.as_str(), ())).collect();
    let mut silent = db.rows(OPEN_THEN, &[entry.into()], |row| row.text(0))?;
    silent.retain(|session| !seen.contains_key(session.as_str()));
    Ok(Standstill { entry, rows, silent })
}

/// The time of an entry.
pub(crate) fn time_of(db: &mut dyn Db, entry: i64) -> Result<Option<i64>, DbError> {
    ops::at(db, entry)
}

/// By session and actor: an entry, and its tool.
pub(crate) type LatestEvents = HashMap<(String, String), (i64, Option<String>)>;

/// The latest event of each actor, from the newest entries: one pass for a whole fleet. Its entry, and its tool if it was
/// about a call.
pub(crate) fn latest(cx: &mut Cx<'_>) -> Result<Rc<LatestEvents>, DbError> {
    cx.once("latest entries", |cx| {
        let mut out = LatestEvents::new();
        cx.db.query(LATEST, &[MAX_LATEST.into()], &mut |row| {
            let (id, tool) = (row.int(0)?, row.opt_text(3)?);
            out.entry((row.text(1)?, row.text(2)?)).or_insert((id, tool));
            Ok(())
        })?;
        Ok(out)
    })
}

/// Entries that are read for that.
const MAX_LATEST: i64 = 2_000;

pub(super) const LATEST: &str = "select id, session, actor, tool from journal
     where session is not null order by id desc limit $1";

/// The call of an entry, in one line.
pub(crate) fn call_of(
    db: &mut dyn Db,
    dialects: &[&Dialect],
    entry: i64,
) -> Result<Option<String>, DbError> {
    let sql = "select client, tool, substr(input, 1, 600) from journal where id = $1";
    let found = db.first(sql, &[entry.into()], |row| {
        let tool = row.opt_text(1)?.unwrap_or_default();
        let input = row.opt_text(2)?.unwrap_or_default();
        Ok(calls::short(dialects, &row.text(0)?, &tool, &input))
    })?;
    Ok(found.filter(|words| !words.is_empty()))
}

fn trace(row: &dyn substrate_core::Row) -> Result<Trace, DbError> {
    Ok(Trace {
        id: row.int(0)?,
        at_ms: row.int(1)?,
        client: row.text(2)?,
        session: row.text(3)?,
        actor: row.text(4)?,
        kind: row.opt_text(5)?,
        event: row.text(6)?,
        tool: row.opt_text(7)?,
        tool_use: row.opt_text(8)?,
        verdict: row.text(9)?,
        input: row.opt_text(10)?.unwrap_or_default(),
        output: row.opt_text(11)?.unwrap_or_default(),
    })
}

/// Entries that a story looks through.
const MAX_ENTRIES: i64 = 2_000;

/// The longest text of a moment, in characters.
const MAX_TEXT: usize = 600;

/// Prompts, turns, refusals, errors, notices, subagents and compactions, for an agent's story.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let found = traces(cx, Some(&of.sessions), (of.from, of.until), MAX_ENTRIES)?;
    let mut out: Vec<Moment> = found.rows.iter().filter_map(moment).collect();
    let n_over = out.len().saturating_sub(usize::try_from(of.limit).unwrap_or(usize::MAX));
    Ok(out.split_off(n_over))
}

fn moment(row: &Trace) -> Option<Moment> {
    use EventKind as K;
    let (input, output) = (|| one_line(&row.input, MAX_TEXT), || one_line(&row.output, MAX_TEXT));
    let is_refused = row.is_refused() || row.verdict == "ask";
    let mut link = None;
    let (kind, title, text) = match EventKind::named(&row.event) {
        _ if is_refused => {
            let word = match row.verdict.as_str() {
                "deny" => "Was refused",
                "ask" => "Was put to you",
                _ => "Was held",
            };
            link = Some(format!("/why?before={}#why-{}", row.id + 1, row.id));
            let what = row.tool.as_deref().unwrap_or(&row.event);
            (MomentKind::Refusal, format!("{word}: {what}"), input())
        }
        K::SessionStart => (MomentKind::Began, "Began".to_owned(), output()),
        K::SessionEnd => (MomentKind::Ended, "Ended".to_owned(), input()),
        K::UserPromptSubmit => (MomentKind::Prompt, "You asked".to_owned(), input()),
        K::Stop => (MomentKind::Turn, "Finished its turn".to_owned(), output()),
        K::SubagentStop => (MomentKind::Subagent, "A subagent ended".to_owned(), output()),
        K::SubagentStart => (MomentKind::Subagent, "A subagent began".to_owned(), input()),
        K::StopFailure => (MomentKind::Error, "Its turn failed".to_owned(), input()),
        K::PreCompact => (MomentKind::Compaction, "Compaction".to_owned(), input()),
        K::Notification => (MomentKind::Notice, "Told you".to_owned(), output()),
        _ => return None,
    };
    Some(Moment {
        at_ms: row.at_ms,
        kind,
        actor: row.actor.clone(),
        title,
        text,
        entry: Some(row.id),
        link,
        ..Moment::default()
    })
}
