//! Commands that would sweep away what others hold.

use substrate_core::facts::Place;
use substrate_core::{Cx, DbError, Event, Wish};

use super::life::Lives;
use super::ops::{self, Lease};
use super::owner::Owner;
use super::sweep::{self, Reach, Sweep, Taken, Takes};
use super::{files, globs, lending, words};
use crate::shell::TOP;

/// Others' leases that are looked at: more than anybody has, since one that is not looked at would be swept away.
const MAX_LOOKED_AT: i64 = 100_000;

/// Leases that a reason names.
const MAX_NAMED: usize = 3;

pub(super) fn before_shell(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let setting = cx.settings.word("locks.git");
    let command = event.tool().and_then(|call| call.command.as_deref()).unwrap_or_default();
    let Some(me) = Owner::of_event(cx, event).filter(|_| setting != "off") else {
        return Ok(Vec::new());
    };
    for swept in sweep::sweeps(command) {
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

/// The live leases of others that the command would take.
fn held_by_others(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    swept: &Sweep,
) -> Result<Vec<Lease>, DbError> {
    let found = match &swept.takes {
        Takes::Tree => match files::root_of(cx, event, swept) {
            Some(root) => {
                let others = ops::others_in_root(cx.db, &root, me, MAX_LOOKED_AT)?;
                others.into_iter().map(|(lease, _)| lease).collect()
            }
            None => Vec::new(),
        },
        Takes::These(these) => {
            let mut found = Vec::new();
            for taken in these {
                found.extend(taken_from_others(cx, event, me, taken)?);
            }
            found
        }
    };
    let mut lives = Lives::default();
    let mut out: Vec<Lease> = Vec::new();
    for lease in found {
        let is_other =
            !lease.claim.owner.is_same(me) && out.iter().all(|other| other.path != lease.path);
        if is_other && lives.until(cx, &lease.claim)?.is_some() {
            out.push(lease);
        }
    }
    Ok(out)
}

pub(super) fn taken_from_others(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Owner,
    taken: &Taken,
) -> Result<Vec<Lease>, DbError> {
    let Some(place) = cx.facts.place(&taken.path, &event.cwd) else { return Ok(Vec::new()) };
    let path = from_top(place);
    if let Reach::Glob { glob, as_git, is_deep } = &taken.reach {
        let mut found = ops::others_below(cx.db, &path, me, MAX_LOOKED_AT)?;
        if !found.is_empty() {
            let takes = globs::Taking::new(glob, *as_git, *is_deep);
            let below = |lease: &Lease| files::below(&lease.path, &path).map(|b| takes.takes(b));
            found.retain(|lease| below(lease) == Some(true));
        }
        return Ok(found);
    }
    let mut found = Vec::new();
    // A file that came here from elsewhere is still the same; one name of several goes without the file.
    let file = place.file.as_deref().filter(|_| path == place.path && !place.has_other_names);
    for lease in ops::same(cx.db, &path, file)? {
        // Whoever may edit a file that its parent lends may also remove it.
        if lease.claim.is_provisional || !lending::waits_for(cx, &lease.claim.owner, me)? {
            found.push(lease);
        }
    }
    if taken.reach == Reach::Below {
        found.extend(ops::others_below(cx.db, &path, me, MAX_LOOKED_AT)?);
    }
    Ok(found)
}

/// Where the path goes on from the top of its tree, that is known only now.
pub(super) fn from_top(place: &Place) -> String {
    let top = place.path.split_once(&format!("/{TOP}"));
    top.map_or_else(|| place.path.clone(), |(_, below)| format!("{}{below}", place.root))
}

fn reason(cx: &mut Cx<'_>, swept: &Sweep, hit: &[Lease]) -> Result<String, DbError> {
    let mut named = Vec::new();
    for lease in hit.iter().take(MAX_NAMED) {
        let who = lease.claim.owner.address(cx)?;
        named.push(format!("`{}` ({who})", words::path(&lease.relative)));
    }
    let more = hit.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // Only files that git does not know are cleaned, and nobody here knows which these are.
    let would = if swept.what == "git clean" { "could" } else { "would" };
    Ok(format!(
        "`{}` {would} sweep away files that others are editing in this working tree: {}{more}.",
        swept.what,
        named.join(", "),
    ))
}

/// A step that itself passes: only files that nobody else holds.
fn next(swept: &Sweep, hit: &[Lease], cwd: &str) -> String {
    let step = match swept.what {
        "git stash" => "Name only your own files, `git stash push -- PATH…`, or commit them",
        "git reset" | "git checkout" | "git restore" | "git checkout-index" | "git read-tree" => {
            "Name only your own files, `git restore PATH…`"
        }
        "git clean" => "Remove only your own files, `rm PATH…`",
        "git pull --autostash" => {
            "Commit your own files and merge, `git pull --no-rebase --no-autostash`: git leaves alone what others have changed"
        }
        "git switch" | "git merge --autostash" | "git rebase --autostash" => {
            "Use a working tree of your own, `git worktree add ../PATH BRANCH`"
        }
        _ => {
            let wait = hit.first().map_or_else(String::new, |lease| words::wait(&lease.path, cwd));
            return format!(
                "Leave them alone until they are free, wait with {wait}; `substrate locks` shows who holds what."
            );
        }
    };
    format!("{step}; `substrate locks` shows who holds what.")
}
