//! The SQL of supervisors.

use substrate_core::wish::Receipt;
use substrate_core::{Db, DbError, Memorable, Migration, RequestId, Row, SafeId, Timestamp, World};

/// The table of supervisors. A row exists only while its supervisor runs.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        about: "supervisors and their clients",
        sql: "create table supervisors (
            token text primary key,
            pid bigint not null,
            began bigint,
            child bigint not null,
            child_began bigint,
            n_restarts bigint not null,
            since_ms bigint not null,
            session text,
            agent text,
            wanted_ms bigint,
            why text
          );
          create index supervisors_child on supervisors (child);",
    },
    Migration {
        about: "the client below a supervisor, and what a fresh one is told",
        sql: "alter table supervisors add column client bigint;
          alter table supervisors add column client_began bigint;
          alter table supervisors add column next_effort bigint;
          alter table supervisors add column effort bigint;
          alter table supervisors add column claim text;
          alter table supervisors add column claimed_ms bigint;
          alter table supervisors add column told_ms bigint;
          alter table supervisors add column wake_claim text;
          alter table supervisors add column wake_claimed_ms bigint;
          alter table supervisors add column woken_ms bigint;
          alter table supervisors add column is_futile bigint not null default 0;
          drop index supervisors_child;
          create index supervisors_client on supervisors (client);
          create index supervisors_claim on supervisors (claim) where claim is not null;
          create index supervisors_wake_claim on supervisors (wake_claim) where wake_claim is not null;",
    },
];

/// A process by its pid and start time. The start time is `None` if the process was gone when it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) began: Option<i64>,
}

impl Process {
    pub(super) fn now(world: &dyn World, pid: u32) -> Self {
        Self { pid, began: world.process_began(pid) }
    }

    /// Whether the process runs, and its pid was not recycled.
    pub(super) fn is_there(self, world: &dyn World) -> bool {
        self.began.is_some() && world.process_began(self.pid) == self.began
    }
}

/// A supervisor, the program it started, and the client below that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Supervisor {
    pub(super) token: String,
    pub(super) own: Process,
    /// What it started: the client or a wrapper around it. 0 until it says so.
    pub(super) child: Process,
    /// The client, once it was heard of.
    pub(super) client: Option<Process>,
    pub(super) n_restarts: i64,
    pub(super) since: Timestamp,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) wanted: Option<RestartRequest>,
    pub(super) brief: Option<Briefing>,
    /// The last restart brought the full conversation back, so another would change nothing.
    pub(super) is_futile: bool,
}

/// A request to replace the client by a fresh one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RestartRequest {
    pub(super) since: Timestamp,
    pub(super) why: String,
    /// What the fresh one continues.
    pub(super) effort: Option<i64>,
}

/// What a fresh client is told, and how far that has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Briefing {
    pub(super) effort: i64,
    /// When an answer claimed it.
    pub(super) claimed: Option<Timestamp>,
    pub(super) told: Option<Timestamp>,
    /// When an answer that starts the first turn was claimed.
    pub(super) wake_claimed: Option<Timestamp>,
    /// The first turn was started, by us or by its own prompt.
    pub(super) has_begun: bool,
}

impl Supervisor {
    /// The key that the supervisor waits for.
    pub(super) fn wake_key(&self) -> String {
        wake_key(&self.token)
    }
}

pub(super) fn wake_key(token: &str) -> String {
    format!("run {token}")
}

/// A supervisor is about to start a client. If the client replaces another one, it continues that effort. Everything known
/// about the former client is dropped.
pub(super) fn announce(
    db: &mut dyn Db,
    token: &SafeId,
    own: Process,
    n_restarts: i64,
    effort: Option<i64>,
    now: Timestamp,
) -> Result<(), DbError> {
    forget(db, token.as_str())?;
    db.execute(
        "insert into supervisors (token, pid, began, child, n_restarts, since_ms, effort)
         values ($1, $2, $3, 0, $4, $5, $6)",
        &[
            token.as_str().into(),
            i64::from(own.pid).into(),
            own.began.into(),
            n_restarts.into(),
            now.0.into(),
            effort.into(),
        ],
    )?;
    Ok(())
}

/// The supervisor started that process. Returns whether the supervisor is known.
pub(super) fn started(db: &mut dyn Db, token: &SafeId, child: Process) -> Result<bool, DbError> {
    let n = db.execute(
        "update supervisors set child = $2, child_began = $3 where token = $1",
        &[token.as_str().into(), i64::from(child.pid).into(), child.began.into()],
    )?;
    Ok(n > 0)
}

/// Notes the client below a supervisor, and its session.
pub(super) fn heard_of(
    db: &mut dyn Db,
    token: &str,
    client: Process,
    session: &SafeId,
    agent: Option<&str>,
) -> Result<(), DbError> {
    db.execute(
        "update supervisors set client = $2, client_began = $3, session = $4, agent = $5 where token = $1",
        &[
            token.into(),
            i64::from(client.pid).into(),
            client.began.into(),
            session.as_str().into(),
            agent.into(),
        ],
    )?;
    Ok(())
}

