//! The SQL of context windows.

use substrate_core::{Db, DbError, Row, Timestamp};

use crate::identity::book::MAIN;

/// An actor's open window, and the effort of its session, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) window: i64,
    /// Tool calls since the last log entry.
    pub(super) n_calls: i64,
    /// How often it was refused a call since then.
    pub(super) n_denied: i64,
    /// Which warning about its context it has had.
    pub(super) level: i64,
    /// The way out was put before a person, and nothing came of it yet.
    pub(super) is_refused: bool,
    /// It has used a shell, so it can log.
    pub(super) has_shell: bool,
    /// How often it has tried to log since it was refused a call, and nothing was logged.
    pub(super) n_tried: i64,
    /// It goes on without a log entry.
    pub(super) is_let_go: bool,
    /// The teammates that have nothing to do, a line each; it was not told yet.
    pub(super) idle: String,
    pub(super) effort: Option<Current>,
}

/// What a tool call must know of an effort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) id: i64,
    pub(super) skill: String,
    pub(super) phase: String,
    pub(super) warn_at: i64,
    pub(super) block_at: i64,
    /// Something waits to be told: an injection, a file, or what an earlier window left.
    pub(super) has_news: bool,
    /// The rules of its skill, as JSON; empty where it has none.
    pub(super) guards: String,
}

/// A window as lists show it.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) id: i64,
    pub(super) session: String,
    pub(super) actor: String,
    pub(super) kind: String,
    pub(super) agent: i64,
    pub(super) effort: Option<i64>,
    pub(super) prev: Option<i64>,
    pub(super) parent: Option<i64>,
    pub(super) n_calls: i64,
    pub(super) context_used: Option<i64>,
    pub(super) started: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) ended_why: Option<String>,
}

/// A window that is going to begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'a> {
    pub(super) session: &'a str,
    pub(super) actor: &'a str,
    pub(super) kind: &'a str,
    pub(super) agent: i64,
    pub(super) project: &'a str,
    pub(super) effort: Option<i64>,
    pub(super) parent: Option<i64>,
}

/// An effort counts only for the agent that started or resumed it last.
pub(super) const STANDING: &str =
    "select w.id, w.n_calls, w.n_denied, w.level, w.refused_ms, e.id, e.skill, e.phase, e.warn_at, e.block_at,
       case when e.n_pending > 0
         or (e.payload is not null and e.payload_told_ms is null and e.payload_by <> w.id) then 1 else 0 end,
       e.guards, w.has_shell, w.n_tried, w.let_go, w.idle
     from windows w
     left join windows m on m.session = w.session and m.actor = 'main' and m.ended_ms is null
     left join efforts e on e.id = m.effort and e.agent = m.agent and e.finished_ms is null
     where w.session = $1 and w.actor = $2 and w.ended_ms is null";

pub(super) fn standing(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Standing>, DbError> {
    db.first(STANDING, &[session.into(), actor.into()], |row| {
        let effort = match row.opt_int(5)? {
            None => None,
            Some(id) => Some(Current {
                id,
                skill: row.text(6)?,
                phase: row.text(7)?,
                warn_at: row.int(8)?,
                block_at: row.int(9)?,
                has_news: row.int(10)? == 1,
                guards: row.text(11)?,
            }),
        };
        Ok(Standing {
            window: row.int(0)?,
            n_calls: row.int(1)?,
            n_denied: row.int(2)?,
            level: row.int(3)?,
            is_refused: row.opt_int(4)?.is_some(),
            has_shell: row.int(12)? == 1,
            n_tried: row.int(13)?,
            is_let_go: row.int(14)? == 1,
            idle: row.text(15)?,
            effort,
        })
    })
}

/// Begins a window after the one before it: the latest of its effort, or else of its session.
pub(super) fn begin(db: &mut dyn Db, new: &New<'_>, now: Timestamp) -> Result<i64, DbError> {
    let prev = if new.actor == MAIN {
        let of_effort = match new.effort {
            Some(effort) => db.first(
                "select id from windows where effort = $1 and actor = 'main' order by id desc limit 1",
                &[effort.into()],
                |row| row.int(0),
            )?,
            None => None,
        };
        let of_session =
            "select id from windows where session = $1 and actor = 'main' order by id desc limit 1";
        match of_effort {
            Some(prev) => Some(prev),
            None => db.first(of_session, &[new.session.into()], |row| row.int(0))?,
        }
    } else {
        None
    };
    let id = db.first(
        "insert into windows (session, actor, kind, agent, project, effort, prev, parent, n_calls, n_denied, level,
           started_ms, has_shell)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, $9,
           coalesce((select has_shell from windows where session = $1 and actor = $2 order by id desc limit 1), 0))
         returning id",
        &[
            new.session.into(),
            new.actor.into(),
            new.kind.into(),
            new.agent.into(),
            new.project.into(),
            new.effort.into(),
            prev.into(),
            new.parent.into(),
            now.0.into(),
        ],
        |row| row.int(0),
    )?;
    id.ok_or_else(|| DbError::Other { detail: "a window was not made".to_owned() })
}

