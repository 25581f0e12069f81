//! The tables and the SQL of the fleet. An event looks up one row by its primary key.

use substrate_core::{Db, DbError, Memorable, Migration, Pane, Row, Timestamp};

use super::limits::{Limit, LimitHit};
use super::status::{Status, StatusBefore, StatusChange};

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        about: "the status of every actor, and the tmux servers that show it",
        sql: "create table fleet_status (
            session text not null,
            actor text not null,
            status text not null,
            why text not null,
            asks text not null,
            task text not null,
            since_ms bigint not null,
            checked_ms bigint,
            socket text,
            pane text,
            primary key (session, actor)
          );
          create index fleet_status_pane on fleet_status (pane, socket) where pane is not null;
          create table fleet_tmux (
            socket text primary key,
            on_ms bigint not null
          );",
    },
    Migration {
        about: "the limit that ended a turn, and when it ends itself",
        sql: "alter table fleet_status add column limit_kind text not null default '';
              alter table fleet_status add column until_ms bigint;",
    },
    Migration {
        about: "who waits for a person, for the status line",
        sql: "create index fleet_status_waits on fleet_status (since_ms)
                where status = 'attention' and checked_ms is null;",
    },
];

/// One actor's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusRow {
    pub(super) session: String,
    pub(super) actor: String,
    /// As its events left it: never `Checked`.
    pub(super) status: Status,
    pub(super) why: String,
    asks: String,
    /// The latest entry of the client's task list that was completed.
    pub(super) task: String,
    pub(super) since: Timestamp,
    pub(super) checked: Option<Timestamp>,
    pub(super) pane: Option<Pane>,
    /// The limit that ended its turn.
    pub(super) limit: Option<LimitHit>,
}

impl StatusRow {
    /// What is shown. `done` and `attention` become `checked` once a person has looked.
    pub(super) fn shown(&self) -> Status {
        let is_checkable = matches!(self.status, Status::Done | Status::Attention);
        if self.checked.is_some() && is_checkable { Status::Checked } else { self.status }
    }

    /// A person is asked about a call.
    pub(super) fn is_about_a_call(&self) -> bool {
        !self.asks.is_empty()
    }

    pub(super) fn before(&self, now: Timestamp) -> StatusBefore {
        StatusBefore {
            status: self.status,
            is_checked: self.checked.is_some(),
            asks: self.asks.clone(),
            why: self.why.clone(),
            for_ms: now.since(self.since),
        }
    }

    /// Whether there is nothing to write. An actor that goes on working is not news.
    pub(super) fn is(&self, next: &StatusChange) -> bool {
        self.status == next.status
            && self.asks == next.asks
            && self.why == next.why
            && self.limit == next.limit
            && self.checked.is_none()
    }
}

macro_rules! columns {
    () => {
        "session, actor, status, why, asks, task, since_ms, checked_ms, socket, pane, limit_kind, until_ms"
    };
}

pub(super) const ONE: &str =
    concat!("select ", columns!(), " from fleet_status where session = $1 and actor = $2");
pub(super) const IN_PANE: &str =
    concat!("select ", columns!(), " from fleet_status where pane = $1 and socket = $2 limit 200");
const OLDEST: &str = concat!(
    "select ",
    columns!(),
    " from fleet_status where since_ms < $1 order by since_ms limit $2"
);
const PANES: &str = concat!(
    "select ",
    columns!(),
    " from fleet_status where pane is not null order by since_ms desc limit $1"
);
pub(super) const IN_ATTENTION: &str = concat!(
    "select ",
    columns!(),
    " from fleet_status where session = $1 and status = 'attention' limit 200"
);
/// The actors that wait for a person and that none has looked at.
pub(super) const WAITING: &str = "select session, actor from fleet_status
     where status = 'attention' and checked_ms is null and since_ms > $1 order by since_ms desc limit $2";
const ASKING: &str =
    "select 1 from fleet_status where session = $1 and status = 'attention' and asks <> '' limit 1";

const STATUS: Memorable = Memorable { name: "fleet status", tables: &["fleet_status"] };

