//! The tables and the SQL of usage.

use substrate_core::dialect::Tokens;
use substrate_core::{Db, DbError, Migration, Timestamp};

use crate::retention::Expiring;

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        about: "transcripts and how far they were read, answers that were counted, and usage by day",
        sql: "create table cost_files (
            path text primary key,
            session text not null,
            actor text not null,
            agent text not null,
            sub text not null,
            project text not null,
            client text not null,
            read_to bigint not null,
            due_ms bigint,
            used_ms bigint not null
          );
          create index cost_files_due on cost_files (due_ms) where due_ms is not null;
          create index cost_files_used on cost_files (used_ms);
          create table cost_answers (
            id text primary key,
            at_ms bigint not null
          );
          create index cost_answers_at on cost_answers (at_ms);
          create table cost_usage (
            day text not null,
            agent text not null,
            sub text not null,
            project text not null,
            model text not null,
            n_answers bigint not null,
            input bigint not null,
            output bigint not null,
            cache_read bigint not null,
            cache_5m bigint not null,
            cache_1h bigint not null,
            primary key (day, agent, sub, project, model)
          );",
    },
    Migration {
        about: "how full the context of an agent was at each answer",
        sql: "create table cost_context (
            agent text not null,
            at_ms bigint not null,
            tokens bigint not null,
            primary key (agent, at_ms)
          );
          create index cost_context_at on cost_context (at_ms);",
    },
];

/// A transcript, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) path: String,
    pub(super) session: String,
    pub(super) actor: String,
    pub(super) agent: String,
    /// The subagent's own name; empty for the main thread.
    pub(super) sub: String,
    pub(super) project: String,
    pub(super) client: String,
    pub(super) read_to: i64,
}

