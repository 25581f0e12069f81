//! Who has a file: the actor that asks, another actor, or no one.
//!
//! A parent that waits for its subagent holds nothing against it. While a call that starts a subagent is open, its caller
//! does nothing else, so subagents that began since then may edit the caller's files. Siblings still exclude each other.

use std::rc::Rc;

use substrate_core::facts::Place;
use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Cx, Db, DbError, Detail, Event, EventKind, Memorable, Outcome, Param, Row, StartSource,
    Timestamp, ToolClass,
};

use super::leases::{self, Lease};
use super::policy::is_interrupted;
use super::reservations::{self, Reservation};
use super::words;
use crate::globs;
use crate::identity::book::MAIN;
use crate::identity::holder::{self, Holder, Pulses, Term};
use crate::retention::Expiring;

/// How long a lease lives that no edit has confirmed.
pub(super) const PROVISIONAL_MS: i64 = 60_000;

/// What a lease and a reserved glob have in common: who holds it, why, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) holder: Holder,
    pub(super) reason: String,
    pub(super) acquired: Timestamp,
    /// Taken for an edit that has not happened yet.
    pub(super) is_provisional: bool,
    pub(super) expires: Timestamp,
    pub(super) ttl_ms: i64,
}

impl Hold {
    /// Reads its ten columns from `at`: those of the holder, reason, acquired_ms, expires_ms, ttl_ms. It counts as
    /// confirmed.
    pub(super) fn read(row: &dyn Row, at: usize) -> Result<Self, DbError> {
        Ok(Self {
            holder: Holder::read(row, at)?,
            reason: row.text(at + 6)?,
            acquired: Timestamp(row.int(at + 7)?),
            is_provisional: false,
            expires: Timestamp(row.int(at + 8)?),
            ttl_ms: row.int(at + 9)?,
        })
    }

    /// The values of those ten columns.
    pub(super) fn params(&self) -> [Param<'_>; 10] {
        let [session, actor, agent, sub, pid, began] = self.holder.params();
        let (reason, acquired) = (self.reason.as_str().into(), self.acquired.0.into());
        let (expires, ttl) = (self.expires.0.into(), self.ttl_ms.into());
        [session, actor, agent, sub, pid, began, reason, acquired, expires, ttl]
    }

    /// When it ends unless the holder gives another sign of life. `None`: it has ended.
    pub(super) fn until(
        &self,
        cx: &mut Cx<'_>,
        pulses: &mut Pulses,
    ) -> Result<Option<Timestamp>, DbError> {
        let ttl_ms = (!self.is_provisional).then_some(self.ttl_ms);
        let term = Term { expires: self.expires, ttl_ms };
        Ok(pulses.liveness(cx, &self.holder, term)?.until())
    }
}

/// Whether a table has a row of another actor. Seeks in one index, however many rows there are.
macro_rules! of_others {
    ($table:literal) => {
        concat!(
            "select 1 from ",
            $table,
            " where session < $1
   union all select 1 from ",
            $table,
            " where session > $1
   union all select 1 from ",
            $table,
            " where session = $1 and actor < $2
   union all select 1 from ",
            $table,
            " where session = $1 and actor > $2 limit 1"
        )
    };
}
pub(super) use of_others;

/// Asks what `of_others` says, once for each state of the table.
pub(super) fn any_of_others(
    db: &mut dyn Db,
    memorable: Memorable,
    sql: &'static str,
    me: &Holder,
) -> Result<bool, DbError> {
    let key = [me.session.as_str(), me.actor.as_str()];
    let read = |db: &mut (dyn Db + '_)| {
        Ok(db.first(sql, &key.map(Into::into), |row| row.int(0))?.is_some())
    };
    Ok(*db.remembered(memorable, key, read)?)
}

/// What an actor that wants a file finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileStatus {
    /// It is free. `before` is a lease of a holder that is gone.
    Free {
        before: Option<Lease>,
    },
    Own(Lease),
    Taken(Blocker),
}

