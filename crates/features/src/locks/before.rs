//! Before a shell command: lines that plainly write or sweep away what others hold are refused, like edits.
//!
//! A command takes no leases: a line may write for many reasons, and only an edit shows that its actor works on a file.

use substrate_core::facts::{Found, Place};
use substrate_core::{Cx, DbError, Event, EventKind, Outcome, Settings, ToolClass, Wish};

use super::leases::{self, Lease};
use super::status::{self, Blocker, FileStatus};
use super::{files, policy, reservations, waiting, words};
use crate::globs;
use crate::identity::holder::{Holder, Pulses};
use crate::shell::files::sweeps::{self, Sweep, SweepScope};
use crate::shell::files::writes::{self, Manner, Written};
use crate::shell::files::{Extent, PathScope, plain};
use crate::shell::{self, TOP, joined};

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

pub(super) fn writes(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let HeldWrites { files, is_unknown } = held(cx, event)?;
    let mut out = Vec::new();
    for (place, blocker) in &files {
        out.push(policy::held_wish(cx, event, place, blocker)?);
    }
    if out.is_empty() && is_unknown && cx.settings.word("locks.mode") == "enforce" {
        out.push(not_known());
    }
    Ok(out)
}

/// Tells the holders who wants their files.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    // A line that passed, or that another rule refused, is not parsed again.
    if outcome.of("locks").next().is_none() {
        return Ok(());
    }
    let Some(me) = Holder::of_event(cx, event) else { return Ok(()) };
    let is_enforced = cx.settings.word("locks.mode") == "enforce";
    for (place, blocker) in held(cx, event)?.files {
        let root = Some(place.root.as_str()).filter(|_| is_enforced);
        waiting::wanted(cx, &me, &blocker, (&place.path, &place.relative), root)?;
    }
    Ok(())
}

/// What a line writes although others hold it.
#[derive(Default)]
struct HeldWrites {
    files: Vec<(Place, Blocker)>,
    /// A path could not be looked up in time, so it is unknown whether it is held.
    is_unknown: bool,
}

