//! Holders: who owns a lease, a work item or an effort, whether the owner is still there, and who is calling.
//!
//! Features that hand something to an agent store a [`Holder`] beside it and ask here whether it still holds. Nothing
//! is written to renew a hold: the holder's last sign of life is already kept, and [`Pulses`] looks it up.

use std::collections::HashMap;

use substrate_core::text::one_line;
use substrate_core::{
    Caller, Cx, Db, DbError, Event, Memorable, Param, Row, SafeId, Timestamp, VerbError, Who, World,
};

use super::book::{self, Address, MAIN};
use super::presence::{self, Process, Status};
use super::processes;

/// The session id under which the person holds things. No client uses such an id.
const PERSON: &str = "(person)";

/// One actor of one session, in one process of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) session: String,
    pub(crate) actor: String,
    pub(crate) agent: i64,
    /// The subagent's own name for mail; empty for the agent itself.
    pub(crate) sub: String,
    /// The process of its client at the time.
    pub(crate) process: Process,
}

impl Holder {
    /// The actor of an event. Its process is left out; [`with_process`](Self::with_process) looks it up where it matters.
    pub(crate) fn of_event(cx: &Cx<'_>, event: &Event) -> Option<Self> {
        let who = cx.who.as_ref()?;
        Some(Self {
            session: event.session.as_ref()?.as_str().to_owned(),
            actor: event.actor.key().to_owned(),
            agent: who.agent,
            sub: who.sub.clone(),
            process: Process::UNKNOWN,
        })
    }

    /// The caller of a command.
    pub(crate) fn of_caller(cx: &mut Cx<'_>, caller: &Caller) -> Result<Self, VerbError> {
        let who = self::caller(cx, caller)?;
        let (agent, sub) = (who.agent, who.sub.clone());
        if agent == book::USER {
            let (session, actor) = (PERSON.to_owned(), MAIN.to_owned());
            return Ok(Self { session, actor, agent, sub, process: Process::UNKNOWN });
        }
        let (session, actor) = seat(cx.db, &who)?.ok_or_else(|| no_session(&who.address()))?;
        let process = process(cx.db, &session)?;
        Ok(Self { session, actor, agent, sub, process })
    }

    /// A caller that is not known, and so holds nothing.
    pub(crate) fn unknown() -> Self {
        let (session, actor, sub) = (String::new(), String::new(), String::new());
        Self { session, actor, agent: 0, sub, process: Process::UNKNOWN }
    }

    /// Reads `session, actor, agent, sub, pid, began`, six columns that begin at `at`.
    pub(crate) fn read(row: &dyn Row, at: usize) -> Result<Self, DbError> {
        Ok(Self {
            session: row.text(at)?,
            actor: row.text(at + 1)?,
            agent: row.int(at + 2)?,
            sub: row.text(at + 3)?,
            process: Process { pid: row.opt_int(at + 4)?, began: row.opt_int(at + 5)? },
        })
    }

    /// The values of those six columns.
    pub(crate) fn params(&self) -> [Param<'_>; 6] {
        let Self { session, actor, agent, sub, process } = self;
        let (pid, began) = (process.pid.into(), process.began.into());
        [
            session.as_str().into(),
            actor.as_str().into(),
            (*agent).into(),
            sub.as_str().into(),
            pid,
            began,
        ]
    }

    /// The same actor in the process that its client runs in now.
    pub(crate) fn with_process(&self, cx: &mut Cx<'_>) -> Result<Self, DbError> {
        Ok(Self { process: process(cx.db, &self.session)?, ..self.clone() })
    }

    pub(crate) fn is_person(&self) -> bool {
        is_person(&self.session)
    }

    /// The same actor, whatever process its client runs in.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.session == other.session && self.actor == other.actor
    }

    /// Its client has been restarted since `then`: it runs in another process now.
    pub(crate) fn was_restarted(&self, cx: &mut Cx<'_>, then: &Self) -> Result<bool, DbError> {
        let now = process(cx.db, &self.session)?;
        let both_known = now.is_known() && then.process.is_known();
        Ok(both_known && now != then.process)
    }

    /// Its mail address: `NobleLion/reviewer-1`.
    pub(crate) fn address(&self, cx: &mut Cx<'_>) -> Result<String, DbError> {
        let name = book::name_of(cx.db, self.agent)?;
        Ok(Address { sub: self.sub.clone(), ..Address::of_agent(self.agent, name) }.text())
    }
}