pub(super) fn want(
    db: &mut dyn Db,
    token: &str,
    why: &str,
    effort: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update supervisors set wanted_ms = $2, why = $3, next_effort = $4 where token = $1",
        &[token.into(), now.0.into(), why.into(), effort.into()],
    )?;
    Ok(())
}

/// The restart brought the old conversation back, so the client needs no briefing.
pub(super) fn was_futile(db: &mut dyn Db, token: &str) -> Result<(), DbError> {
    db.execute(
        "update supervisors set is_futile = 1, effort = null where token = $1",
        &[token.into()],
    )?;
    Ok(())
}

/// An answer goes out with the briefing, or with what starts the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    Briefing,
    FirstTurn,
}

pub(super) fn claim(
    db: &mut dyn Db,
    token: &str,
    claimed: Claimed,
    request: RequestId,
    now: Timestamp,
) -> Result<(), DbError> {
    let sql = match claimed {
        Claimed::Briefing => "update supervisors set claim = $2, claimed_ms = $3 where token = $1",
        Claimed::FirstTurn => {
            "update supervisors set wake_claim = $2, wake_claimed_ms = $3 where token = $1"
        }
    };
    let request = request.to_string();
    db.execute(sql, &[token.into(), request.as_str().into(), now.0.into()])?;
    Ok(())
}

/// A turn has begun in the client.
pub(super) fn has_begun(db: &mut dyn Db, token: &str, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update supervisors set woken_ms = $2 where token = $1",
        &[token.into(), now.0.into()],
    )?;
    Ok(())
}

/// Settles the claims of an answer: its words were told, or are free again.
pub(super) fn printed(db: &mut dyn Db, receipt: Receipt, now: Timestamp) -> Result<(), DbError> {
    let request = receipt.request.to_string();
    let params = [request.as_str().into(), receipt.reached.then_some(now.0).into()];
    db.execute(
        "update supervisors set told_ms = coalesce(told_ms, $2), claim = null, claimed_ms = null
         where claim = $1",
        &params,
    )?;
    db.execute(
        "update supervisors set woken_ms = coalesce(woken_ms, $2), wake_claim = null, wake_claimed_ms = null
         where wake_claim = $1",
        &params,
    )?;
    Ok(())
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select token, pid, began, child, child_began, n_restarts, since_ms, session, agent, wanted_ms, why,
               client, client_began, next_effort, effort, claimed_ms, told_ms, wake_claimed_ms, woken_ms, is_futile
             from supervisors ",
            $rest
        )
    };
}

pub(super) const OF_CLIENT: &str = select!("where client = $1");

/// The supervisor of that client, if both still run.
pub(super) fn of_client(
    db: &mut dyn Db,
    world: &dyn World,
    pid: u32,
) -> Result<Option<Supervisor>, DbError> {
    const OF_PID: Memorable =
        Memorable { name: "supervisor of a client", tables: &["supervisors"] };
    let rows = |db: &mut (dyn Db + '_)| db.rows(OF_CLIENT, &[i64::from(pid).into()], read);
    let found = db.remembered(OF_PID, [&pid.to_string(), ""], rows)?;
    let is_it = |one: &Supervisor| {
        one.own.is_there(world) && one.client.is_some_and(|client| client.is_there(world))
    };
    Ok(found.iter().find(|one| is_it(one)).cloned())
}

pub(super) fn one(db: &mut dyn Db, token: &SafeId) -> Result<Option<Supervisor>, DbError> {
    db.first(select!("where token = $1"), &[token.as_str().into()], read)
}

/// The newest supervisors.
pub(super) fn all(db: &mut dyn Db, limit: i64) -> Result<Vec<Supervisor>, DbError> {
    db.rows(select!("order by since_ms desc, token limit $1"), &[limit.into()], read)
}

pub(super) fn forget(db: &mut dyn Db, token: &str) -> Result<(), DbError> {
    db.execute("delete from supervisors where token = $1", &[token.into()])?;
    Ok(())
}

fn read(row: &dyn Row) -> Result<Supervisor, DbError> {
    let process = |pid: i64, began| Process { pid: u32::try_from(pid).unwrap_or(0), began };
    let time = |at| Ok::<_, DbError>(row.opt_int(at)?.map(Timestamp));
    let wanted = match (time(9)?, row.opt_text(10)?) {
        (Some(since), Some(why)) => Some(RestartRequest { since, why, effort: row.opt_int(13)? }),
        _ => None,
    };
    let brief = match row.opt_int(14)? {
        Some(effort) => Some(Briefing {
            effort,
            claimed: time(15)?,
            told: time(16)?,
            wake_claimed: time(17)?,
            has_begun: time(18)?.is_some(),
        }),
        None => None,
    };
    let client_began = row.opt_int(12)?;
    Ok(Supervisor {
        token: row.text(0)?,
        own: process(row.int(1)?, row.opt_int(2)?),
        child: process(row.int(3)?, row.opt_int(4)?),
        client: row.opt_int(11)?.map(|pid| process(pid, client_began)),
        n_restarts: row.int(5)?,
        since: Timestamp(row.int(6)?),
        session: row.opt_text(7)?,
        agent: row.opt_text(8)?,
        wanted,
        brief,
        is_futile: row.int(19)? == 1,
    })
}
