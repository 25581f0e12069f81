//! What came of an event: files taken by edits that may happen, and let go by turns that have ended.

use substrate_core::verdict::Permission;
use substrate_core::{Activity, Cx, DbError, Event, EventKind, FeatureError, Outcome, ToolClass};

use super::life::PROVISIONAL_MS;
use super::ops_history::{self, What};
use super::owner::Owner;
use super::standing::{self, Holder, Standing};
use super::{files, lending, mirror, notes, ops, policy, release, shell_writes, words};
use crate::mail::face;

/// Leases that are looked at when one of several clients ends; what is left over ends with its process.
const MAX_OF_ONE: i64 = 1_000;

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let class = event.tool().map(|call| call.class);
    if cx.settings.word("locks.mode") != "off" {
        match (event.kind, class) {
            (EventKind::PreToolUse, Some(ToolClass::Edit)) => before_edit(cx, event, outcome)?,
            (EventKind::PreToolUse, Some(ToolClass::Shell)) => {
                shell_writes::record(cx, event, outcome)?;
            }
            (EventKind::PostToolUseFailure, Some(ToolClass::Edit)) => failed_edit(cx, event)?,
            // A turn that waits for mail is over as well: nobody shall wait for who waits.
            (EventKind::Stop | EventKind::SubagentStop, _) if outcome.verdict.block.is_none() => {
                stopped(cx, event)?;
            }
            (EventKind::Activity, _) if is_interrupted(cx, event) => stopped(cx, event)?,
            (EventKind::ClientLeft, _) => client_left(cx, event)?,
            (EventKind::SessionEnd, _) => {
                if let Some(session) = &event.session {
                    release::of_session(cx, session.as_str())?;
                }
            }
            _ => {}
        }
        lending::record(cx, event, outcome)?;
        notes::record(cx, event, outcome)?;
    }
    mirror::tool(cx, event, outcome);
    mirror::happened(cx, event, outcome);
    Ok(())
}

/// The files of an edit that nothing refuses are taken; whoever holds one that is refused learns who wants it.
fn before_edit(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    let Some(me) = Owner::of_event(cx, event) else { return Ok(()) };
    let is_denied = matches!(outcome.verdict.permission, Some(Permission::Deny { .. }));
    for place in files::named(cx, event) {
        match standing::of(cx, &me, &place)? {
            Standing::Taken(holder) => {
                let what = (&*place.path, &*place.relative);
                wanted(cx, &me, &holder, what, is_denied.then_some(&*place.root))?;
            }
            Standing::Free { before } if !is_denied && files::is_leased(cx.settings, &place) => {
                policy::take(cx, event, &me, &place, before.as_ref(), None)?;
            }
            // Written only when it is half over: an agent that tries again and again costs nothing.
            Standing::Own(lease)
                if !is_denied
                    && lease.claim.is_provisional
                    && lease.claim.expires.since(cx.now) < PROVISIONAL_MS / 2 =>
            {
                // The lease is there already, and a holder is never refused.
                if let Err(error) = ops::prolong(cx.db, &lease.path, cx.now.plus_ms(PROVISIONAL_MS))
                {
                    cx.troubles.push(error.to_string());
                }
            }
            Standing::Free { .. } | Standing::Own(_) => {}
        }
    }
    Ok(())
}

/// Tells a holder, once, that somebody wants the file. `root` is given where that one was refused it.
pub(super) fn wanted(
    cx: &mut Cx<'_>,
    me: &Owner,
    holder: &Holder,
    (path, relative): (&str, &str),
    root: Option<&str>,
) -> Result<(), DbError> {
    // The holder knows the file by the name it holds.
    let other = holder.other_name.as_ref().map(|(path, relative)| (&**path, &**relative));
    let (path, relative) = other.unwrap_or((path, relative));
    let who = me.address(cx)?;
    let is_new = ops_history::waits(cx.db, path, me, holder.claim.acquired, cx.now)?;
    if let Some(root) = root {
        mirror::decided(cx, root, &who, What::Denied, relative);
    }
    if !is_new {
        return Ok(());
    }
    let owner = &holder.claim.owner;
    if root.is_some() {
        let detail = format!("held by {}", owner.address(cx)?);
        ops_history::add(cx.db, path, &who, What::Denied, &detail, cx.now)?;
    }
    let freed = match &holder.glob {
        Some((_, glob)) => words::in_root(path, relative, glob),
        None => path.to_owned(),
    };
    if owner.is_person() {
        let (subject, body) = words::waits(&who, relative, &freed);
        // Sixty who wait for one file are one message, not sixty.
        let key = format!("waits {path}");
        return face::note(cx, (owner.agent, &owner.sub), &subject, body, Some(key));
    }
    let glob = holder.glob.as_ref().map(|(id, _)| *id);
    let said = words::waits_for_you(&who, relative, &freed);
    notes::leave(cx.db, owner, (path, glob), &said, cx.now)
}

/// Nothing was changed, so a lease that was only for this edit goes.
fn failed_edit(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let Some(me) = Owner::of_event(cx, event) else { return Ok(()) };
    for place in files::named(cx, event) {
        if let Some(lease) = ops::one(cx.db, &place.path)?
            && lease.claim.owner.is_same(&me)
            && lease.claim.is_provisional
        {
            release::these(cx, &[lease], &[], What::Released)?;
        }
    }
    Ok(())
}

/// A turn is over that no Stop has ended.
pub(super) fn is_interrupted(cx: &Cx<'_>, event: &Event) -> bool {
    matches!(event.activity(), Some(Activity::Idle { .. }))
        && cx.who.as_ref().is_some_and(|who| !who.has_stopped)
}

/// What the closed terminal held goes; the other one keeps its own.
fn client_left(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let (Some(session), Some(pid)) = (&event.session, event.client_pid) else { return Ok(()) };
    let leases = ops::of_owner(cx.db, session.as_str(), event.actor.key(), MAX_OF_ONE)?;
    let is_its = |lease: &ops::Lease| lease.claim.owner.pid == Some(i64::from(pid));
    let its: Vec<ops::Lease> = leases.into_iter().filter(is_its).collect();
    release::these(cx, &its, &[], What::Released)?;
    Ok(())
}

fn stopped(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let Some(session) = &event.session else { return Ok(()) };
    // The compaction fork is nobody, and has nothing.
    if !event.actor.is_compaction_fork() {
        release::of_actor(cx, session.as_str(), event.actor.key(), What::Released)?;
    }
    Ok(())
}
