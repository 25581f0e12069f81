//! What an event means for leases. Before an edit its file is taken or the edit refused; afterwards the lease is
//! confirmed. The end of a turn releases everything.

use substrate_core::facts::Place;
use substrate_core::verdict::Permission;
use substrate_core::{
    Activity, Cx, DbError, Event, EventKind, FeatureError, Outcome, Settings, ToolClass, Wish,
};

use super::history::{self, LeaseChange};
use super::leases::{self, Lease};
use super::release::{self, Held};
use super::status::{self, Blocker, FileStatus, Hold, PROVISIONAL_MS};
use super::words::ForeignChange;
use super::{after, before, files, waiting, words};
use crate::identity::holder::Holder;

/// Whether the event looks at files that it names only after the database was read.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    after::looks(event, settings) || before::looks(event, settings)
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if cx.settings.word("locks.mode") == "off" {
        return Ok(Vec::new());
    }
    let class = event.tool().map(|call| call.class);
    let mut out = match (event.kind, class) {
        (EventKind::PreToolUse, Some(ToolClass::Edit)) => before_edit(cx, event)?,
        (EventKind::PreToolUse, Some(ToolClass::Shell)) => {
            let mut out = before::writes(cx, event)?;
            out.extend(before::sweeps(cx, event)?);
            out
        }
        (EventKind::PostToolUse, Some(ToolClass::Edit)) => after_edit(cx, event)?,
        _ if after::is_after_shell(event) => after::after_shell(cx, event)?,
        _ => Vec::new(),
    };
    out.extend(waiting::riding(cx, event)?);
    Ok(out)
}

fn before_edit(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let must_know = cx.settings.word("locks.mode") == "enforce" && event.session.is_some();
    let Some(me) = Holder::of_event(cx, event) else {
        // The actor could not be identified.
        let is_leased = must_know && !files::leased(cx, event).is_empty();
        return Ok(is_leased.then(not_taken).into_iter().collect());
    };
    if must_know && files::is_unknown(cx, event) {
        return Ok(vec![not_taken()]);
    }
    let mut out = Vec::new();
    for place in files::named(cx, event) {
        if let FileStatus::Taken(blocker) = status::of(cx, &me, &place)? {
            out.push(held_wish(cx, event, &place, &blocker)?);
        }
    }
    Ok(out)
}

/// What an actor is told when it wants to change a file that another holds.
pub(super) fn held_wish(
    cx: &mut Cx<'_>,
    event: &Event,
    place: &Place,
    blocker: &Blocker,
) -> Result<Wish, DbError> {
    let reason = words::held(cx, &place.relative, blocker)?;
    let next = words::next(cx, place, &event.cwd, blocker)?;
    if cx.settings.word("locks.mode") == "enforce" {
        return Ok(Wish::Deny { rule: "locks".to_owned(), reason, next });
    }
    let text = format!(
        "{reason} You may edit it anyway, but you could overwrite each other's work. {next}"
    );
    Ok(Wish::context(text, Some(words::show(&place.path, &event.cwd))))
}

/// The edit has happened, so its lease is confirmed. If the person took so long to allow the edit that the lease
/// lapsed, it is taken again, unless another actor has the file by now.
fn after_edit(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Some(me) = Holder::of_event(cx, event) else { return Ok(Vec::new()) };
    let ttl_ms = cx.settings.int("locks.ttl");
    let mut out = Vec::new();
    for place in files::named(cx, event) {
        match status::of(cx, &me, &place)? {
            FileStatus::Own(lease) => {
                leases::confirm(cx.db, &lease.path, cx.now, ttl_ms, &place)?;
                history::mirror_list(cx, &lease.root)?;
            }
            FileStatus::Free { before } if files::is_leased(cx.settings, &place) => {
                take(cx, event, &me, &place, before.as_ref(), Some(ttl_ms))?;
            }
            FileStatus::Taken(blocker) if cx.settings.word("locks.mode") == "enforce" => {
                let file = (&*place.path, &*place.relative);
                out.push(after::tell(
                    cx,
                    &me,
                    &blocker.hold,
                    file,
                    &event.cwd,
                    ForeignChange::Edited,
                )?);
            }
            FileStatus::Taken(_) | FileStatus::Free { .. } => {}
        }
    }
    Ok(out)
}

/// Takes a free file. Without `ttl_ms` the lease is only for the edit that is about to happen.
fn take(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Holder,
    place: &Place,
    before: Option<&Lease>,
    ttl_ms: Option<i64>,
) -> Result<(), DbError> {
    let lease = Lease {
        path: place.path.clone(),
        root: place.root.clone(),
        relative: place.relative.clone(),
        // A file belongs to the project of its own tree, wherever its holder works.
        project: if place.project.is_empty() { &event.project } else { &place.project }.clone(),
        file: place.file.clone(),
        modified: cx.now,
        hold: Hold {
            holder: me.with_process(cx)?,
            reason: String::new(),
            acquired: cx.now,
            is_provisional: ttl_ms.is_none(),
            expires: cx.now.plus_ms(ttl_ms.unwrap_or(PROVISIONAL_MS)),
            ttl_ms: ttl_ms.unwrap_or(PROVISIONAL_MS),
        },
    };
    store(cx, &lease, place.changed_ms, before)
}

