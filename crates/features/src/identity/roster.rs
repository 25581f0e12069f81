//! Everybody who has a seat: each session's main thread, and its subagents that have not ended.

use substrate_core::{Db, DbError, Timestamp, World};

use super::book::MAIN;
use super::presence::{self, Status};

/// One actor of one session, and whether it is there.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) agent: i64,
    pub(crate) name: String,
    /// The subagent's own name; empty for the main thread.
    pub(crate) sub: String,
    pub(crate) session: String,
    pub(crate) actor: String,
    pub(crate) project: String,
    /// The folder and the client that it ran in.
    pub(crate) cwd: String,
    pub(crate) client: String,
    pub(crate) last: Timestamp,
    /// Its turn has ended.
    pub(crate) has_stopped: bool,
    /// The session has ended in good order.
    pub(crate) has_ended: bool,
    /// It can be reached at once.
    pub(crate) is_waiting: bool,
    /// Its client runs; where the client does not say in which process, it was heard of lately.
    pub(crate) is_there: bool,
}

/// The newest sessions, at most 500, each with its subagents.
pub(crate) fn roster(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
) -> Result<Vec<Seat>, DbError> {
    let mut out = Vec::new();
    for one in presence::all(db, world, now)? {
        let main = Seat {
            agent: one.agent,
            name: one.name,
            sub: String::new(),
            session: one.session,
            actor: MAIN.to_owned(),
            project: one.project,
            cwd: one.cwd,
            client: one.client,
            last: one.last,
            has_stopped: one.has_stopped,
            has_ended: one.has_ended,
            is_waiting: one.is_waiting,
            is_there: one.is_running || one.status != Status::Offline,
        };
        let subs = if main.is_there { subagents(db, &main)? } else { Vec::new() };
        out.push(main);
        out.extend(subs);
    }
    Ok(out)
}

fn subagents(db: &mut dyn Db, main: &Seat) -> Result<Vec<Seat>, DbError> {
    db.rows(
        "select actor, name, last_ms from agent_actors
         where session = $1 and ended_ms is null order by started_ms limit 200",
        &[main.session.as_str().into()],
        |row| {
            Ok(Seat {
                actor: row.text(0)?,
                sub: row.text(1)?,
                last: Timestamp(row.int(2)?),
                has_stopped: false,
                is_waiting: false,
                ..main.clone()
            })
        },
    )
}
