//! The client processes that hooks reported: which one is above a caller, and which have a session open.
//!
//! Usually one process has a session open. `--resume` in a second terminal opens it again, without telling the first. A
//! process that left a session stays known, because what runs below it is not the user's.

use substrate_core::{Cx, Db, DbError, Lineage, ProcessId, SafeId, Timestamp, World};

use super::presence::Process;

/// Sessions of one process that a caller may name.
const MAX_SESSIONS: i64 = 50;

/// The client that a caller runs below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientAbove {
    pub(super) client: ProcessId,
    /// The command lines between the client and the caller. One of them is the shell that the client started.
    pub(super) shells: Vec<String>,
}

/// The nearest known client above the caller. For a detached caller it is the client that its environment names, if that
/// one was running when the caller began.
pub(super) fn above(db: &mut dyn Db, lineage: &Lineage) -> Result<Option<ClientAbove>, DbError> {
    for (at, ancestor) in lineage.processes.iter().enumerate() {
        if is_known(db, ancestor.id)? {
            return Ok(Some(ClientAbove { client: ancestor.id, shells: shells(lineage, at) }));
        }
    }
    let (Some(pid), Some(caller)) = (lineage.named_client, lineage.processes.first()) else {
        return Ok(None);
    };
    let client = latest(db, pid, caller.id.began)?;
    Ok(client.map(|client| ClientAbove { client, shells: detached_shells(lineage) }))
}

/// The command lines above the caller, up to the client that its environment names.
pub(super) fn detached_shells(lineage: &Lineage) -> Vec<String> {
    let is_end = |pid: u32| pid <= 1 || Some(pid) == lineage.named_client;
    let end = lineage.processes.iter().position(|one| is_end(one.id.pid));
    shells(lineage, end.unwrap_or(lineage.processes.len()))
}

fn shells(lineage: &Lineage, end: usize) -> Vec<String> {
    let between = lineage.processes.iter().take(end).skip(1);
    between.map(|one| one.line.clone()).filter(|line| !line.trim().is_empty()).collect()
}

/// Notes that the process has the session open.
pub(super) fn note(
    db: &mut dyn Db,
    session: &SafeId,
    process: Process,
    now: Timestamp,
) -> Result<(), DbError> {
    let Process { pid: Some(pid), began: Some(began) } = process else { return Ok(()) };
    db.execute(
        "insert into client_processes (pid, began, session, seen_ms) values ($1, $2, $3, $4)
         on conflict (pid, began, session) do update set seen_ms = excluded.seen_ms, left_ms = null",
        &[pid.into(), began.into(), session.as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// Notes that the process has left the session.
pub(super) fn leave(
    db: &mut dyn Db,
    session: &SafeId,
    pid: u32,
    now: Timestamp,
) -> Result<(), DbError> {
    let sql = "update client_processes set left_ms = $3 where session = $1 and pid = $2 and left_ms is null";
    left(db, sql, session, pid, now)
}

/// Notes that the process has left all other sessions. It has one open at a time.
pub(super) fn leave_others(
    db: &mut dyn Db,
    session: &SafeId,
    pid: u32,
    now: Timestamp,
) -> Result<(), DbError> {
    let sql = "update client_processes set left_ms = $3 where pid = $2 and session <> $1 and left_ms is null";
    left(db, sql, session, pid, now)
}

fn left(
    db: &mut dyn Db,
    sql: &'static str,
    session: &SafeId,
    pid: u32,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(sql, &[session.as_str().into(), i64::from(pid).into(), now.0.into()])?;
    Ok(())
}

/// Notes that every process has left the session.
pub(super) fn leave_all(db: &mut dyn Db, session: &SafeId, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update client_processes set left_ms = $2 where session = $1 and left_ms is null",
        &[session.as_str().into(), now.0.into()],
    )?;
    Ok(())
}

/// Whether the process has the session open.
pub(super) fn has_open(
    db: &mut dyn Db,
    session: &SafeId,
    process: Process,
) -> Result<bool, DbError> {
    let found = db.first(
        "select 1 from client_processes
         where pid = $1 and began = $2 and session = $3 and left_ms is null",
        &[process.pid.into(), process.began.into(), session.as_str().into()],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// A running process other than `except` that has the session open.
pub(super) fn living(
    db: &mut dyn Db,
    world: &dyn World,
    session: &str,
    except: Option<i64>,
) -> Result<Option<Process>, DbError> {
    let all = db.rows(
        "select pid, began from client_processes where session = $1 and left_ms is null
         order by seen_ms desc, pid limit 100",
        &[session.into()],
        |row| Ok(Process { pid: Some(row.int(0)?), began: Some(row.int(1)?) }),
    )?;
    let is_it = |one: &Process| one.pid != except && one.is_there(world);
    Ok(all.into_iter().find(is_it))
}

fn is_known(db: &mut dyn Db, id: ProcessId) -> Result<bool, DbError> {
    let found = db.first(
        "select 1 from client_processes where pid = $1 and began = $2 limit 1",
        &[i64::from(id.pid).into(), id.began.into()],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// The latest client with that pid that began no later than `by`.
fn latest(db: &mut dyn Db, pid: u32, by: i64) -> Result<Option<ProcessId>, DbError> {
    let began = db.first(
        "select began from client_processes where pid = $1 and began <= $2 order by began desc limit 1",
        &[i64::from(pid).into(), by.into()],
        |row| row.int(0),
    )?;
    Ok(began.map(|began| ProcessId { pid, began }))
}

/// The sessions of a client, open or not, latest first.
pub(super) fn sessions(db: &mut dyn Db, client: ProcessId) -> Result<Vec<SafeId>, DbError> {
    let found = db.rows(
        "select session from client_processes where pid = $1 and began = $2
         order by seen_ms desc, session limit $3",
        &[i64::from(client.pid).into(), client.began.into(), MAX_SESSIONS.into()],
        |row| row.text(0),
    )?;
    Ok(found.iter().filter_map(|session| SafeId::new(session)).collect())
}

/// Forgets clients that are gone and were last heard of before then.
pub(super) fn forget(cx: &mut Cx<'_>, before: Timestamp, limit: i64) -> Result<(), DbError> {
    let old = cx.db.rows(
        "select pid, began from client_processes where seen_ms < $1 order by seen_ms limit $2",
        &[before.0.into(), limit.into()],
        |row| Ok(Process { pid: Some(row.int(0)?), began: Some(row.int(1)?) }),
    )?;
    for process in old.into_iter().filter(|process| process.is_gone(cx.world)) {
        cx.db.execute(
            "delete from client_processes where pid = $1 and began = $2 and seen_ms < $3",
            &[process.pid.into(), process.began.into(), before.0.into()],
        )?;
    }
    Ok(())
}