/// Stores the lease and notes it in history and mirrors. `seen` is the time stamp of its file.
pub(super) fn store(
    cx: &mut Cx<'_>,
    lease: &Lease,
    seen: Option<i64>,
    before: Option<&Lease>,
) -> Result<(), DbError> {
    leases::take(cx.db, lease, seen)?;
    let me = &lease.hold.holder;
    let who = me.address(cx)?;
    let other = before.filter(|before| !before.hold.holder.is_same(me));
    let (what, detail) = match other {
        Some(before) => {
            (LeaseChange::TakenOver, format!("from {}", before.hold.holder.address(cx)?))
        }
        None => (LeaseChange::Acquired, String::new()),
    };
    history::add(cx.db, &lease.path, &who, what, &detail, cx.now)?;
    history::mirror_decision(cx, &lease.root, &who, what, &lease.relative);
    history::mirror_list(cx, &lease.root)
}

/// The lease could not be stored, so the edit is refused, unless the actor already holds every file.
pub(super) fn if_unrecorded(cx: &mut Cx<'_>, event: &Event) -> Option<Wish> {
    let is_edit =
        event.kind == EventKind::PreToolUse && cx.settings.word("locks.mode") == "enforce";
    let me = Holder::of_event(cx, event).filter(|_| is_edit)?;
    let files = files::leased(cx, event);
    let mut is_own = |place| matches!(status::of(cx, &me, place), Ok(FileStatus::Own(_)));
    (!files.iter().all(&mut is_own)).then(not_taken)
}

fn not_taken() -> Wish {
    Wish::Deny {
        rule: "locks".to_owned(),
        reason: "The lease on this file could not be taken just now.".to_owned(),
        next: "Try the same edit again.".to_owned(),
    }
}

/// Leases that are checked when one of several clients ends. Any others end with its process.
const MAX_OF_ONE: i64 = 1_000;

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let class = event.tool().map(|call| call.class);
    if cx.settings.word("locks.mode") != "off" {
        match (event.kind, class) {
            (EventKind::PreToolUse, Some(ToolClass::Edit)) => record_edit(cx, event, outcome)?,
            (EventKind::PreToolUse, Some(ToolClass::Shell)) => {
                before::record(cx, event, outcome)?;
            }
            (EventKind::PostToolUseFailure, Some(ToolClass::Edit)) => failed_edit(cx, event)?,
            // A turn that waits for mail also counts as ended, so that no one waits for a waiting agent.
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
        status::record_calls(cx, event, outcome)?;
        waiting::record(cx, event, outcome)?;
    }
    history::log_call(cx, event, outcome);
    history::log_event(cx, event, outcome);
    Ok(())
}

/// Takes the files of an edit that is allowed. If it was refused, the holders learn who wants their files.
fn record_edit(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    let Some(me) = Holder::of_event(cx, event) else { return Ok(()) };
    let is_denied = matches!(outcome.verdict.permission, Some(Permission::Deny { .. }));
    for place in files::named(cx, event) {
        match status::of(cx, &me, &place)? {
            FileStatus::Taken(blocker) => {
                let what = (&*place.path, &*place.relative);
                waiting::wanted(cx, &me, &blocker, what, is_denied.then_some(&*place.root))?;
            }
            FileStatus::Free { before } if !is_denied && files::is_leased(cx.settings, &place) => {
                take(cx, event, &me, &place, before.as_ref(), None)?;
            }
            // Prolonged only when half over, so that repeated tries write nothing.
            FileStatus::Own(lease)
                if !is_denied
                    && lease.hold.is_provisional
                    && lease.hold.expires.since(cx.now) < PROVISIONAL_MS / 2 =>
            {
                // A holder is never refused, so a failure here is only logged.
                if let Err(error) =
                    leases::prolong(cx.db, &lease.path, cx.now.plus_ms(PROVISIONAL_MS))
                {
                    cx.troubles.push(error.to_string());
                }
            }
            FileStatus::Free { .. } | FileStatus::Own(_) => {}
        }
    }
    Ok(())
}

/// The edit changed nothing, so a lease that was only for this edit is released.
fn failed_edit(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let Some(me) = Holder::of_event(cx, event) else { return Ok(()) };
    for place in files::named(cx, event) {
        if let Some(lease) = leases::one(cx.db, &place.path)?
            && lease.hold.holder.is_same(&me)
            && lease.hold.is_provisional
        {
            let held = Held { leases: &[lease], globs: &[] };
            release::these(cx, held, LeaseChange::Released)?;
        }
    }
    Ok(())
}

/// Whether a turn ended without a Stop.
pub(super) fn is_interrupted(cx: &Cx<'_>, event: &Event) -> bool {
    matches!(event.activity(), Some(Activity::Idle { .. }))
        && cx.who.as_ref().is_some_and(|who| !who.has_stopped)
}

/// One of several terminals was closed. Only what it held is released.
fn client_left(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let (Some(session), Some(pid)) = (&event.session, event.client_pid) else { return Ok(()) };
    let leases = leases::of_holder(cx.db, session.as_str(), event.actor.key(), MAX_OF_ONE)?;
    let is_its = |lease: &Lease| lease.hold.holder.process.pid == Some(i64::from(pid));
    let its: Vec<Lease> = leases.into_iter().filter(is_its).collect();
    release::these(cx, Held { leases: &its, globs: &[] }, LeaseChange::Released)?;
    Ok(())
}

fn stopped(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let Some(session) = &event.session else { return Ok(()) };
    // The compaction fork holds nothing, and its end ends no turn.
    if !event.actor.is_compaction_fork() {
        release::of_actor(cx, session.as_str(), event.actor.key(), LeaseChange::Released)?;
    }
    Ok(())
}