/// Another actor's hold on a file, by a lease or by a reserved glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blocker {
    pub(super) hold: Hold,
    /// The reserved glob that the file is in.
    pub(super) glob: Option<(i64, String)>,
    /// The other name under which the file is held: its path, and the path below its tree.
    pub(super) other_name: Option<(String, String)>,
    /// When it ends unless the holder gives another sign of life.
    pub(super) until: Timestamp,
}

impl Blocker {
    /// The key under which waiters for the file are woken.
    pub(super) fn wake_key(&self, path: &str) -> String {
        match (&self.glob, &self.other_name) {
            (Some((id, _)), _) => words::glob_key(*id),
            (None, Some((other, _))) => words::wake_key(other),
            (None, None) => words::wake_key(path),
        }
    }
}

/// Looks a file up by path and identity, and then in the reserved globs unless it is leased.
///
/// The holder of that exact path is never refused. A lease under another name of the file (a hard link, a renamed
/// folder) only keeps others off.
pub(super) fn of(cx: &mut Cx<'_>, me: &Holder, place: &Place) -> Result<FileStatus, DbError> {
    let found = leases::same(cx.db, &place.path, place.file.as_deref())?;
    let lease = found.iter().find(|lease| lease.path == place.path);
    if let Some(lease) = lease {
        let hold = &lease.hold;
        if hold.holder.is_same(me) {
            let is_late = hold.is_provisional && hold.expires <= cx.now;
            if !is_late && !me.was_restarted(cx, &hold.holder)? {
                return Ok(FileStatus::Own(lease.clone()));
            }
        } else if let Some(until) = kept_until(cx, me, hold)? {
            let hold = hold.clone();
            return Ok(FileStatus::Taken(Blocker { hold, glob: None, other_name: None, until }));
        }
    }
    for Lease { hold, path, relative, .. } in found.iter().filter(|one| one.path != place.path) {
        if !hold.holder.is_same(me)
            && let Some(until) = kept_until(cx, me, hold)?
        {
            let (hold, other_name) = (hold.clone(), Some((path.clone(), relative.clone())));
            return Ok(FileStatus::Taken(Blocker { hold, glob: None, other_name, until }));
        }
    }
    Ok(match reserved_by_other(cx, me, place)? {
        Some(blocker) => FileStatus::Taken(blocker),
        None => FileStatus::Free { before: lease.cloned() },
    })
}

/// Until when another actor's hold keeps `me` off a file, if it does.
fn kept_until(cx: &mut Cx<'_>, me: &Holder, hold: &Hold) -> Result<Option<Timestamp>, DbError> {
    let Some(until) = hold.until(cx, &mut Pulses::default())? else { return Ok(None) };
    // A file that is being edited right now is not lent.
    let is_lent = !hold.is_provisional && waits_for(cx, &hold.holder, me)?;
    Ok((!is_lent).then_some(until))
}

/// Another actor's glob that keeps `me` off the file. Those who share a glob may edit in it.
fn reserved_by_other(
    cx: &mut Cx<'_>,
    me: &Holder,
    place: &Place,
) -> Result<Option<Blocker>, DbError> {
    let found = reservations::in_root(cx.db, &place.root)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut pulses = Pulses::default();
    let (mut shares, mut shared, mut exclusive) = (false, None, None);
    for one in found.iter().filter(|one| globs::matches(&one.glob, &place.relative)) {
        let Some(until) = one.hold.until(cx, &mut pulses)? else { continue };
        let Reservation { id, glob, is_shared, hold, .. } = one;
        if hold.holder.is_same(me) {
            shares = true;
            continue;
        }
        if waits_for(cx, &hold.holder, me)? {
            continue;
        }
        let glob = Some((*id, glob.clone()));
        let blocker = Blocker { hold: hold.clone(), glob, other_name: None, until };
        if *is_shared {
            shared.get_or_insert(blocker)
        } else {
            exclusive.get_or_insert(blocker)
        };
    }
    Ok(exclusive.or_else(|| shared.filter(|_| !shares)))
}