fn held(cx: &mut Cx<'_>, event: &Event) -> Result<HeldWrites, DbError> {
    let mut out = HeldWrites::default();
    let (Some(line), Some(me)) = (writing_line(event), Holder::of_event(cx, event)) else {
        return Ok(out);
    };
    // Mostly no one else holds anything, and neither the line nor a file is looked at.
    if !leases::others_hold(cx.db, &me)? && !reservations::others_reserve(cx.db, &me)? {
        return Ok(out);
    }
    let mut pulses = Pulses::default();
    for written in writes::writes(&shell::read(line)) {
        let Some(Found::Place(place)) = cx.look(files::need(event, &written.scope.path)) else {
            out.is_unknown = true;
            continue;
        };
        let found = match written.scope.extent {
            Extent::File => of_file(cx, event, &me, place, written.manner)?.into_iter().collect(),
            Extent::Below | Extent::Glob { .. } => within(cx, event, &me, &written, &mut pulses)?,
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
    me: &Holder,
    place: &Place,
    manner: Manner,
) -> Result<Option<(Place, Blocker)>, DbError> {
    let place = place_from_top(place);
    let mut place = files::rooted(&place, &event.project);
    if place.root.is_empty() || files::is_shared(&place.relative) {
        return Ok(None);
    }
    // Removing one of several names keeps the file.
    if manner == Manner::Removes && place.has_other_names {
        place.file = None;
    }
    let FileStatus::Taken(blocker) = status::of(cx, me, &place)? else { return Ok(None) };
    // `cp a b` writes `b/a` for certain only if that file exists, which a lease on it shows.
    let is_meant = manner != Manner::Perhaps || blocker.glob.is_none();
    Ok(is_meant.then_some((place, blocker)))
}

/// The same place, with its path resolved from the top of its working tree.
fn place_from_top(place: &Place) -> Place {
    let path = from_top(place);
    if path == place.path {
        return place.clone();
    }
    let relative = files::below(&path, &place.root).unwrap_or_default().to_owned();
    Place { path, relative, file: None, ..place.clone() }
}

/// Files of others in a folder, or that a glob matches.
fn within(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Holder,
    written: &Written,
    pulses: &mut Pulses,
) -> Result<Vec<(Place, Blocker)>, DbError> {
    let mut out = Vec::new();
    for lease in held_in_scope(cx, event, me, &written.scope)? {
        let hold = &lease.hold;
        if hold.holder.is_same(me)
            || (!hold.is_provisional && status::waits_for(cx, &hold.holder, me)?)
        {
            continue;
        }
        if let Some(until) = hold.until(cx, pulses)? {
            let (hold, path) = (hold.clone(), lease.path.clone());
            let blocker = Blocker { hold, glob: None, other_name: None, until };
            let (root, relative) = (lease.root, lease.relative);
            out.push((Place { path, root, relative, ..Place::default() }, blocker));
        }
    }
    Ok(out)
}

fn not_known() -> Wish {
    Wish::Deny {
        rule: "locks".to_owned(),
        reason: "Substrate could not check in time whether another agent holds a file that this command writes."
            .to_owned(),
        next: "Try the same command again.".to_owned(),
    }
}

/// Leases of others that are checked. The limit is beyond any real number, since an unchecked one would be swept away.
const MAX_LOOKED_AT: i64 = 100_000;

pub(super) fn sweeps(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let setting = cx.settings.word("locks.git");
    let command = event.tool().and_then(|call| call.command.as_deref()).unwrap_or_default();
    let Some(me) = Holder::of_event(cx, event).filter(|_| setting != "off") else {
        return Ok(Vec::new());
    };
    for swept in sweeps::sweeps(command) {
        let hit = held_by_others(cx, event, &me, &swept)?;
        if hit.is_empty() {
            continue;
        }
        let reason = reason(cx, &swept, &hit)?;
        let rule = "locks.git".to_owned();
        let is_ask = setting == "ask";
        return Ok(vec![if is_ask {
            Wish::Ask { rule, reason }
        } else {
            Wish::Deny { rule, reason, next: next(&swept, &hit, &event.cwd) }
        }]);
    }
    Ok(Vec::new())
}

/// The live leases of others that the command would sweep away.
fn held_by_others(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Holder,
    swept: &Sweep,
) -> Result<Vec<Lease>, DbError> {
    let found = match &swept.scope {
        SweepScope::Tree => match files::root_of(cx, event, swept) {
            Some(root) => {
                let others = leases::others_in_root(cx.db, &root, me, MAX_LOOKED_AT)?;
                others.into_iter().map(|(lease, _)| lease).collect()
            }
            None => Vec::new(),
        },
        SweepScope::Paths(paths) => {
            let mut found = Vec::new();
            for scope in paths {
                found.extend(held_in_scope(cx, event, me, scope)?);
            }
            found
        }
    };
    let mut pulses = Pulses::default();
    let mut out: Vec<Lease> = Vec::new();
    for lease in found {
        let is_other =
            !lease.hold.holder.is_same(me) && out.iter().all(|other| other.path != lease.path);
        if is_other && lease.hold.until(cx, &mut pulses)?.is_some() {
            out.push(lease);
        }
    }
    Ok(out)
}

fn held_in_scope(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Holder,
    scope: &PathScope,
) -> Result<Vec<Lease>, DbError> {
    let Some(place) = cx.facts.place(&scope.path, &event.cwd) else { return Ok(Vec::new()) };
    let path = from_top(place);
    if let Extent::Glob { glob, as_git, is_deep } = &scope.extent {
        let mut found = leases::others_below(cx.db, &path, me, MAX_LOOKED_AT)?;
        if !found.is_empty() {
            let globbed = globs::GlobScope::new(glob, *as_git, *is_deep);
            let below =
                |lease: &Lease| files::below(&lease.path, &path).map(|below| globbed.covers(below));
            found.retain(|lease| below(lease) == Some(true));
        }
        return Ok(found);
    }
    let mut found = Vec::new();
    // A renamed file is still the same file. Removing one of several names keeps it.
    let file = place.file.as_deref().filter(|_| path == place.path && !place.has_other_names);
    for lease in leases::same(cx.db, &path, file)?.iter() {
        // A subagent may remove the files that its parent lends it.
        if lease.hold.is_provisional || !status::waits_for(cx, &lease.hold.holder, me)? {
            found.push(lease.clone());
        }
    }
    if scope.extent == Extent::Below {
        found.extend(leases::others_below(cx.db, &path, me, MAX_LOOKED_AT)?);
    }
    Ok(found)
}

/// Resolves a path that starts at the top of its working tree, which is known only now.
fn from_top(place: &Place) -> String {
    let top = place.path.split_once(&format!("/{TOP}"));
    top.map_or_else(|| place.path.clone(), |(_, below)| format!("{}{below}", place.root))
}

fn reason(cx: &mut Cx<'_>, swept: &Sweep, hit: &[Lease]) -> Result<String, DbError> {
    let mut named = Vec::new();
    for lease in hit.iter().take(MAX_NAMED) {
        let who = lease.hold.holder.address(cx)?;
        named.push(format!("`{}` ({who})", words::path(&lease.relative)));
    }
    let more = hit.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // `git clean` removes only untracked files, and which ones those are is unknown here.
    let would = if swept.what == "git clean" { "could" } else { "would" };
    Ok(format!(
        "`{}` {would} sweep away files that others are editing in this working tree: {}{more}.",
        swept.what,
        named.join(", "),
    ))
}

/// A next step that itself passes, because it touches no file of others.
fn next(swept: &Sweep, hit: &[Lease], cwd: &str) -> String {
    let step = match swept.what {
        "git stash" => "Name only your own files, `git stash push -- PATH…`, or commit them",
        "git reset" | "git checkout" | "git restore" | "git checkout-index" | "git read-tree" => {
            "Name only your own files, `git restore PATH…`"
        }
        "git clean" => "Remove only your own files, `rm PATH…`",
        "git pull --autostash" => {
            "Commit your own files and merge with `git pull --no-rebase --no-autostash`, which keeps what others have changed"
        }
        "git switch" | "git merge --autostash" | "git rebase --autostash" => {
            "Use a working tree of your own, `git worktree add ../PATH BRANCH`"
        }
        _ => {
            let wait = hit.first().map_or_else(String::new, |lease| words::wait(&lease.path, cwd));
            return format!(
                "Leave these files alone until they are free: wait with {wait}. `substrate locks` shows who holds what."
            );
        }
    };
    format!("{step}. `substrate locks` shows who holds what.")
}

/// Whether a call may change a file that another actor could hold, judged without the database: an edit, or a line that
/// plainly writes or sweeps away files in the project, leased or not.
pub fn may_change_leased(event: &Event, settings: &Settings) -> bool {
    let is_on = event.kind == EventKind::PreToolUse && settings.word("locks.mode") != "off";
    let Some(call) = event.tool().filter(|_| is_on) else { return false };
    let line = call.command.as_deref().unwrap_or_default();
    match call.class {
        ToolClass::Edit => true,
        ToolClass::Shell => {
            writes_in_project(event, line)
                || (settings.word("locks.git") != "off" && sweeps_project(event, line))
        }
        ToolClass::Read
        | ToolClass::Agent
        | ToolClass::Todo
        | ToolClass::Skill
        | ToolClass::Other => false,
    }
}

fn writes_in_project(event: &Event, line: &str) -> bool {
    writes::may_write(line)
        && writes::writes(&shell::read(line)).iter().any(|one| is_in_project(event, &one.scope))
}

fn sweeps_project(event: &Event, line: &str) -> bool {
    sweeps::sweeps(line).iter().any(|swept| match &swept.scope {
        // No one else works in a tree that the line itself creates.
        SweepScope::Tree => swept.made.is_none(),
        SweepScope::Paths(paths) => paths.iter().any(|scope| is_in_project(event, scope)),
    })
}

fn is_in_project(event: &Event, scope: &PathScope) -> bool {
    let path = plain(&joined(&event.cwd, &scope.path));
    let roots = [event.project_dir.as_deref(), Some(&event.project), Some(&event.cwd)];
    let mut roots = roots.into_iter().flatten().filter(|root| root.len() > 1);
    roots.any(|root| match path.strip_prefix("~/") {
        // The home folder is unknown here, so any folder above the root may be it.
        Some(rest) => root.match_indices('/').any(|(at, _)| is_below(rest, &root[at + 1..])),
        None => is_below(&path, root) || (scope.extent != Extent::File && is_below(root, &path)),
    })
}

fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
