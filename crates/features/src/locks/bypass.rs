//! Changes that no edit announced: a file that another actor holds and that changed while a shell command ran. Both sides
//! are told, once. A command that names the file is told even while the holder has a call open which does not. A command
//! that does not name it is told only where it ran alone: the holder had no call open, and no other open call names it.

use substrate_core::{Cx, DbError, Detail, Event, EventKind, Settings, Timestamp, ToolClass, Wish};

use super::life::{Claim, Lives};
use super::ops::{self, Lease, Seen};
use super::ops_history::{self, What};
use super::owner::Owner;
use super::words::{self, How};
use super::{files, lending, naming};
use crate::{journal, mail};

/// Held files that are looked at after a command.
const MAX_LOOKED_AT: i64 = 64;

/// How long a command may have run where the client does not say.
const UNKNOWN_MS: i64 = 120_000;

/// How late a hook may come after the command has ended.
const LATE_MS: i64 = 2_000;

/// A command that failed may have changed files before it did.
pub(super) fn is_after_shell(event: &Event) -> bool {
    matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure)
        && event.tool().is_some_and(|call| call.class == ToolClass::Shell)
}

/// Which files are looked at says who holds them.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.word("locks.mode") != "off" && is_after_shell(event)
}

pub(super) fn after_shell(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Some(me) = Owner::of_event(cx, event) else { return Ok(Vec::new()) };
    // Most of the time nobody else holds anything, and no file is looked at.
    if !ops::others_hold(cx.db, &me)? {
        return Ok(Vec::new());
    }
    let began = began(event);
    let mut lives = Lives::default();
    let mut out = Vec::new();
    for (lease, seen) in held_here(cx, event, &me)? {
        let Some(change) = change(cx, &lease, seen, began) else { continue };
        if lives.until(cx, &lease.claim)?.is_none() {
            continue;
        }
        let owner = &lease.claim.owner;
        let is_lent = lending::waits_for(cx, owner, &me)?;
        let suspect = match is_lent {
            true => Suspect::Holder,
            false => suspect(cx, event, &me, &lease, change.at)?,
        };
        if suspect != Suspect::Other {
            ops::saw(cx.db, &lease.path, change.stamp)?;
        }
        let is_named = match suspect {
            Suspect::Holder | Suspect::Other => continue,
            Suspect::Me { is_named } => is_named,
        };
        let how = match change.stamp {
            Some(_) => How::Changed { is_named },
            None => How::Removed { is_named },
        };
        let file = (&*lease.path, &*lease.relative);
        out.push(tell(cx, &me, &lease.claim, file, &event.cwd, how)?);
    }
    Ok(out)
}

/// Others' newest leases in the tree that the command ran in. That tree is the project's folder, or a folder that the command
/// ran in or below: only where somebody holds something in one of these, it is looked up which.
fn held_here(cx: &mut Cx<'_>, event: &Event, me: &Owner) -> Result<Vec<Seen>, DbError> {
    let above = || std::iter::once(event.cwd.as_str()).chain(folders(&event.cwd));
    let project = Some(event.project.as_str()).filter(|project| above().all(|it| it != *project));
    let mut out = Vec::new();
    for root in above().chain(project) {
        out.extend(ops::others_in_root(cx.db, root, me, MAX_LOOKED_AT)?);
    }
    if !out.is_empty() && files::knows_here(cx, event) {
        let here = files::root_here(cx, event);
        out.retain(|(lease, _)| Some(&lease.root) == here.as_ref());
    }
    Ok(out)
}

/// When the command began, rather too early than too late.
fn began(event: &Event) -> Timestamp {
    let ran = match event.detail {
        Detail::ToolAfter { duration_ms, .. } | Detail::ToolFailed { duration_ms, .. } => {
            duration_ms.unwrap_or(UNKNOWN_MS).max(0)
        }
        _ => 0,
    };
    event.at.plus_ms(-(ran.saturating_add(LATE_MS)))
}

/// What became of a file.
struct Change {
    at: Timestamp,
    /// Its stamp now; nothing where it is not there any more.
    stamp: Option<i64>,
}

/// A change that nobody has seen yet, after the owner's own last edit and while the command ran. While the owner edits,
/// nobody can tell who it was.
fn change(cx: &Cx<'_>, lease: &Lease, seen: Option<i64>, began: Timestamp) -> Option<Change> {
    if lease.claim.is_provisional {
        return None;
    }
    let found = cx.changed(&lease.path)?;
    let stamp = found.itself;
    // A file that is gone says nothing, but the folder that it was in does.
    let at = stamp.or(found.folder)?;
    let own = lease.modified.max(lease.claim.acquired);
    let at = Timestamp(at);
    (stamp != seen && at > own && at > began).then_some(Change { at, stamp })
}

/// The folders that a path is in, the nearest first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(at, _)| &path[..at.max(1)])
}

/// Who changed a file, as far as anybody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspect {
    /// The holder itself, or nobody can tell.
    Holder,
    Me {
        is_named: bool,
    },
    /// Another actor, whose command is still running and names the file. It is told when that ends.
    Other,
}

fn suspect(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    lease: &Lease,
    at: Timestamp,
) -> Result<Suspect, DbError> {
    let owner = &lease.claim.owner;
    let own = match owner.is_person() {
        true => Vec::new(),
        false => {
            // A parent that waits for its subagent does nothing.
            let waiting = lending::open(cx.db, &owner.session, &owner.actor)?;
            journal::running_at(cx.db, &owner.session, &owner.actor, at, &waiting)?
        }
    };
    let command = event.tool().and_then(|call| call.command.as_deref()).unwrap_or_default();
    let is_named = naming::names(command, &lease.path) && !naming::only_reads(command);
    if is_named {
        let is_own = own.iter().any(|call| naming::names(&call.input, &lease.path));
        return Ok(if is_own { Suspect::Holder } else { Suspect::Me { is_named } });
    }
    if !own.is_empty() {
        return Ok(Suspect::Holder);
    }
    let name = lease.path.rsplit('/').next().unwrap_or_default();
    let except = [(&*me.session, &*me.actor), (&*owner.session, &*owner.actor)];
    for (session, actor) in journal::who_named(cx.db, name, except)? {
        let calls = journal::running_at(cx.db, &session, &actor, at, &[])?;
        if calls.iter().any(|call| !call.is_over && naming::names(&call.input, &lease.path)) {
            return Ok(Suspect::Other);
        }
    }
    Ok(Suspect::Me { is_named })
}

/// Tells the holder by mail; the wish tells the one whose edit or command it was.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    me: &Owner,
    claim: &Claim,
    (path, relative): (&str, &str),
    cwd: &str,
    how: How,
) -> Result<Wish, DbError> {
    let (who, holder) = (me.address(cx)?, claim.owner.address(cx)?);
    ops_history::add(cx.db, path, &who, What::Bypassed, &format!("held by {holder}"), cx.now)?;
    let (subject, body) = words::was_changed(&who, relative, how);
    mail::face::note(cx, (claim.owner.agent, &claim.owner.sub), &subject, body, None)?;
    let text = words::you_changed(&holder, relative, how);
    Ok(Wish::context(text, Some(words::show(path, cwd))))
}