/// Notes which calls that start subagents are open. A call that runs in the background ends at once and never counts.
pub(super) fn record_calls(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), DbError> {
    let Some(session) = event.session.as_ref().map(substrate_core::SafeId::as_str) else {
        return Ok(());
    };
    let call = event.tool().filter(|call| call.class == ToolClass::Agent);
    let actor = event.actor.key();
    // A client whose calls have no ids makes one call at a time.
    let use_id = call.and_then(|call| call.use_id.as_deref()).unwrap_or(actor);
    match event.kind {
        EventKind::PreToolUse if call.is_some() => {
            let is_denied = matches!(outcome.verdict.permission, Some(Permission::Deny { .. }));
            if !is_denied {
                begin_call(cx.db, session, use_id, actor, cx.now)?;
            }
        }
        EventKind::PostToolUse | EventKind::PostToolUseFailure if call.is_some() => {
            end_call(cx.db, session, use_id)?;
        }
        // An interrupted call has no end event.
        EventKind::UserPromptSubmit
        | EventKind::Stop
        | EventKind::SubagentStop
        | EventKind::Activity
            if (event.kind != EventKind::Activity || is_interrupted(cx, event))
                && !open_calls(cx.db, session, actor)?.is_empty() =>
        {
            end_calls_of(cx.db, session, actor)?;
        }
        EventKind::SessionStart if is_new(event) => end_all_calls(cx.db, session)?,
        EventKind::SessionEnd => end_all_calls(cx.db, session)?,
        _ => {}
    }
    Ok(())
}

/// Whether a new conversation begins. A compaction continues the old one, with its open calls.
fn is_new(event: &Event) -> bool {
    let is_compaction =
        matches!(event.detail, Detail::SessionStart { source: StartSource::Compact, .. });
    matches!(event.actor, Actor::Main { .. }) && !is_compaction
}

/// Whether the parent waits for `me`, or for a subagent that started `me`.
pub(super) fn waits_for(cx: &mut Cx<'_>, parent: &Holder, me: &Holder) -> Result<bool, DbError> {
    if parent.session != me.session || parent.is_same(me) || me.actor == MAIN {
        return Ok(false);
    }
    let Some(began) = holder::sub_began(cx.db, &me.session, &me.actor)? else { return Ok(false) };
    let found = cx.db.first(
        "select 1 from lease_agent_calls where session = $1 and actor = $2 and began_ms <= $3",
        &[parent.session.as_str().into(), parent.actor.as_str().into(), began.0.into()],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// The ids of an actor's open calls.
pub(super) fn open_calls(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Rc<Vec<String>>, DbError> {
    const CALLS: Memorable = Memorable { name: "calls that lend", tables: &["lease_agent_calls"] };
    let read = |db: &mut (dyn Db + '_)| {
        db.rows(
            "select use_id from lease_agent_calls where session = $1 and actor = $2",
            &[session.into(), actor.into()],
            |row| row.text(0),
        )
    };
    db.remembered(CALLS, [session, actor], read)
}

/// Calls that never ended.
pub(super) const CALLS_LEFT: Expiring =
    Expiring { table: "lease_agent_calls", key: "session, use_id", when: "began_ms < $1" };

fn begin_call(
    db: &mut dyn Db,
    session: &str,
    use_id: &str,
    actor: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into lease_agent_calls (session, use_id, actor, began_ms) values ($1, $2, $3, $4)
         on conflict (session, use_id) do update set actor = excluded.actor, began_ms = excluded.began_ms",
        &[session.into(), use_id.into(), actor.into(), now.0.into()],
    )?;
    Ok(())
}

fn end_call(db: &mut dyn Db, session: &str, use_id: &str) -> Result<(), DbError> {
    let params = [session.into(), use_id.into()];
    db.execute("delete from lease_agent_calls where session = $1 and use_id = $2", &params)?;
    Ok(())
}

fn end_calls_of(db: &mut dyn Db, session: &str, actor: &str) -> Result<(), DbError> {
    let params = [session.into(), actor.into()];
    db.execute("delete from lease_agent_calls where session = $1 and actor = $2", &params)?;
    Ok(())
}

fn end_all_calls(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute("delete from lease_agent_calls where session = $1", &[session.into()])?;
    Ok(())
}
