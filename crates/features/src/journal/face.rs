//! What other features may ask the journal.

use substrate_core::{Db, DbError, Timestamp};

use super::verbs::percentile;
use super::{ops, sessions};

pub(crate) use super::traces::{LatestEvents, Trace, at, call_of, latest, time_of, traces};

/// At most this many of the newest rows are read.
const MAX_ROWS: i64 = 100_000;

/// A tool call as it was recorded before it ran, without secrets and cut.
#[derive(Clone, Debug)]
pub(crate) struct RecordedCall {
    pub(crate) tool: String,
    pub(crate) actor: String,
    pub(crate) actor_kind: Option<String>,
    pub(crate) cwd: String,
    pub(crate) input: String,
}

/// Passes the tool calls since that moment to `each`, newest first.
pub(crate) fn calls(
    db: &mut dyn Db,
    since: Timestamp,
    each: &mut dyn FnMut(&RecordedCall),
) -> Result<(), DbError> {
    let after = ops::id_before(db, since)?;
    db.query(
        "select tool, actor, actor_kind, cwd, input from journal
         where id > $1 and event = 'PreToolUse' and tool is not null order by id desc limit $2",
        &[after.into(), MAX_ROWS.into()],
        &mut |row| {
            each(&RecordedCall {
                tool: row.text(0)?,
                actor: row.text(1)?,
                actor_kind: row.opt_text(2)?,
                cwd: row.text(3)?,
                input: row.opt_text(4)?.unwrap_or_default(),
            });
            Ok(())
        },
    )
}

/// A feature's failures since that moment: each message once, with its count, newest first.
pub(crate) fn failures(
    db: &mut dyn Db,
    feature: &str,
    since: Timestamp,
) -> Result<Vec<(String, usize)>, DbError> {
    let after = ops::id_before(db, since)?;
    let texts = db.rows(
        "select failures from journal where id > $1 and failures is not null order by id desc limit $2",
        &[after.into(), MAX_ROWS.into()],
        |row| row.text(0),
    )?;
    let mut out: Vec<(String, usize)> = Vec::new();
    for text in texts {
        let told: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
        for message in told
            .iter()
            .filter(|one| one["feature"] == feature)
            .filter_map(|one| one["message"].as_str())
        {
            match out.iter_mut().find(|(known, _)| known == message) {
                Some((_, n)) => *n += 1,
                None => out.push((message.to_owned(), 1)),
            }
        }
    }
    Ok(out)
}

/// How the hooks did lately, from at most a few thousand rows: cheap enough for a page that is always open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Lately {
    pub(crate) n_events: usize,
    pub(crate) p50_us: i64,
    pub(crate) p99_us: i64,
    pub(crate) n_refused: usize,
    pub(crate) n_failed: usize,
}

/// Rows that `lately` reads at the most.
const MAX_LATELY: i64 = 5_000;

pub(crate) fn lately(db: &mut dyn Db, since: Timestamp) -> Result<Lately, DbError> {
    let after = ops::id_before(db, since)?;
    let rows = ops::figures(db, after, MAX_LATELY)?;
    let mut spent: Vec<i64> = rows.iter().map(|row| row.spent_us).collect();
    spent.sort_unstable();
    Ok(Lately {
        n_events: rows.len(),
        p50_us: percentile(&spent, 50),
        p99_us: percentile(&spent, 99),
        n_refused: rows.iter().filter(|row| row.is_refused()).count(),
        n_failed: rows.iter().filter(|row| row.failures.is_some()).count(),
    })
}

/// A call that a person is asked about.
#[derive(Clone, Debug)]
pub(crate) struct AskedCall {
    pub(crate) tool: Option<String>,
    /// As far as the journal keeps it, without secrets.
    pub(crate) input: String,
    /// What was answered before the call.
    pub(crate) answer: Option<serde_json::Value>,
}

/// A dialog opens within this time after its call began.
const ASKED_MS: i64 = 60_000;

pub(super) const ASKED: &str = "select event, tool, input, answer from journal
     where id > $1 and id <= $2 and session = $3 and actor = $4
       and event in ('PreToolUse', 'PermissionRequest')
     order by id desc limit 20";

/// Entries of all agents in that time that are looked through.
const MAX_ASKED: i64 = 5_000;

/// The call of an actor that a dialog is about, which opened at that moment.
pub(crate) fn asked(
    db: &mut dyn Db,
    (session, actor): (&str, &str),
    at: Timestamp,
) -> Result<Option<AskedCall>, DbError> {
    // Ids grow with time, so everything that came after the dialog is never looked at.
    let up_to = ops::id_before(db, at.plus_ms(1_001))?;
    let after = ops::id_before(db, at.plus_ms(-ASKED_MS))?.max(up_to - MAX_ASKED);
    let params = [after.into(), up_to.into(), session.into(), actor.into()];
    let rows = db.rows(ASKED, &params, |row| {
        let answer = row.opt_text(3)?.and_then(|text| serde_json::from_str(&text).ok());
        let input = row.opt_text(2)?.unwrap_or_default();
        Ok((row.text(0)?, AskedCall { tool: row.opt_text(1)?, input, answer }))
    })?;
    // A dialog without a request of its own is about the latest call.
    let is_request = |(event, _): &&(String, AskedCall)| event == "PermissionRequest";
    let Some((_, asked)) = rows.iter().find(is_request).or(rows.first()) else { return Ok(None) };
    let is_its = |(event, call): &&(String, AskedCall)| {
        event == "PreToolUse" && call.tool == asked.tool && call.input == asked.input
    };
    let answer = rows.iter().find(is_its).and_then(|(_, call)| call.answer.clone());
    Ok(Some(AskedCall { answer, ..asked.clone() }))
}

/// How many rows back an actor is searched that was silent while others in its session were not.
const FAR: i64 = 2_000;

/// The tool of an actor's latest event, if that was about a tool call.
pub(crate) fn latest_tool(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<String>, DbError> {
    let Some(newest) = sessions::last_id(db, session)? else { return Ok(None) };
    let found = db.first(
        "select tool from journal
         where id <= $3 and id > $4 and session = $1 and actor = $2
         order by id desc limit 1",
        &[session.into(), actor.into(), newest.into(), (newest - FAR).into()],
        |row| row.opt_text(0),
    )?;
    Ok(found.flatten())
}

/// Whether an actor has used a tool since its turn began. A subagent has one turn.
pub(crate) fn has_used_tools(db: &mut dyn Db, session: &str, actor: &str) -> Result<bool, DbError> {
    let Some(newest) = sessions::last_id(db, session)? else { return Ok(false) };
    let latest = db.first(
        "select tool from journal
         where id <= $3 and id > $4 and session = $1 and actor = $2
           and event in ('PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'UserPromptSubmit', 'SessionStart',
             'Stop', 'SubagentStart')
         order by id desc limit 1",
        &[session.into(), actor.into(), newest.into(), (newest - FAR).into()],
        |row| row.opt_text(0),
    )?;
    Ok(latest.flatten().is_some())
}
