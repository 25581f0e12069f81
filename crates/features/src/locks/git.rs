//! Git commands that would sweep away what others hold.

use substrate_core::{Cx, DbError, Event, Wish};

use super::life::Lives;
use super::ops::{self, Lease};
use super::owner::Owner;
use super::sweep::{self, Sweep};
use super::{files, words};

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
            Wish::Deny { rule, reason, next: next(&swept).to_owned() }
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
    let mut found: Vec<Lease> = Vec::new();
    if swept.paths.is_empty() {
        if let Some(root) = files::root_of(cx, event, swept) {
            let others = ops::others_in_root(cx.db, &root, me, MAX_LOOKED_AT)?;
            found = others.into_iter().map(|(lease, _)| lease).collect();
        }
    } else {
        for path in &swept.paths {
            let Some(place) = cx.facts.place(&swept.inside(path), &event.cwd) else { continue };
            found.extend(ops::one(cx.db, &place.path)?);
            found.extend(ops::others_below(cx.db, &place.path, me, MAX_LOOKED_AT)?);
        }
    }
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

fn reason(cx: &mut Cx<'_>, swept: &Sweep, hit: &[Lease]) -> Result<String, DbError> {
    let mut named = Vec::new();
    for lease in hit.iter().take(MAX_NAMED) {
        let who = lease.claim.owner.address(cx)?;
        named.push(format!("`{}` ({who})", words::path(&lease.relative)));
    }
    let more = hit.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(format!(
        "`{}` would sweep away files that others are editing in this working tree: {}{more}.",
        swept.what,
        named.join(", "),
    ))
}

/// A step that itself passes: only files that nobody else holds.
fn next(swept: &Sweep) -> &'static str {
    match swept.what {
        "git stash" => {
            "Name only your own files, `git stash push -- PATH…`, or commit them; `substrate locks` shows who holds what."
        }
        "git reset" | "git checkout" | "git restore" => {
            "Name only your own files, `git restore PATH…`; `substrate locks` shows who holds what."
        }
        "git clean" => {
            "Remove only your own files, `rm PATH…`; `substrate locks` shows who holds what."
        }
        _ => {
            "Use a working tree of your own, `git worktree add ../PATH BRANCH`; `substrate locks` shows who holds what."
        }
    }
}
