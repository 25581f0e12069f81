//! The client processes that have a session open. Mostly there is one; `--resume` in a second terminal opens the same
//! session once more, without a word to the first.

use substrate_core::{Db, DbError, SafeId, World};

use super::presence::Process;

/// That process has the session open.
pub(super) fn add(db: &mut dyn Db, session: &SafeId, process: Process) -> Result<(), DbError> {
    let Some(pid) = process.pid else { return Ok(()) };
    db.execute(
        "insert into agent_clients (session, pid, began) values ($1, $2, $3)
         on conflict (session, pid) do update set began = excluded.began",
        &[session.as_str().into(), pid.into(), process.began.into()],
    )?;
    Ok(())
}

/// That process has left the session.
pub(super) fn remove(db: &mut dyn Db, session: &SafeId, pid: u32) -> Result<(), DbError> {
    let params = [session.as_str().into(), i64::from(pid).into()];
    db.execute("delete from agent_clients where session = $1 and pid = $2", &params)?;
    Ok(())
}

/// A process has one session at a time: with this one it has left all others.
pub(super) fn leave_others(db: &mut dyn Db, session: &SafeId, pid: u32) -> Result<(), DbError> {
    let params = [session.as_str().into(), i64::from(pid).into()];
    db.execute("delete from agent_clients where pid = $2 and session <> $1", &params)?;
    Ok(())
}

pub(super) fn forget(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute("delete from agent_clients where session = $1", &[session.into()])?;
    Ok(())
}

/// A process that lives and has the session open, other than that one.
pub(super) fn living(
    db: &mut dyn Db,
    world: &dyn World,
    session: &str,
    except: Option<i64>,
) -> Result<Option<Process>, DbError> {
    let all = db.rows(
        "select pid, began from agent_clients where session = $1 limit 100",
        &[session.into()],
        |row| Ok(Process { pid: Some(row.int(0)?), began: row.opt_int(1)? }),
    )?;
    let is_it = |one: &Process| one.pid != except && one.is_there(world);
    Ok(all.into_iter().find(is_it))
}