pub(super) fn end(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    why: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update windows set ended_ms = $4, ended_why = $3 where session = $1 and actor = $2 and ended_ms is null",
        &[session.into(), actor.into(), why.into(), now.0.into()],
    )?;
    Ok(())
}

/// Ends all windows of a session.
pub(super) fn end_all(
    db: &mut dyn Db,
    session: &str,
    why: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update windows set ended_ms = $3, ended_why = $2 where session = $1 and ended_ms is null",
        &[session.into(), why.into(), now.0.into()],
    )?;
    Ok(())
}

/// An agent begins a session: whatever it had open elsewhere is over, for an agent is never in two places.
pub(super) fn end_elsewhere(
    db: &mut dyn Db,
    agent: i64,
    session: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update windows set ended_ms = $3, ended_why = 'gone'
         where agent = $1 and session <> $2 and ended_ms is null",
        &[agent.into(), session.into(), now.0.into()],
    )?;
    Ok(())
}

/// A session's main thread works on that effort from now on, or on none; the counting begins anew.
pub(super) fn work_on(db: &mut dyn Db, session: &str, effort: Option<i64>) -> Result<(), DbError> {
    db.execute(
        "update windows set effort = $2, n_calls = 0, n_denied = 0, level = 0, refused_ms = null, n_tried = 0, let_go = 0
         where session = $1 and actor = 'main' and ended_ms is null",
        &[session.into(), effort.into()],
    )?;
    Ok(())
}

/// The skill that a session's main thread ran last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillUse {
    pub(super) skill: String,
    pub(super) prompt: String,
    pub(super) at: Timestamp,
}

pub(super) fn skill_use(db: &mut dyn Db, session: &str) -> Result<Option<SkillUse>, DbError> {
    let found = db.first(
        "select skill, skill_prompt, skill_ms from windows
         where session = $1 and actor = 'main' and ended_ms is null",
        &[session.into()],
        |row| Ok((row.text(0)?, row.text(1)?, row.opt_int(2)?)),
    )?;
    Ok(found
        .and_then(|(skill, prompt, at)| at.map(|at| SkillUse { skill, prompt, at: Timestamp(at) })))
}

pub(super) fn used_skill(
    db: &mut dyn Db,
    session: &str,
    skill: &str,
    prompt: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update windows set skill = $2, skill_prompt = $3, skill_ms = $4
         where session = $1 and actor = 'main' and ended_ms is null",
        &[session.into(), skill.into(), prompt.into(), now.0.into()],
    )?;
    Ok(())
}

/// How many teammates are noted for a main thread.
const MAX_IDLE: i64 = 1_000;

/// A teammate has nothing to do: the main thread is told at its next event.
pub(super) fn idle(db: &mut dyn Db, session: &str, name: &str) -> Result<(), DbError> {
    db.execute(
        "update windows set idle = idle || $2 || char(10)
         where session = $1 and actor = 'main' and ended_ms is null and length(idle) < $3
           and instr(char(10) || idle, char(10) || $2 || char(10)) = 0",
        &[session.into(), name.into(), MAX_IDLE.into()],
    )?;
    Ok(())
}

/// The main thread was told.
pub(super) fn idle_told(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set idle = '' where id = $1", &[window.into()])?;
    Ok(())
}

/// What a tool call changes.
pub(super) fn counted(
    db: &mut dyn Db,
    window: i64,
    (n_calls, n_denied, level): (i64, i64, i64),
    context_used: Option<i64>,
) -> Result<(), DbError> {
    db.execute(
        "update windows set n_calls = $2, n_denied = $3, level = $4, context_used = coalesce($5, context_used)
         where id = $1",
        &[window.into(), n_calls.into(), n_denied.into(), level.into(), context_used.into()],
    )?;
    Ok(())
}