/// Whether things held under that session id are the person's.
pub(crate) fn is_person(session: &str) -> bool {
    session == PERSON
}

/// Who is calling a command, or an error that says how to name an agent.
pub(crate) fn caller(cx: &mut Cx<'_>, caller: &Caller) -> Result<Who, VerbError> {
    if let Some(who) = &cx.who {
        return Ok(who.clone());
    }
    let named = caller.agent.as_deref().filter(|name| !name.is_empty());
    Err(match (caller.session_id(), named) {
        (_, Some(name)) if caller.agent_typed => no_such_agent(cx, name)?,
        (Some(session), _) => unknown_session(&session),
        (None, Some(name)) => no_such_agent(cx, name)?,
        (None, None) => VerbError::user(
            "can't tell which agent you are",
            "add `--agent NAME`, or `--session-id ID` with the client's session",
        ),
    })
}

/// The error for an unknown name, with similar names.
pub(super) fn no_such_agent(cx: &mut Cx<'_>, name: &str) -> Result<VerbError, VerbError> {
    let nearest = match book::find(cx.db, name)? {
        book::Lookup::Unknown { nearest } => nearest,
        book::Lookup::Found(_) | book::Lookup::Ended(_) => Vec::new(),
    };
    let hint = if nearest.is_empty() {
        "`substrate agent list --all` shows all names".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(", "))
    };
    let name = one_line(name, 60);
    Ok(VerbError::user(format!("there is no agent {name}"), hint))
}

/// The error for a session that has not reported an event yet.
pub(super) fn unknown_session(session: &SafeId) -> VerbError {
    VerbError::user(
        format!("session {session} has no agent yet"),
        format!("`substrate agent ensure --session-id {session}` gives it one"),
    )
}

/// The error for an agent that would need a session to own something.
pub(crate) fn no_session(address: &str) -> VerbError {
    VerbError::user(
        format!("{address} has no session, so it can't hold anything"),
        "`substrate agent list` shows which agents are there",
    )
}

/// How long something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// It holds until then in any case.
    pub(crate) expires: Timestamp,
    /// Each sign of life extends it by this much. `None`: nothing extends it.
    pub(crate) ttl_ms: Option<i64>,
}

impl Term {
    fn end(self, last: Timestamp) -> Timestamp {
        self.ttl_ms.map_or(self.expires, |ttl_ms| self.expires.max(last.plus_ms(ttl_ms)))
    }
}

/// Whether something is still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// Until then, unless the holder gives another sign of life.
    Held { until: Timestamp },
    /// The holder is there, but has been silent for too long.
    Lapsed,
    /// The actor, its session or the process of its client has ended.
    Gone,
}

impl Liveness {
    pub(crate) const fn until(self) -> Option<Timestamp> {
        match self {
            Self::Held { until } => Some(until),
            Self::Lapsed | Self::Gone => None,
        }
    }
}

/// Looks up whether holds are alive. Each holder is looked up once, however many things it holds.
#[derive(Debug, Default)]
pub(crate) struct Pulses {
    known: HashMap<(String, String), Option<Pulse>>,
}

impl Pulses {
    pub(crate) fn liveness(
        &mut self,
        cx: &mut Cx<'_>,
        holder: &Holder,
        term: Term,
    ) -> Result<Liveness, DbError> {
        let until = if holder.is_person() {
            // A person gives no signs of life.
            term.expires
        } else {
            match self.pulse(cx, holder)? {
                Some(pulse) if !pulse.is_over && !holder.process.is_gone(cx.world) => {
                    term.end(pulse.last)
                }
                _ => return Ok(Liveness::Gone),
            }
        };
        Ok(if until > cx.now { Liveness::Held { until } } else { Liveness::Lapsed })
    }

    fn pulse(&mut self, cx: &mut Cx<'_>, holder: &Holder) -> Result<Option<Pulse>, DbError> {
        let key = (holder.session.clone(), holder.actor.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let pulse = pulse(cx.db, cx.world, &holder.session, &holder.actor)?;
        self.known.insert(key, pulse);
        Ok(pulse)
    }
}

/// Whether `agent` may have what belongs to `owner`: it is its own, or the owner is gone. An agent whose client runs is
/// there, however long it has been silent.
pub(crate) fn may_take(cx: &mut Cx<'_>, owner: i64, agent: i64) -> Result<bool, DbError> {
    if owner == agent {
        return Ok(true);
    }
    let sessions = presence::of_agent(cx.db, cx.world, cx.now, owner)?;
    Ok(!sessions.iter().any(|one| one.is_running || one.status != Status::Offline))
}

/// The latest sign of life of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// When it was last heard of, accurate to 15 seconds. Any actor of a session counts as a sign of its main thread.
    pub(crate) last: Timestamp,
    /// It has ended, or its client's process is gone.
    pub(crate) is_over: bool,
}

