//! Lines that plainly write what others hold: refused as an edit is, in the same words.
//!
//! Nothing is taken: a line may write for many reasons, and only an edit says that its actor works on a file.

use substrate_core::facts::{Found, Place};
use substrate_core::{Cx, DbError, Event, EventKind, Outcome, Settings, ToolClass, Wish};

use super::life::Lives;
use super::owner::Owner;
use super::standing::{self, Holder, Standing};
use super::sweep::Reach;
use super::writes::{self, Manner, Written};
use super::{files, git, lending, ops, ops_globs, policy, record};
use crate::shell;

/// Files that a refusal names.
const MAX_NAMED: usize = 3;

/// Whether the event is a line that may write.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.word("locks.mode") != "off" && writing_line(event).is_some()
}

fn writing_line(event: &Event) -> Option<&str> {
    let call = event.tool().filter(|call| call.class == ToolClass::Shell)?;
    let line = call.command.as_deref().filter(|_| event.kind == EventKind::PreToolUse)?;
    writes::may_write(line).then_some(line)
}

pub(super) fn before_shell(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Held { files, is_unknown } = held(cx, event)?;
    let mut out = Vec::new();
    for (place, holder) in &files {
        out.push(policy::held_wish(cx, event, place, holder)?);
    }
    if out.is_empty() && is_unknown && cx.settings.word("locks.mode") == "enforce" {
        out.push(not_known());
    }
    Ok(out)
}

/// The holders learn who wants their files.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    // A line that was let, or that another rule refused, is not read again.
    if outcome.of("locks").next().is_none() {
        return Ok(());
    }
    let Some(me) = Owner::of_event(cx, event) else { return Ok(()) };
    let is_enforced = cx.settings.word("locks.mode") == "enforce";
    for (place, holder) in held(cx, event)?.files {
        let root = Some(place.root.as_str()).filter(|_| is_enforced);
        record::wanted(cx, &me, &holder, (&place.path, &place.relative), root)?;
    }
    Ok(())
}

/// What a line writes that others hold.
#[derive(Default)]
struct Held {
    files: Vec<(Place, Holder)>,
    /// Which file a path means could not be looked up in time, so nobody knows whether it is held.
    is_unknown: bool,
}

fn held(cx: &mut Cx<'_>, event: &Event) -> Result<Held, DbError> {
    let mut out = Held::default();
    let (Some(line), Some(me)) = (writing_line(event), Owner::of_event(cx, event)) else {
        return Ok(out);
    };
    // Most of the time nobody else holds anything, and neither the line nor a file is looked at.
    if !ops::others_hold(cx.db, &me)? && !ops_globs::others_reserve(cx.db, &me)? {
        return Ok(out);
    }
    let mut lives = Lives::default();
    for written in writes::writes(&shell::read(line)) {
        let Some(Found::Place(place)) = cx.look(files::need(event, &written.taken.path)) else {
            out.is_unknown = true;
            continue;
        };
        let found = match written.taken.reach {
            Reach::File => of_file(cx, event, &me, place, written.manner)?.into_iter().collect(),
            Reach::Below | Reach::Glob { .. } => within(cx, event, &me, &written, &mut lives)?,
        };
        for one in found {
            if out.files.iter().all(|(other, _)| other.path != one.0.path) {
                out.files.push(one);
            }
        }
        if out.files.len() >= MAX_NAMED {
            break;
        }
    }
    out.files.truncate(MAX_NAMED);
    Ok(out)
}

fn of_file(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    place: &Place,
    manner: Manner,
) -> Result<Option<(Place, Holder)>, DbError> {
    let place = from_top(place);
    let mut place = files::rooted(&place, &event.project);
    if place.root.is_empty() || files::is_shared(&place.relative) {
        return Ok(None);
    }
    // One name of several goes without the file.
    if manner == Manner::Removes && place.has_other_names {
        place.file = None;
    }
    let Standing::Taken(holder) = standing::of(cx, me, &place)? else { return Ok(None) };
    // Whether `b/a` is what `cp a b` writes is sure only where somebody holds that very file.
    let is_meant = manner != Manner::Perhaps || holder.glob.is_none();
    Ok(is_meant.then_some((place, holder)))
}

/// Where the path goes on from the top of its tree, that is known only now.
fn from_top(place: &Place) -> Place {
    let path = git::from_top(place);
    if path == place.path {
        return place.clone();
    }
    let relative = files::below(&path, &place.root).unwrap_or_default().to_owned();
    Place { path, relative, file: None, ..place.clone() }
}

/// The files of others in a folder, or that a glob matches.
fn within(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    written: &Written,
    lives: &mut Lives,
) -> Result<Vec<(Place, Holder)>, DbError> {
    let mut out = Vec::new();
    for lease in git::taken_from_others(cx, event, me, &written.taken)? {
        let claim = &lease.claim;
        if claim.owner.is_same(me)
            || (!claim.is_provisional && lending::waits_for(cx, &claim.owner, me)?)
        {
            continue;
        }
        if let Some(until) = lives.until(cx, claim)? {
            let (claim, path) = (claim.clone(), lease.path.clone());
            let holder = Holder { claim, glob: None, other_name: None, until };
            let (root, relative) = (lease.root, lease.relative);
            out.push((Place { path, root, relative, ..Place::default() }, holder));
        }
    }
    Ok(out)
}

fn not_known() -> Wish {
    Wish::Deny {
        rule: "locks".to_owned(),
        reason: "It could not be found out in time whether another agent holds a file that this command writes."
            .to_owned(),
        next: "Try the same command again.".to_owned(),
    }
}
