//! The SQL of efforts and tasks.

pub(crate) mod messages;
pub(crate) mod windows;

use substrate_core::{Db, DbError, Row, Timestamp};

use super::config::Config;

/// One use of a skill.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    pub(crate) id: i64,
    pub(crate) task: Task,
    pub(crate) project: String,
    pub(crate) agent: i64,
    pub(crate) skill: String,
    pub(crate) mode: String,
    pub(crate) ordinal: i64,
    pub(crate) phase: String,
    pub(crate) config: Config,
    pub(crate) block_at: i64,
    /// What a window left for the next one, and which window left it.
    pub(crate) payload: Option<String>,
    pub(crate) payload_by: Option<i64>,
    pub(crate) payload_at: Option<Timestamp>,
    pub(crate) payload_claimed: Option<Timestamp>,
    pub(crate) payload_told: Option<Timestamp>,
    pub(crate) started: Timestamp,
    /// When its agent last logged something or went on with it.
    pub(crate) used: Timestamp,
    pub(crate) finished: Option<Timestamp>,
}

/// A folder that holds the artifacts of efforts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// The whole path.
    pub(crate) dir: String,
    /// The working tree, and the path below it.
    pub(crate) root: String,
    pub(crate) relative: String,
    pub(crate) title: String,
    pub(crate) keywords: String,
    pub(crate) made: Timestamp,
}

/// An effort that is about to begin.
#[derive(Debug)]
pub(crate) struct NewEffort<'a> {
    pub(crate) task: &'a str,
    pub(crate) project: &'a str,
    pub(crate) agent: i64,
    pub(crate) skill: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) phase: &'a str,
    pub(crate) config: &'a Config,
    pub(crate) warn_at: i64,
    pub(crate) block_at: i64,
}

macro_rules! columns {
    () => {
        "e.id, e.task, e.project, e.agent, e.skill, e.mode, e.ordinal, e.phase, e.metadata, e.block_at, e.payload,
         e.payload_by, e.payload_ms, e.payload_claimed_ms, e.payload_told_ms, e.started_ms, e.finished_ms,
         t.root, t.relative, t.title, t.keywords, t.made_ms, e.used_ms"
    };
}

/// Begins an effort and returns its number.
pub(crate) fn begin(db: &mut dyn Db, new: &NewEffort<'_>, now: Timestamp) -> Result<i64, DbError> {
    let metadata = serde_json::to_string(new.config)
        .map_err(|error| DbError::Other { detail: format!("an effort's metadata: {error}") })?;
    // In a column of their own, because every tool call reads them.
    let guards = match new.config.guards.as_slice() {
        [] => String::new(),
        guards => serde_json::to_string(guards)
            .map_err(|error| DbError::Other { detail: format!("a skill's guards: {error}") })?,
    };
    let id = db.first(
        "insert into efforts (task, project, agent, skill, mode, ordinal, phase, metadata, warn_at, block_at, n_pending,
           started_ms, used_ms, guards)
         select $1, $2, $3, $4, $5, coalesce(max(ordinal), 0) + 1, $6, $7, $8, $9, 0, $10, $10, $11
         from efforts where task = $1
         returning id",
        &[
            new.task.into(),
            new.project.into(),
            new.agent.into(),
            new.skill.into(),
            new.mode.into(),
            new.phase.into(),
            metadata.as_str().into(),
            new.warn_at.into(),
            new.block_at.into(),
            now.0.into(),
            guards.as_str().into(),
        ],
        |row| row.int(0),
    )?;
    id.ok_or_else(|| DbError::Other { detail: "an effort was not made".to_owned() })
}

pub(crate) fn one(db: &mut dyn Db, id: i64) -> Result<Option<Effort>, DbError> {
    let sql = concat!(
        "select ",
        columns!(),
        " from efforts e join tasks t on t.dir = e.task where e.id = $1"
    );
    db.first(sql, &[id.into()], effort)
}

