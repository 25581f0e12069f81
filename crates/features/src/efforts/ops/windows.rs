//! The SQL of context windows, and of the files that each has read or changed.

use substrate_core::{Db, DbError, Memorable, Row, Timestamp};

use crate::identity::book::MAIN;
use crate::retention::Expiring;

/// An actor's open window, with the effort of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenWindow {
    pub(crate) id: i64,
    /// Tool calls since the last log entry.
    pub(crate) n_calls: i64,
    /// Calls refused since then.
    pub(crate) n_denied: i64,
    /// The latest warning about its context.
    pub(crate) level: i64,
    /// Its log command was put before a person who has not allowed it.
    pub(crate) is_refused: bool,
    /// It has used a shell, so it can log.
    pub(crate) has_shell: bool,
    /// Attempts to log since a call was refused, none of which logged anything.
    pub(crate) n_tried: i64,
    /// It may go on without a log entry.
    pub(crate) is_let_go: bool,
    /// Idle teammates it has not been told about, one per line.
    pub(crate) idle: String,
    pub(crate) effort: Option<ActiveEffort>,
}

/// What a tool call must know about an effort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActiveEffort {
    pub(crate) id: i64,
    pub(crate) skill: String,
    pub(crate) phase: String,
    pub(crate) warn_at: i64,
    pub(crate) block_at: i64,
    /// Something waits to be told: an injection, a file, or an earlier window's payload.
    pub(crate) has_news: bool,
    /// The skill's guard rules as JSON; empty if it has none.
    pub(crate) guards: String,
}

/// A window, as lists show it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) id: i64,
    pub(crate) session: String,
    pub(crate) actor: String,
    pub(crate) kind: String,
    pub(crate) agent: i64,
    pub(crate) effort: Option<i64>,
    pub(crate) prev: Option<i64>,
    pub(crate) parent: Option<i64>,
    pub(crate) n_calls: i64,
    pub(crate) context_used: Option<i64>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<Timestamp>,
    pub(crate) ended_why: Option<String>,
}

/// A window that is about to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewWindow<'a> {
    pub(crate) session: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) agent: i64,
    pub(crate) project: &'a str,
    pub(crate) effort: Option<i64>,
    pub(crate) parent: Option<i64>,
}

/// An effort counts only for the agent that started or resumed it last.
pub(crate) const OPEN: &str =
    "select w.id, w.n_calls, w.n_denied, w.level, w.refused_ms, e.id, e.skill, e.phase, e.warn_at, e.block_at,
       case when e.n_pending > 0
         or (e.payload is not null and e.payload_told_ms is null and e.payload_by <> w.id) then 1 else 0 end,
       e.guards, w.has_shell, w.n_tried, w.let_go, w.idle
     from windows w
     left join windows m on m.session = w.session and m.actor = 'main' and m.ended_ms is null
     left join efforts e on e.id = m.effort and e.agent = m.agent and e.finished_ms is null
     where w.session = $1 and w.actor = $2 and w.ended_ms is null";

/// Several features ask for it at every tool call.
const OPEN_WINDOW: Memorable = Memorable { name: "open window", tables: &["windows", "efforts"] };

