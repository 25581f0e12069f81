//! What other features may ask about leases.

use substrate_core::{Cx, Db, DbError};

use super::sweep::Reach;
use super::{life, ops, ops_history, words, writes};
use crate::shell::Line;

/// How many files are named.
const MAX_NAMED: usize = 5;

/// How many leases of an actor are looked at.
const MAX_HELD: i64 = 100;

/// The files that a line plainly writes, seen from where the shell is, some as a pattern.
pub(crate) fn written(line: &Line) -> impl Iterator<Item = String> {
    writes::writes(line).into_iter().map(|one| match one.taken.reach {
        Reach::File | Reach::Below => one.taken.path,
        Reach::Glob { glob, .. } => format!("{}/{glob}", one.taken.path),
    })
}

/// What an actor holds, in words, for a conversation that has forgotten it; nothing where no lease of its lives.
pub(crate) fn held(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<Option<String>, DbError> {
    let mut held = Vec::new();
    for lease in ops::of_owner(cx.db, session, actor, MAX_HELD)? {
        if life::until(cx, &lease.claim)?.is_some() {
            held.push(lease.relative);
        }
    }
    let n = held.len();
    held.truncate(MAX_NAMED);
    Ok((n > 0).then(|| words::you_hold(&held, n)))
}

/// Whether an agent, or one of its subagents, has held a file, as far as that is remembered.
pub(crate) fn has_held(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    ops_history::has(db, name)
}

pub(crate) const N_HELD: &str =
    "select count(*) from leases where session = $1 and actor = $2 and confirmed_ms is not null";

/// How many files an actor holds.
pub(crate) fn n_held(db: &mut dyn Db, session: &str, actor: &str) -> Result<i64, DbError> {
    let found = db.first(N_HELD, &[session.into(), actor.into()], |row| row.int(0))?;
    Ok(found.unwrap_or(0))
}