pub(crate) const ACTIVE: &str =
    "select id from efforts where agent = $1 and project = $2 and finished_ms is null
     order by used_ms desc limit 1";

/// The unfinished effort that an agent worked on last in a project.
pub(crate) fn active(db: &mut dyn Db, agent: i64, project: &str) -> Result<Option<i64>, DbError> {
    db.first(ACTIVE, &[agent.into(), project.into()], |row| row.int(0))
}

pub(crate) const UNFINISHED: &str =
    "select id, agent from efforts where project = $1 and finished_ms is null and ($2 is null or skill = $2)
     order by used_ms desc limit 50";

/// A project's unfinished efforts with their agents, the most recently used first. Of one skill, or of all.
pub(crate) fn unfinished(
    db: &mut dyn Db,
    project: &str,
    skill: Option<&str>,
) -> Result<Vec<(i64, i64)>, DbError> {
    db.rows(UNFINISHED, &[project.into(), skill.into()], |row| Ok((row.int(0)?, row.int(1)?)))
}

pub(crate) const LEFT_OPEN: &str = concat!(
    "select ",
    columns!(),
    " from efforts e join tasks t on t.dir = e.task
     where e.finished_ms is null and e.used_ms >= $1 order by e.id desc limit $2"
);

/// The newest unfinished efforts that were used since then.
pub(crate) fn left_open(
    db: &mut dyn Db,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<Effort>, DbError> {
    db.rows(LEFT_OPEN, &[since.0.into(), limit.into()], effort)
}

/// Whether an agent has an effort, finished or not.
pub(crate) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    let sql = "select 1 from efforts where agent = $1 limit 1";
    Ok(db.first(sql, &[agent.into()], |row| row.int(0))?.is_some())
}

/// The number of the effort that begins next.
pub(crate) fn next_id(db: &mut dyn Db) -> Result<i64, DbError> {
    let found = db.first("select coalesce(max(id), 0) + 1 from efforts", &[], |row| row.int(0))?;
    Ok(found.unwrap_or(1))
}

/// The newest efforts, of one project or of all.
pub(crate) fn list(
    db: &mut dyn Db,
    project: Option<&str>,
    with_finished: bool,
    limit: i64,
) -> Result<Vec<Effort>, DbError> {
    let sql = concat!(
        "select ",
        columns!(),
        " from efforts e join tasks t on t.dir = e.task
         where ($1 is null or e.project = $1) and ($2 = 1 or e.finished_ms is null)
         order by e.id desc limit $3"
    );
    db.rows(sql, &[project.into(), i64::from(with_finished).into(), limit.into()], effort)
}

/// The efforts of a task, in order.
pub(crate) fn of_task(db: &mut dyn Db, dir: &str) -> Result<Vec<Effort>, DbError> {
    let sql = concat!(
        "select ",
        columns!(),
        " from efforts e join tasks t on t.dir = e.task where e.task = $1 order by e.ordinal limit 500"
    );
    db.rows(sql, &[dir.into()], effort)
}

pub(crate) fn set_phase(db: &mut dyn Db, id: i64, phase: &str) -> Result<(), DbError> {
    db.execute("update efforts set phase = $2 where id = $1", &[id.into(), phase.into()])?;
    Ok(())
}

pub(crate) fn set_config(db: &mut dyn Db, id: i64, config: &Config) -> Result<(), DbError> {
    let metadata = serde_json::to_string(config)
        .map_err(|error| DbError::Other { detail: format!("an effort's metadata: {error}") })?;
    db.execute(
        "update efforts set metadata = $2 where id = $1",
        &[id.into(), metadata.as_str().into()],
    )?;
    Ok(())
}

/// The agent goes on with the effort, or takes it over.
pub(crate) fn used(db: &mut dyn Db, id: i64, agent: i64, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update efforts set agent = $2, used_ms = $3 where id = $1",
        &[id.into(), agent.into(), now.0.into()],
    )?;
    Ok(())
}

