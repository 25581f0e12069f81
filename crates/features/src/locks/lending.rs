//! Lending: a parent that waits for its subagent holds nothing against it.
//!
//! While a call that starts a subagent is open, its caller does nothing else. So subagents that began since then may
//! edit the caller's files. Siblings still exclude each other.

use std::rc::Rc;

use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Cx, Db, DbError, Detail, Event, EventKind, Memorable, Outcome, StartSource, Timestamp,
    ToolClass,
};

use super::policy::is_interrupted;
use crate::identity::book::MAIN;
use crate::identity::holder::{self, Holder};

/// Notes which calls that start subagents are open. A call that runs in the background ends at once and never counts.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
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
                begin(cx.db, session, use_id, actor, cx.now)?;
            }
        }
        EventKind::PostToolUse | EventKind::PostToolUseFailure if call.is_some() => {
            end(cx.db, session, use_id)?;
        }
        // An interrupted call has no end event.
        EventKind::UserPromptSubmit
        | EventKind::Stop
        | EventKind::SubagentStop
        | EventKind::Activity
            if (event.kind != EventKind::Activity || is_interrupted(cx, event))
                && !open(cx.db, session, actor)?.is_empty() =>
        {
            end_of_actor(cx.db, session, actor)?;
        }
        EventKind::SessionStart if is_new(event) => end_all(cx.db, session)?,
        EventKind::SessionEnd => end_all(cx.db, session)?,
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
pub(super) fn open(
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

/// Forgets at most `limit` calls that never ended, and counts them.
pub(super) fn forget(db: &mut dyn Db, before: Timestamp, limit: i64) -> Result<usize, DbError> {
    db.execute(
        "delete from lease_agent_calls where (session, use_id) in
           (select session, use_id from lease_agent_calls where began_ms < $1 limit $2)",
        &[before.0.into(), limit.into()],
    )
}

fn begin(
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

fn end(db: &mut dyn Db, session: &str, use_id: &str) -> Result<(), DbError> {
    let params = [session.into(), use_id.into()];
    db.execute("delete from lease_agent_calls where session = $1 and use_id = $2", &params)?;
    Ok(())
}

fn end_of_actor(db: &mut dyn Db, session: &str, actor: &str) -> Result<(), DbError> {
    let params = [session.into(), actor.into()];
    db.execute("delete from lease_agent_calls where session = $1 and actor = $2", &params)?;
    Ok(())
}

fn end_all(db: &mut dyn Db, session: &str) -> Result<(), DbError> {
    db.execute("delete from lease_agent_calls where session = $1", &[session.into()])?;
    Ok(())
}