pub(crate) const PULSE: &str =
    "select s.last_ms, s.ended_ms, s.client_pid, s.client_began, a.last_ms, a.ended_ms
     from agent_sessions s left join agent_actors a on a.session = s.session and a.actor = $2
     where s.session = $1";

/// Whether an actor is there. `None` if it is unknown.
pub(crate) fn pulse(
    db: &mut dyn Db,
    world: &dyn World,
    session: &str,
    actor: &str,
) -> Result<Option<Pulse>, DbError> {
    let found = db.first(PULSE, &[session.into(), actor.into()], |row| {
        let process = Process { pid: row.opt_int(2)?, began: row.opt_int(3)? };
        let last = if actor == MAIN { row.opt_int(0)? } else { row.opt_int(4)? };
        let has_ended = row.opt_int(1)?.is_some() || row.opt_int(5)?.is_some();
        let is_gone = !has_ended && process.is_gone(world);
        Ok(last.map(|last| (Pulse { last: Timestamp(last), is_over: has_ended }, is_gone)))
    })?;
    let Some((mut pulse, is_gone)) = found.flatten() else { return Ok(None) };
    if is_gone {
        pulse.is_over = processes::living(db, world, session, None)?.is_none();
    }
    Ok(Some(pulse))
}

/// When a subagent began. `None` for the main thread and for unknown subagents.
pub(crate) fn sub_began(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Timestamp>, DbError> {
    db.first(
        "select started_ms from agent_actors where session = $1 and actor = $2",
        &[session.into(), actor.into()],
        |row| Ok(Timestamp(row.int(0)?)),
    )
}

pub(crate) const PROCESS: &str =
    "select client_pid, client_began from agent_sessions where session = $1";

/// The process that a session's client runs in.
fn process(db: &mut dyn Db, session: &str) -> Result<Process, DbError> {
    const OF_SESSION: Memorable =
        Memorable { name: "process of a session", tables: &["agent_sessions"] };
    let read = |db: &mut (dyn Db + '_)| {
        let found = db.first(PROCESS, &[session.into()], |row| {
            Ok(Process { pid: row.opt_int(0)?, began: row.opt_int(1)? })
        })?;
        Ok(found.filter(|process| process.is_known()).unwrap_or(Process::UNKNOWN))
    };
    Ok(*db.remembered(OF_SESSION, [session, ""], read)?)
}

/// The session and actor that `who` acts as. If only the agent is known, this is its newest open session.
pub(crate) fn seat(db: &mut dyn Db, who: &Who) -> Result<Option<(String, String)>, DbError> {
    if !who.sub.is_empty() {
        return db.first(
            "select session, actor from agent_actors where agent = $1 and name = $2",
            &[who.agent.into(), who.sub.as_str().into()],
            |row| Ok((row.text(0)?, row.text(1)?)),
        );
    }
    if let Some(session) = &who.session {
        return Ok(Some((session.as_str().to_owned(), MAIN.to_owned())));
    }
    db.first(
        "select session from agent_sessions where agent = $1 and ended_ms is null
         order by last_ms desc limit 1",
        &[who.agent.into()],
        |row| Ok((row.text(0)?, MAIN.to_owned())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::signs_of_life_do_not_count(None, 60, 50, 60)]
    #[case::silent_since_it_was_taken(Some(600), 600, 0, 600)]
    #[case::heard_of_since(Some(600), 600, 300, 900)]
    #[case::a_longer_time_of_its_own(Some(600), 5_000, 300, 5_000)]
    fn a_term_ends(
        #[case] ttl_ms: Option<i64>,
        #[case] expires: i64,
        #[case] last: i64,
        #[case] expected: i64,
    ) {
        let term = Term { expires: Timestamp(expires), ttl_ms };
        assert_eq!(term.end(Timestamp(last)), Timestamp(expected));
    }
}