pub(crate) fn finish(db: &mut dyn Db, id: i64, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update efforts set finished_ms = $2, n_pending = 0 where id = $1",
        &[id.into(), now.0.into()],
    )?;
    db.execute("delete from effort_pending where effort = $1 and told_ms is null", &[id.into()])?;
    Ok(())
}

/// Makes the task of a folder, unless it exists.
pub(crate) fn ensure_task(db: &mut dyn Db, task: &Task, project: &str) -> Result<(), DbError> {
    db.execute(
        "insert into tasks (dir, project, root, relative, title, keywords, made_ms)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (dir) do nothing",
        &[
            task.dir.as_str().into(),
            project.into(),
            task.root.as_str().into(),
            task.relative.as_str().into(),
            task.title.as_str().into(),
            task.keywords.as_str().into(),
            task.made.0.into(),
        ],
    )?;
    Ok(())
}

pub(crate) fn task(db: &mut dyn Db, dir: &str) -> Result<Option<Task>, DbError> {
    db.first(
        "select dir, root, relative, title, keywords, made_ms from tasks where dir = $1",
        &[dir.into()],
        |row| read_task(row, 0),
    )
}

/// The newest tasks, each with the number of its efforts and of its unfinished ones.
pub(crate) fn tasks(
    db: &mut dyn Db,
    project: Option<&str>,
    limit: i64,
) -> Result<Vec<(Task, i64, i64)>, DbError> {
    db.rows(
        "select t.dir, t.root, t.relative, t.title, t.keywords, t.made_ms,
           (select count(*) from efforts e where e.task = t.dir),
           (select count(*) from efforts e where e.task = t.dir and e.finished_ms is null)
         from tasks t where ($1 is null or t.project = $1) order by t.made_ms desc, t.dir limit $2",
        &[project.into(), limit.into()],
        |row| Ok((read_task(row, 0)?, row.int(6)?, row.int(7)?)),
    )
}

/// Changes the values that are given.
pub(crate) fn set_task(
    db: &mut dyn Db,
    dir: &str,
    title: Option<&str>,
    keywords: Option<&str>,
) -> Result<(), DbError> {
    db.execute(
        "update tasks set title = coalesce($2, title), keywords = coalesce($3, keywords) where dir = $1",
        &[dir.into(), title.into(), keywords.into()],
    )?;
    Ok(())
}

fn effort(row: &dyn Row) -> Result<Effort, DbError> {
    let time = |column: usize| row.opt_int(column).map(|at| at.map(Timestamp));
    let dir = row.text(1)?;
    Ok(Effort {
        id: row.int(0)?,
        project: row.text(2)?,
        agent: row.int(3)?,
        skill: row.text(4)?,
        mode: row.text(5)?,
        ordinal: row.int(6)?,
        phase: row.text(7)?,
        config: serde_json::from_str(&row.text(8)?).unwrap_or_default(),
        block_at: row.int(9)?,
        payload: row.opt_text(10)?,
        payload_by: row.opt_int(11)?,
        payload_at: time(12)?,
        payload_claimed: time(13)?,
        payload_told: time(14)?,
        started: Timestamp(row.int(15)?),
        finished: time(16)?,
        used: Timestamp(row.int(22)?),
        task: Task {
            dir,
            root: row.text(17)?,
            relative: row.text(18)?,
            title: row.text(19)?,
            keywords: row.text(20)?,
            made: Timestamp(row.int(21)?),
        },
    })
}

fn read_task(row: &dyn Row, at: usize) -> Result<Task, DbError> {
    Ok(Task {
        dir: row.text(at)?,
        root: row.text(at + 1)?,
        relative: row.text(at + 2)?,
        title: row.text(at + 3)?,
        keywords: row.text(at + 4)?,
        made: Timestamp(row.int(at + 5)?),
    })
}
