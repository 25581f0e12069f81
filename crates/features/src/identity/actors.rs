//! The SQL of subagents and of shell calls.

use substrate_core::{Db, DbError, Memorable, Row, SafeId, Timestamp};

/// How long a call may run before it counts as lost. The client reports no end when a person presses Esc.
const OPEN_MS: i64 = 60 * 60_000;

/// How long a command may keep running in the background after its call has ended.
const BACKGROUND_MS: i64 = 10 * 60_000;

/// One subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subagent {
    pub(super) name: String,
    pub(super) last: Timestamp,
    pub(super) has_ended: bool,
}

const SUBAGENT: Memorable = Memorable { name: "identity subagent", tables: &["agent_actors"] };

pub(super) fn one(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
) -> Result<Option<Subagent>, DbError> {
    let key = [session.as_str(), actor];
    Ok((*db.remembered(SUBAGENT, key, |db| read_one(db, key))?).clone())
}

fn read_one(db: &mut dyn Db, [session, actor]: [&str; 2]) -> Result<Option<Subagent>, DbError> {
    db.first(
        "select name, last_ms, ended_ms from agent_actors where session = $1 and actor = $2",
        &[session.into(), actor.into()],
        sub,
    )
}

/// The agent's subagents, most recently heard of first.
pub(super) fn of_agent(db: &mut dyn Db, agent: i64) -> Result<Vec<Subagent>, DbError> {
    db.rows(
        "select name, last_ms, ended_ms from agent_actors where agent = $1 order by last_ms desc, ordinal desc limit 200",
        &[agent.into()],
        sub,
    )
}

fn sub(row: &dyn Row) -> Result<Subagent, DbError> {
    Ok(Subagent {
        name: row.text(0)?,
        last: Timestamp(row.int(1)?),
        has_ended: row.opt_int(2)?.is_some(),
    })
}

/// Adds a subagent. Its name is its kind and the next number of that kind within the agent.
pub(super) fn add(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    agent: i64,
    kind: &str,
    now: Timestamp,
) -> Result<String, DbError> {
    let highest = db.first(
        "select max(ordinal) from agent_actors where agent = $1 and kind = $2",
        &[agent.into(), kind.into()],
        |row| row.opt_int(0),
    )?;
    let ordinal = highest.flatten().unwrap_or(0) + 1;
    let name = format!("{kind}-{ordinal}");
    db.execute(
        "insert into agent_actors (session, actor, agent, name, kind, ordinal, started_ms, last_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $7)",
        &[
            session.as_str().into(),
            actor.into(),
            agent.into(),
            name.as_str().into(),
            kind.into(),
            ordinal.into(),
            now.0.into(),
        ],
    )?;
    Ok(name)
}

/// Notes a sign of life of the subagent, which also revokes its end.
pub(super) fn renew(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update agent_actors set last_ms = $3, ended_ms = null where session = $1 and actor = $2",
        &[session.as_str().into(), actor.into(), now.0.into()],
    )?;
    Ok(())
}

/// Ends the subagent and its calls.
pub(super) fn end(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update agent_actors set ended_ms = $3 where session = $1 and actor = $2 and ended_ms is null",
        &[session.as_str().into(), actor.into(), now.0.into()],
    )?;
    end_calls(db, session, actor, now)
}

/// Ends the calls of an actor. Commands may keep running in the background.
pub(super) fn end_calls(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let params = [session.as_str().into(), actor.into(), now.0.into()];
    db.execute(
        "update shell_calls set ended_ms = $3 where session = $1 and actor = $2 and ended_ms is null",
        &params,
    )?;
    Ok(())
}

/// Ends all subagents and calls of a session.
pub(super) fn end_all(db: &mut dyn Db, session: &SafeId, now: Timestamp) -> Result<(), DbError> {
    let params = [session.as_str().into(), now.0.into()];
    db.execute(
        "update agent_actors set ended_ms = $2 where session = $1 and ended_ms is null",
        &params,
    )?;
    db.execute(
        "update shell_calls set ended_ms = $2 where session = $1 and ended_ms is null",
        &params,
    )?;
    Ok(())
}

/// A shell call that may still be running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellCall {
    /// The subagent's own name for mail; empty for the main thread.
    pub(super) sub: String,
    /// What `shells::mark` made of its command.
    pub(super) mark: String,
    pub(super) is_open: bool,
}

/// A shell call that is about to begin.
pub(super) struct NewShellCall<'a> {
    pub(super) use_id: &'a str,
    pub(super) actor: &'a str,
    pub(super) mark: &'a str,
    /// It keeps running after its call has ended.
    pub(super) is_background: bool,
}

pub(super) fn begin_call(
    db: &mut dyn Db,
    session: &SafeId,
    new: &NewShellCall<'_>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into shell_calls (session, use_id, actor, command, is_background, began_ms)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (session, use_id) do update
         set command = excluded.command, is_background = excluded.is_background,
           began_ms = excluded.began_ms, ended_ms = null",
        &[
            session.as_str().into(),
            new.use_id.into(),
            new.actor.into(),
            new.mark.into(),
            i64::from(new.is_background).into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// Ends the call. If `goes_on`, its command keeps running in the background.
pub(super) fn end_call(
    db: &mut dyn Db,
    session: &SafeId,
    use_id: &str,
    goes_on: bool,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update shell_calls set ended_ms = $3, is_background = case when $4 = 1 then 1 else is_background end
         where session = $1 and use_id = $2",
        &[session.as_str().into(), use_id.into(), now.0.into(), i64::from(goes_on).into()],
    )?;
    Ok(())
}

/// The calls of a session whose command may be running now.
pub(super) fn running_calls(
    db: &mut dyn Db,
    session: &SafeId,
    now: Timestamp,
) -> Result<Vec<ShellCall>, DbError> {
    db.rows(
        "select coalesce(a.name, ''), c.command, c.ended_ms from shell_calls c
         left join agent_actors a on a.session = c.session and a.actor = c.actor
         where c.session = $1 and ((c.ended_ms is null and c.began_ms >= $2) or (c.is_background = 1 and c.ended_ms >= $3))
         order by c.began_ms desc limit 500",
        &[session.as_str().into(), now.plus_ms(-OPEN_MS).0.into(), now.plus_ms(-BACKGROUND_MS).0.into()],
        |row| {
            Ok(ShellCall { sub: row.text(0)?, mark: row.text(1)?, is_open: row.opt_int(2)?.is_none() })
        },
    )
}

/// Forgets at most `limit` calls that began before then, and counts them.
pub(super) fn forget_calls(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    db.execute(
        "delete from shell_calls where (session, use_id) in
           (select session, use_id from shell_calls where began_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}
