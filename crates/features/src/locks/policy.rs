//! What an event means for leases: edits of what others hold are refused, edits that happened are confirmed.

use substrate_core::facts::Place;
use substrate_core::{Cx, DbError, Event, EventKind, FeatureError, Settings, ToolClass, Wish};

use super::life::{Claim, PROVISIONAL_MS};
use super::ops::{self, Lease};
use super::ops_history::{self, What};
use super::owner::Owner;
use super::standing::{self, Holder, Standing};
use super::words::How;
use super::{bypass, files, git, mirror, notes, shell_writes, words};

/// Which files are looked at depends on who holds any.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    bypass::looks(event, settings) || shell_writes::looks(event, settings)
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if cx.settings.word("locks.mode") == "off" {
        return Ok(Vec::new());
    }
    let class = event.tool().map(|call| call.class);
    let mut out = match (event.kind, class) {
        (EventKind::PreToolUse, Some(ToolClass::Edit)) => before_edit(cx, event)?,
        (EventKind::PreToolUse, Some(ToolClass::Shell)) => {
            let mut out = shell_writes::before_shell(cx, event)?;
            out.extend(git::before_shell(cx, event)?);
            out
        }
        (EventKind::PostToolUse, Some(ToolClass::Edit)) => after_edit(cx, event)?,
        _ if bypass::is_after_shell(event) => bypass::after_shell(cx, event)?,
        _ => Vec::new(),
    };
    out.extend(notes::riding(cx, event)?);
    Ok(out)
}

fn before_edit(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let must_know = cx.settings.word("locks.mode") == "enforce" && event.session.is_some();
    let Some(me) = Owner::of_event(cx, event) else {
        // Whose edit it is could not be found out.
        let is_leased = must_know && !files::leased(cx, event).is_empty();
        return Ok(is_leased.then(not_taken).into_iter().collect());
    };
    if must_know && files::is_unknown(cx, event) {
        return Ok(vec![not_taken()]);
    }
    let mut out = Vec::new();
    for place in files::named(cx, event) {
        if let Standing::Taken(holder) = standing::of(cx, &me, &place)? {
            out.push(held_wish(cx, event, &place, &holder)?);
        }
    }
    Ok(out)
}

/// What an actor is told that wants to change a file which another holds.
pub(super) fn held_wish(
    cx: &mut Cx<'_>,
    event: &Event,
    place: &Place,
    holder: &Holder,
) -> Result<Wish, DbError> {
    let reason = words::held(cx, &place.relative, holder)?;
    let next = words::next(cx, place, &event.cwd, holder)?;
    if cx.settings.word("locks.mode") == "enforce" {
        return Ok(Wish::Deny { rule: "locks".to_owned(), reason, next });
    }
    let text =
        format!("{reason} Nothing keeps you off it, but you may overwrite each other. {next}");
    Ok(Wish::context(text, Some(words::show(&place.path, &event.cwd))))
}

/// The edit has happened: the lease is real now. Whoever had to wait so long for a person's consent that the lease was
/// over gets it again, unless somebody else has it.
fn after_edit(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Some(me) = Owner::of_event(cx, event) else { return Ok(Vec::new()) };
    let ttl_ms = cx.settings.int("locks.ttl");
    let mut out = Vec::new();
    for place in files::named(cx, event) {
        match standing::of(cx, &me, &place)? {
            Standing::Own(lease) => {
                ops::confirm(cx.db, &lease.path, cx.now, ttl_ms, &place)?;
                mirror::changed(cx, &lease.root)?;
            }
            Standing::Free { before } if files::is_leased(cx.settings, &place) => {
                take(cx, event, &me, &place, before.as_ref(), Some(ttl_ms))?;
            }
            Standing::Taken(holder) if cx.settings.word("locks.mode") == "enforce" => {
                let file = (&*place.path, &*place.relative);
                out.push(bypass::tell(cx, &me, &holder.claim, file, &event.cwd, How::Edited)?);
            }
            Standing::Taken(_) | Standing::Free { .. } => {}
        }
    }
    Ok(out)
}

/// Takes a file that is free. Without a time to live it is only for the edit that is about to happen.
pub(super) fn take(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    place: &Place,
    before: Option<&Lease>,
    ttl_ms: Option<i64>,
) -> Result<(), DbError> {
    let lease = Lease {
        path: place.path.clone(),
        root: place.root.clone(),
        relative: place.relative.clone(),
        // A file belongs to the project of its own tree, wherever the one who takes it works.
        project: if place.project.is_empty() { &event.project } else { &place.project }.clone(),
        file: place.file.clone(),
        modified: cx.now,
        claim: Claim {
            owner: me.with_process(cx)?,
            reason: String::new(),
            acquired: cx.now,
            is_provisional: ttl_ms.is_none(),
            expires: cx.now.plus_ms(ttl_ms.unwrap_or(PROVISIONAL_MS)),
            ttl_ms: ttl_ms.unwrap_or(PROVISIONAL_MS),
        },
    };
    taken(cx, &lease, place.changed_ms, before)
}

/// Writes the lease, with all that follows from it. `seen` is the stamp of its file.
pub(super) fn taken(
    cx: &mut Cx<'_>,
    lease: &Lease,
    seen: Option<i64>,
    before: Option<&Lease>,
) -> Result<(), DbError> {
    ops::take(cx.db, lease, seen)?;
    let me = &lease.claim.owner;
    let who = me.address(cx)?;
    let other = before.filter(|before| !before.claim.owner.is_same(me));
    let (what, detail) = match other {
        Some(before) => (What::TakenOver, format!("from {}", before.claim.owner.address(cx)?)),
        None => (What::Acquired, String::new()),
    };
    ops_history::add(cx.db, &lease.path, &who, what, &detail, cx.now)?;
    mirror::decided(cx, &lease.root, &who, what, &lease.relative);
    mirror::changed(cx, &lease.root)
}

/// The lease could not be noted: the edit must not happen as if it had been. A holder has its lease already.
pub(super) fn if_unrecorded(cx: &mut Cx<'_>, event: &Event) -> Option<Wish> {
    let is_edit =
        event.kind == EventKind::PreToolUse && cx.settings.word("locks.mode") == "enforce";
    let me = Owner::of_event(cx, event).filter(|_| is_edit)?;
    let files = files::leased(cx, event);
    let mut is_own = |place| matches!(standing::of(cx, &me, place), Ok(Standing::Own(_)));
    (!files.iter().all(&mut is_own)).then(not_taken)
}

fn not_taken() -> Wish {
    Wish::Deny {
        rule: "locks".to_owned(),
        reason: "The lease on this file could not be taken just now.".to_owned(),
        next: "Try the same edit again.".to_owned(),
    }
}
