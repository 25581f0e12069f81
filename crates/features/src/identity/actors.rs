//! The SQL of agents and their subagents.

use substrate_core::{Db, DbError, Memorable, Param, Row, SafeId, Timestamp};

use super::{book, shells};

/// Adds an agent and returns its id, or `None` if the name is taken.
pub(super) fn add_agent(
    db: &mut dyn Db,
    name: &str,
    project: &str,
    now: Timestamp,
) -> Result<Option<i64>, DbError> {
    db.first(
        "insert into agents (name, name_key, project, made_ms) values ($1, $2, $3, $4)
         on conflict (name_key) do nothing returning id",
        &[name.into(), book::name_key(name).as_str().into(), project.into(), now.0.into()],
        |row| row.int(0),
    )
}

/// Renames the agent. `false` if the name is taken.
pub(super) fn rename(db: &mut dyn Db, agent: i64, name: &str) -> Result<bool, DbError> {
    let key = book::name_key(name);
    let params: [Param<'_>; 3] = [agent.into(), name.into(), key.as_str().into()];
    let n = db.execute(
        "update agents set name = $2, name_key = $3
         where id = $1 and not exists (select 1 from agents where name_key = $3 and id <> $1)",
        &params,
    )?;
    Ok(n > 0)
}

/// Deletes the agent and frees its name. Its messages keep their sender.
pub(super) fn delete_agent(db: &mut dyn Db, agent: i64, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update agents set deleted_ms = $2, name_key = name_key || '#' || id where id = $1",
        &[agent.into(), now.0.into()],
    )?;
    Ok(())
}

/// An agent, whether or not it ever had a session.
pub(super) struct KnownAgent {
    pub(super) agent: i64,
    pub(super) name: String,
    pub(super) project: String,
    pub(super) last: Option<Timestamp>,
}

/// The newest agents, at most 1,000, by name.
pub(super) fn agents(db: &mut dyn Db) -> Result<Vec<KnownAgent>, DbError> {
    let mut rows = db.rows(
        "select a.id, a.name, a.project, (select max(s.last_ms) from agent_sessions s where s.agent = a.id)
         from agents a where a.deleted_ms is null and a.machine is null and a.id > 2 order by a.id desc limit 1000",
        &[],
        |row| {
            Ok(KnownAgent {
                agent: row.int(0)?,
                name: row.text(1)?,
                project: row.text(2)?,
                last: row.opt_int(3)?.map(Timestamp),
            })
        },
    )?;
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rows)
}

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
    shells::end_calls(db, session, actor, now)
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
