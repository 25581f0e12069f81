//! What other features may ask about leases.

use substrate_core::{Cx, Db, DbError};

use super::life::Lives;
use super::ops::{self, Lease};
use super::{ops_history, words};

/// How many files are named.
const MAX_NAMED: usize = 5;

/// How many leases of an actor are looked at.
const MAX_HELD: i64 = 100;

/// What an actor holds, in words, for a conversation that has forgotten it; nothing where no lease of its lives.
pub(crate) fn held(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<Option<String>, DbError> {
    let held = living(cx, session, actor)?.into_iter().map(|lease| lease.relative);
    let mut held: Vec<String> = held.collect();
    let n = held.len();
    held.truncate(MAX_NAMED);
    Ok((n > 0).then(|| words::you_hold(&held, n)))
}

/// How many files an actor holds.
pub(crate) fn n_held(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<usize, DbError> {
    let living = living(cx, session, actor)?;
    Ok(living.iter().filter(|lease| !lease.claim.is_provisional).count())
}

fn living(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<Vec<Lease>, DbError> {
    let mut lives = Lives::default();
    let mut out = Vec::new();
    for lease in ops::of_owner(cx.db, session, actor, MAX_HELD)? {
        if lives.until(cx, &lease.claim)?.is_some() {
            out.push(lease);
        }
    }
    Ok(out)
}

/// Whether an agent, or one of its subagents, has held a file, as far as that is remembered.
pub(crate) fn has_held(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    ops_history::has(db, name)
}