pub(crate) fn open(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<OpenWindow>, DbError> {
    let read = |db: &mut (dyn Db + '_)| read_open(db, session, actor);
    Ok((*db.remembered(OPEN_WINDOW, [session, actor], read)?).clone())
}

fn read_open(db: &mut dyn Db, session: &str, actor: &str) -> Result<Option<OpenWindow>, DbError> {
    db.first(OPEN, &[session.into(), actor.into()], |row| {
        let effort = match row.opt_int(5)? {
            None => None,
            Some(id) => Some(ActiveEffort {
                id,
                skill: row.text(6)?,
                phase: row.text(7)?,
                warn_at: row.int(8)?,
                block_at: row.int(9)?,
                has_news: row.int(10)? == 1,
                guards: row.text(11)?,
            }),
        };
        Ok(OpenWindow {
            id: row.int(0)?,
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

/// Begins a window. It follows the latest window of its effort, or else of its session.
pub(crate) fn begin(db: &mut dyn Db, new: &NewWindow<'_>, now: Timestamp) -> Result<i64, DbError> {
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

pub(crate) fn end(
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
pub(crate) fn end_all(
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

/// Ends an agent's windows in other sessions. An agent is never in two places.
pub(crate) fn end_elsewhere(
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

/// Sets the effort of a session's main thread, and resets its counters.
pub(crate) fn work_on(db: &mut dyn Db, session: &str, effort: Option<i64>) -> Result<(), DbError> {
    db.execute(
        "update windows set effort = $2, n_calls = 0, n_denied = 0, level = 0, refused_ms = null, n_tried = 0, let_go = 0
         where session = $1 and actor = 'main' and ended_ms is null",
        &[session.into(), effort.into()],
    )?;
    Ok(())
}

/// The skill that a session's main thread ran last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastSkill {
    pub(crate) skill: String,
    pub(crate) prompt: String,
    pub(crate) at: Timestamp,
}

pub(crate) fn last_skill(db: &mut dyn Db, session: &str) -> Result<Option<LastSkill>, DbError> {
    let found = db.first(
        "select skill, skill_prompt, skill_ms from windows
         where session = $1 and actor = 'main' and ended_ms is null",
        &[session.into()],
        |row| Ok((row.text(0)?, row.text(1)?, row.opt_int(2)?)),
    )?;
    Ok(found.and_then(|(skill, prompt, at)| {
        at.map(|at| LastSkill { skill, prompt, at: Timestamp(at) })
    }))
}

pub(crate) fn used_skill(
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

/// The longest list of idle teammates, in characters.
const MAX_IDLE: i64 = 1_000;

/// Notes an idle teammate. The main thread is told at its next event.
pub(crate) fn idle(db: &mut dyn Db, session: &str, name: &str) -> Result<(), DbError> {
    db.execute(
        "update windows set idle = idle || $2 || char(10)
         where session = $1 and actor = 'main' and ended_ms is null and length(idle) < $3
           and instr(char(10) || idle, char(10) || $2 || char(10)) = 0",
        &[session.into(), name.into(), MAX_IDLE.into()],
    )?;
    Ok(())
}

/// The main thread was told.
pub(crate) fn idle_told(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set idle = '' where id = $1", &[window.into()])?;
    Ok(())
}

/// Counts a tool call.
pub(crate) fn counted(
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

/// When a refusal was last counted.
pub(crate) fn denied(db: &mut dyn Db, window: i64) -> Result<Option<Timestamp>, DbError> {
    let found =
        db.first("select denied_ms from windows where id = $1", &[window.into()], |row| {
            row.opt_int(0)
        })?;
    Ok(found.flatten().map(Timestamp))
}

/// Counts a refused call.
pub(crate) fn deny(db: &mut dyn Db, window: i64, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update windows set n_denied = n_denied + 1, denied_ms = $2 where id = $1",
        &[window.into(), now.0.into()],
    )?;
    Ok(())
}

/// The actor has used a shell.
pub(crate) fn has_shell(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set has_shell = 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// The actor is about to log, after a call was refused.
pub(crate) fn tries(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set n_tried = n_tried + 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// The actor may go on without an entry.
pub(crate) fn let_go(db: &mut dyn Db, window: i64) -> Result<(), DbError> {
    db.execute("update windows set let_go = 1 where id = $1", &[window.into()])?;
    Ok(())
}

/// Resets the counters after a log entry.
pub(crate) fn logged(db: &mut dyn Db, session: &str, actor: &str) -> Result<(), DbError> {
    db.execute(
        "update windows set n_calls = 0, n_denied = 0, refused_ms = null, n_tried = 0, let_go = 0
         where session = $1 and actor = $2 and ended_ms is null",
        &[session.into(), actor.into()],
    )?;
    Ok(())
}

/// The log command was put before a person, or, with `None`, a new prompt came.
pub(crate) fn set_refused(
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

/// The newest windows, of one project or of all.
pub(crate) fn list(
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

/// The windows of a session, in order.
pub(crate) fn of_session(db: &mut dyn Db, session: &str) -> Result<Vec<Window>, DbError> {
    let sql =
        concat!("select ", columns!(), " from windows where session = $1 order by id limit 500");
    db.rows(sql, &[session.into()], window)
}

/// The latest window of an actor, open or not.
pub(crate) fn latest(
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

/// The windows of an effort, in order.
pub(crate) fn of_effort(db: &mut dyn Db, effort: i64) -> Result<Vec<Window>, DbError> {
    let sql =
        concat!("select ", columns!(), " from windows where effort = $1 order by id limit 500");
    db.rows(sql, &[effort.into()], window)
}

/// Windows that worked on no effort. Those of an effort are kept with it.
pub(crate) const ENDED: Expiring = Expiring {
    table: "windows",
    key: "id",
    when: "effort is null and ended_ms is not null and ended_ms < $1",
};

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

/// The files that are remembered for one window.
const MAX_FILES: i64 = 500;

/// Notes a file in one statement. A known file is not written again.
pub(crate) fn add_file(
    db: &mut dyn Db,
    window: i64,
    path: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into window_files (window_id, path, at_ms) select $1, $2, $3
         where (select count(*) from window_files where window_id = $1) < $4
         on conflict (window_id, path) do nothing",
        &[window.into(), path.into(), now.0.into(), MAX_FILES.into()],
    )?;
    Ok(())
}

/// Copies the files of an actor's open window to the window around it.
pub(crate) fn give_files_to_parent(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<(), DbError> {
    db.execute(
        "insert into window_files (window_id, path, at_ms)
         select w.parent, f.path, f.at_ms from windows w join window_files f on f.window_id = w.id
         where w.session = $1 and w.actor = $2 and w.ended_ms is null and w.parent is not null
         on conflict (window_id, path) do nothing",
        &[session.into(), actor.into()],
    )?;
    Ok(())
}

/// The files of an effort's main windows, the latest first.
pub(crate) fn files_of_effort(
    db: &mut dyn Db,
    effort: i64,
    max: i64,
) -> Result<Vec<String>, DbError> {
    db.rows(
        "select f.path from windows w join window_files f on f.window_id = w.id
         where w.effort = $1 and w.parent is null group by f.path order by max(f.at_ms) desc, f.path limit $2",
        &[effort.into(), max.into()],
        |row| row.text(0),
    )
}

/// The files of one window, the latest first.
pub(crate) fn files_of_window(
    db: &mut dyn Db,
    window: i64,
    max: i64,
) -> Result<Vec<String>, DbError> {
    db.rows(
        "select path from window_files where window_id = $1 order by at_ms desc, path limit $2",
        &[window.into(), max.into()],
        |row| row.text(0),
    )
}

/// Forgets the files of windows that no longer exist.
pub(crate) fn forget_files(db: &mut dyn Db) -> Result<(), DbError> {
    db.execute("delete from window_files where window_id not in (select id from windows)", &[])?;
    Ok(())
}