/// When a refusal was counted last.
pub(super) fn denied(db: &mut dyn Db, window: i64) -> Result<Option<Timestamp>, DbError> {
    let found =
        db.first("select denied_ms from windows where id = $1", &[window.into()], |row| {
            row.opt_int(0)
        })?;
    Ok(found.flatten().map(Timestamp))
}

/// A call was refused.
pub(super) fn deny(db: &mut dyn Db, window: i64, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update windows set n_denied = n_denied + 1, denied_ms = $2 where id = $1",
        &[window.into(), now.0.into()],
    )?;
    Ok(())
}

/// It has used a shell.
pub(super) fn has_shell(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set has_shell = 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// It is about to log, after it was refused a call.
pub(super) fn tries(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set n_tried = n_tried + 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// It goes on without an entry.
pub(super) fn let_go(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set let_go = 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// A log entry: the counting begins anew.
pub(super) fn logged(db: &mut dyn Db, session: &str, actor: &str) -> Result<(), DbError> {
    db.execute(
        "update windows set n_calls = 0, n_denied = 0, refused_ms = null, n_tried = 0, let_go = 0
         where session = $1 and actor = $2 and ended_ms is null",
        &[session.into(), actor.into()],
    )?;
    Ok(())
}

/// The way out of a refusal was put before a person, or (`None`) there is a new prompt.
pub(super) fn set_refused(
    db: &mut dyn Db,
    window: i64,
    at: Option<Timestamp>,
) -> Result<(), DbError> {
    db.execute(
        "update windows set refused_ms = $2, n_denied = 0, n_tried = 0, let_go = 0 where id = $1",
        &[window.into(), at.map(|at| at.0).into()],
    )?;
    Ok(())
}

macro_rules! columns {
    () => {
        "id, session, actor, kind, agent, effort, prev, parent, n_calls, context_used, started_ms, ended_ms, ended_why"
    };
}

/// The newest windows: of a project or of all.
pub(super) fn list(
    db: &mut dyn Db,
    project: Option<&str>,
    only_open: bool,
    limit: i64,
) -> Result<Vec<Window>, DbError> {
    let sql = concat!(
        "select ",
        columns!(),
        " from windows where ($1 is null or project = $1) and ($2 = 0 or ended_ms is null)
         order by id desc limit $3"
    );
    db.rows(sql, &[project.into(), i64::from(only_open).into(), limit.into()], window)
}

/// The windows of a session, in their order.
pub(super) fn of_session(db: &mut dyn Db, session: &str) -> Result<Vec<Window>, DbError> {
    let sql =
        concat!("select ", columns!(), " from windows where session = $1 order by id limit 500");
    db.rows(sql, &[session.into()], window)
}

/// The latest window of an actor, open or not.
pub(super) fn latest(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Window>, DbError> {
    let sql = concat!(
        "select ",
        columns!(),
        " from windows where session = $1 and actor = $2 order by id desc limit 1"
    );
    db.first(sql, &[session.into(), actor.into()], window)
}

/// The windows of an effort, in their order.
pub(super) fn of_effort(db: &mut dyn Db, effort: i64) -> Result<Vec<Window>, DbError> {
    let sql =
        concat!("select ", columns!(), " from windows where effort = $1 order by id limit 500");
    db.rows(sql, &[effort.into()], window)
}

/// Forgets windows without an effort that ended before then. How many.
pub(super) fn forget_older(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<usize, DbError> {
    db.execute(
        "delete from windows where id in (select id from windows
           where effort is null and ended_ms is not null and ended_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}

fn window(row: &dyn Row) -> Result<Window, DbError> {
    Ok(Window {
        id: row.int(0)?,
        session: row.text(1)?,
        actor: row.text(2)?,
        kind: row.text(3)?,
        agent: row.int(4)?,
        effort: row.opt_int(5)?,
        prev: row.opt_int(6)?,
        parent: row.opt_int(7)?,
        n_calls: row.int(8)?,
        context_used: row.opt_int(9)?,
        started: Timestamp(row.int(10)?),
        ended: row.opt_int(11)?.map(Timestamp),
        ended_why: row.opt_text(12)?,
    })
}