pub(super) fn one(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<StatusRow>, DbError> {
    let read = |db: &mut (dyn Db + '_)| db.first(ONE, &[session.into(), actor.into()], kept);
    Ok((*db.remembered(STATUS, [session, actor], read)?).clone())
}

/// All actors whose client runs in a pane, or did.
pub(super) fn in_pane(db: &mut dyn Db, pane: &Pane) -> Result<Vec<StatusRow>, DbError> {
    db.rows(IN_PANE, &[pane.id.as_str().into(), pane.socket.as_str().into()], kept)
}

/// Those whose status has not changed since then, the oldest first.
pub(super) fn oldest(
    db: &mut dyn Db,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<StatusRow>, DbError> {
    db.rows(OLDEST, &[before.0.into(), limit.into()], kept)
}

pub(super) fn with_panes(db: &mut dyn Db, limit: i64) -> Result<Vec<StatusRow>, DbError> {
    db.rows(PANES, &[limit.into()], kept)
}

/// Whether a person is asked about a call of that session already.
pub(super) fn is_asking(db: &mut dyn Db, session: &str) -> Result<bool, DbError> {
    Ok(db.first(ASKING, &[session.into()], |row| row.int(0))?.is_some())
}

/// Actors that have waited for a person since then, the latest first. Their clients may be gone.
pub(super) fn waiting(
    db: &mut dyn Db,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(String, String)>, DbError> {
    let params = [since.0.into(), limit.into()];
    db.rows(WAITING, &params, |row| Ok((row.text(0)?, row.text(1)?)))
}

/// All actors of a session that wait for a person.
pub(super) fn in_attention(db: &mut dyn Db, session: &str) -> Result<Vec<StatusRow>, DbError> {
    db.rows(IN_ATTENTION, &[session.into()], kept)
}

/// An unknown pane keeps the old one.
pub(super) fn put(
    db: &mut dyn Db,
    (session, actor): (&str, &str),
    next: &StatusChange,
    pane: Option<&Pane>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into fleet_status (session, actor, status, why, asks, task, since_ms, socket, pane, limit_kind, until_ms)
         values ($1, $2, $3, $4, $5, '', $6, $7, $8, $9, $10)
         on conflict (session, actor) do update
         set status = excluded.status, why = excluded.why, asks = excluded.asks,
           limit_kind = excluded.limit_kind, until_ms = excluded.until_ms,
           since_ms = case when fleet_status.status = excluded.status and excluded.status = 'working'
             then fleet_status.since_ms else excluded.since_ms end,
           checked_ms = null, socket = coalesce(excluded.socket, fleet_status.socket),
           pane = coalesce(excluded.pane, fleet_status.pane)",
        &[
            session.into(),
            actor.into(),
            next.status.name().into(),
            next.why.as_str().into(),
            next.asks.as_str().into(),
            now.0.into(),
            pane.map(|pane| pane.socket.as_str()).into(),
            pane.map(|pane| pane.id.as_str()).into(),
            next.limit.map_or("", |hit| hit.limit.name()).into(),
            next.limit.and_then(|hit| hit.until).map(|until| until.0).into(),
        ],
    )?;
    Ok(())
}

/// The entry of the client's task list that was completed last.
pub(super) fn set_task(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    task: &str,
) -> Result<(), DbError> {
    db.execute(
        "update fleet_status set task = $3 where session = $1 and actor = $2",
        &[session.into(), actor.into(), task.into()],
    )?;
    Ok(())
}

/// A person has looked. `false`: there was nothing that this changes.
pub(super) fn check(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "update fleet_status set checked_ms = $3
         where session = $1 and actor = $2 and checked_ms is null and status in ('done', 'attention')",
        &[session.into(), actor.into(), now.0.into()],
    )?;
    Ok(n > 0)
}

pub(super) fn forget(db: &mut dyn Db, session: &str, actor: &str) -> Result<(), DbError> {
    db.execute(
        "delete from fleet_status where session = $1 and actor = $2",
        &[session.into(), actor.into()],
    )?;
    Ok(())
}

/// The subagents of a session have ended with it.
pub(super) fn forget_subagents(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute(
        "delete from fleet_status where session = $1 and actor <> 'main'",
        &[session.into()],
    )?;
    Ok(())
}

/// No actor of this session is in its pane any more.
pub(super) fn leave_pane(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute(
        "update fleet_status set pane = null, socket = null where session = $1 and pane is not null",
        &[session.into()],
    )?;
    Ok(())
}

pub(super) fn switch_on(db: &mut dyn Db, socket: &str, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "insert into fleet_tmux (socket, on_ms) values ($1, $2) on conflict (socket) do nothing",
        &[socket.into(), now.0.into()],
    )?;
    Ok(())
}

/// `false`: it was not on.
pub(super) fn switch_off(db: &mut dyn Db, socket: &str) -> Result<bool, DbError> {
    Ok(db.execute("delete from fleet_tmux where socket = $1", &[socket.into()])? > 0)
}

pub(super) fn is_on(db: &mut dyn Db, socket: &str) -> Result<bool, DbError> {
    let found =
        db.first("select 1 from fleet_tmux where socket = $1", &[socket.into()], |row| row.int(0))?;
    Ok(found.is_some())
}

/// The servers that show colours.
pub(super) fn servers(db: &mut dyn Db) -> Result<Vec<String>, DbError> {
    db.rows("select socket from fleet_tmux order by socket limit 100", &[], |row| row.text(0))
}

fn kept(row: &dyn Row) -> Result<StatusRow, DbError> {
    let status = row.text(2)?;
    let pane = row.opt_text(8)?.zip(row.opt_text(9)?).map(|(socket, id)| Pane { socket, id });
    Ok(StatusRow {
        limit: Limit::named(&row.text(10)?)
            .zip(Some(row.opt_int(11)?))
            .map(|(limit, until)| LimitHit { limit, until: until.map(Timestamp) }),
        session: row.text(0)?,
        actor: row.text(1)?,
        status: Status::named(&status)
            .ok_or_else(|| DbError::Other { detail: format!("no status is called {status}") })?,
        why: row.text(3)?,
        asks: row.text(4)?,
        task: row.text(5)?,
        since: Timestamp(row.int(6)?),
        checked: row.opt_int(7)?.map(Timestamp),
        pane,
    })
}