/// Notes that a transcript is to be read then.
pub(super) fn due(
    db: &mut dyn Db,
    file: &Transcript,
    at: Timestamp,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into cost_files (path, session, actor, agent, sub, project, client, read_to, due_ms, used_ms)
         values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9)
         on conflict (path) do update set agent = excluded.agent, sub = excluded.sub, project = excluded.project,
           due_ms = excluded.due_ms, used_ms = excluded.used_ms",
        &[
            file.path.as_str().into(),
            file.session.as_str().into(),
            file.actor.as_str().into(),
            file.agent.as_str().into(),
            file.sub.as_str().into(),
            file.project.as_str().into(),
            file.client.as_str().into(),
            at.0.into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

pub(super) const DUE: &str =
    "select path, session, actor, agent, sub, project, client, read_to from cost_files
     where due_ms is not null and due_ms <= $1 order by due_ms limit $2";

pub(super) fn all_due(
    db: &mut dyn Db,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Transcript>, DbError> {
    db.rows(DUE, &[now.0.into(), limit.into()], |row| {
        Ok(Transcript {
            path: row.text(0)?,
            session: row.text(1)?,
            actor: row.text(2)?,
            agent: row.text(3)?,
            sub: row.text(4)?,
            project: row.text(5)?,
            client: row.text(6)?,
            read_to: row.int(7)?,
        })
    })
}

/// Whether any transcript waits to be read, now or a moment later.
pub(super) fn is_any_due(db: &mut dyn Db) -> Result<bool, DbError> {
    let sql = "select 1 from cost_files where due_ms is not null limit 1";
    Ok(db.first(sql, &[], |row| row.int(0))?.is_some())
}

/// How far it was read. It stays due if there is more.
pub(super) fn read_to(db: &mut dyn Db, path: &str, to: i64, is_more: bool) -> Result<(), DbError> {
    let due = if is_more { "due_ms" } else { "null" };
    db.execute(
        &format!("update cost_files set read_to = $2, due_ms = {due} where path = $1"),
        &[path.into(), to.into()],
    )?;
    Ok(())
}

/// Counts an answer. `false`: it was counted before.
pub(super) fn is_new(db: &mut dyn Db, id: &str, at: Timestamp) -> Result<bool, DbError> {
    let sql = "insert into cost_answers (id, at_ms) values ($1, $2) on conflict (id) do nothing";
    Ok(db.execute(sql, &[id.into(), at.0.into()])? > 0)
}

/// Usage of one actor with one model in one project on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsageRow {
    pub(super) day: String,
    pub(super) agent: String,
    pub(super) sub: String,
    pub(super) project: String,
    pub(super) model: String,
    pub(super) n_answers: i64,
    pub(super) tokens: Tokens,
}

pub(super) fn add(db: &mut dyn Db, row: &UsageRow) -> Result<(), DbError> {
    let Tokens { input, output, cache_read, cache_5m, cache_1h } = row.tokens;
    db.execute(
        "insert into cost_usage (day, agent, sub, project, model, n_answers, input, output, cache_read, cache_5m, cache_1h)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (day, agent, sub, project, model) do update set n_answers = cost_usage.n_answers + excluded.n_answers,
           input = cost_usage.input + excluded.input, output = cost_usage.output + excluded.output,
           cache_read = cost_usage.cache_read + excluded.cache_read, cache_5m = cost_usage.cache_5m + excluded.cache_5m,
           cache_1h = cost_usage.cache_1h + excluded.cache_1h",
        &[
            row.day.as_str().into(),
            row.agent.as_str().into(),
            row.sub.as_str().into(),
            row.project.as_str().into(),
            row.model.as_str().into(),
            row.n_answers.into(),
            input.into(),
            output.into(),
            cache_read.into(),
            cache_5m.into(),
            cache_1h.into(),
        ],
    )?;
    Ok(())
}

pub(super) const SINCE: &str = "select day, agent, sub, project, model, n_answers, input, output, cache_read, cache_5m, cache_1h
     from cost_usage where day >= $1 order by day, agent, sub, project, model limit 100000";

/// Everything since that day, oldest first.
pub(super) fn since(db: &mut dyn Db, day: &str) -> Result<Vec<UsageRow>, DbError> {
    db.rows(SINCE, &[day.into()], |row| {
        Ok(UsageRow {
            day: row.text(0)?,
            agent: row.text(1)?,
            sub: row.text(2)?,
            project: row.text(3)?,
            model: row.text(4)?,
            n_answers: row.int(5)?,
            tokens: Tokens {
                input: row.int(6)?,
                output: row.int(7)?,
                cache_read: row.int(8)?,
                cache_5m: row.int(9)?,
                cache_1h: row.int(10)?,
            },
        })
    })
}

/// Notes how much a main thread's model was given for an answer.
pub(super) fn add_context(
    db: &mut dyn Db,
    agent: &str,
    at: Timestamp,
    tokens: i64,
) -> Result<(), DbError> {
    db.execute(
        "insert into cost_context (agent, at_ms, tokens) values ($1, $2, $3) on conflict (agent, at_ms) do nothing",
        &[agent.into(), at.0.into(), tokens.into()],
    )?;
    Ok(())
}

pub(super) const CONTEXT: &str = "select at_ms, tokens from cost_context
     where agent = $1 and at_ms >= $2 order by at_ms desc limit $3";

/// How full an agent's context was lately, oldest first.
pub(crate) fn context(
    db: &mut dyn Db,
    agent: &str,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(i64, i64)>, DbError> {
    let params = [agent.into(), since.0.into(), limit.into()];
    let mut found = db.rows(CONTEXT, &params, |row| Ok((row.int(0)?, row.int(1)?)))?;
    found.reverse();
    Ok(found)
}

pub(super) const CONTEXT_AT: &str = "select tokens from cost_context
     where agent = $1 and at_ms <= $2 order by at_ms desc limit 1";

/// How full it was at a moment.
pub(crate) fn context_at(
    db: &mut dyn Db,
    agent: &str,
    at: Timestamp,
) -> Result<Option<i64>, DbError> {
    db.first(CONTEXT_AT, &[agent.into(), at.0.into()], |row| row.int(0))
}

/// Points of a picture that no page draws any more.
pub(super) const CONTEXTS: Expiring =
    Expiring { table: "cost_context", key: "agent, at_ms", when: "at_ms < $1" };

/// Answers that no transcript tells of any more.
pub(super) const ANSWERS: Expiring =
    Expiring { table: "cost_answers", key: "id", when: "at_ms < $1" };

/// Transcripts that have not grown for long.
pub(super) const FILES: Expiring =
    Expiring { table: "cost_files", key: "path", when: "used_ms < $1" };
