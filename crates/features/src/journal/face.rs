//! What other features may ask the journal.

use substrate_core::{Db, DbError, Timestamp};

use super::{ops, sessions};

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
