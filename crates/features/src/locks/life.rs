//! When a lease ends. It lives while its owner does, and its time-to-live longer where the owner falls silent; a lease
//! that no edit has confirmed lives a minute.
//!
//! Nothing is written to renew one: the owner's last sign of life is looked up where it is kept anyway.

use std::collections::HashMap;

use substrate_core::{Cx, DbError, Timestamp};

use super::owner::Owner;
use crate::identity::book::{self, Pulse};

/// How long a lease lives that no edit has confirmed.
pub(super) const PROVISIONAL_MS: i64 = 60_000;

/// What a lease and a reserved glob have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) owner: Owner,
    pub(super) reason: String,
    pub(super) acquired: Timestamp,
    pub(super) is_provisional: bool,
    pub(super) expires: Timestamp,
    pub(super) ttl_ms: i64,
}

/// When the claim ends if its owner is not heard of again; `None`: it has ended.
pub(super) fn until(cx: &mut Cx<'_>, claim: &Claim) -> Result<Option<Timestamp>, DbError> {
    Lives::default().until(cx, claim)
}

/// The same for many claims of few owners: each owner is looked up once.
#[derive(Debug, Default)]
pub(super) struct Lives {
    known: HashMap<(String, String), Option<Pulse>>,
}

impl Lives {
    pub(super) fn until(
        &mut self,
        cx: &mut Cx<'_>,
        claim: &Claim,
    ) -> Result<Option<Timestamp>, DbError> {
        let owner = &claim.owner;
        if owner.is_person() {
            return Ok((claim.expires > cx.now).then_some(claim.expires));
        }
        let Some(pulse) = self.pulse(cx, owner)? else { return Ok(None) };
        if pulse.is_over || owner.is_gone(cx) {
            return Ok(None);
        }
        let end = ends(claim, pulse.last);
        Ok((end > cx.now).then_some(end))
    }

    fn pulse(&mut self, cx: &mut Cx<'_>, owner: &Owner) -> Result<Option<Pulse>, DbError> {
        let key = (owner.session.clone(), owner.actor.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let pulse = book::pulse(cx.db, cx.world, &owner.session, &owner.actor)?;
        self.known.insert(key, pulse);
        Ok(pulse)
    }
}

fn ends(claim: &Claim, last: Timestamp) -> Timestamp {
    if claim.is_provisional {
        return claim.expires;
    }
    claim.expires.max(last.plus_ms(claim.ttl_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::provisional_is_not_renewed(true, 60, 50, 60)]
    #[case::silent_since_it_was_taken(false, 600, 0, 600)]
    #[case::heard_of_since(false, 600, 300, 900)]
    #[case::a_longer_time_of_its_own(false, 5_000, 300, 5_000)]
    fn a_claim_ends(
        #[case] is_provisional: bool,
        #[case] expires: i64,
        #[case] last: i64,
        #[case] expected: i64,
    ) {
        let (session, actor, sub) = ("s".to_owned(), "main".to_owned(), String::new());
        let owner = Owner { session, actor, agent: 3, sub, pid: None, began: None };
        let claim = Claim {
            owner,
            reason: String::new(),
            acquired: Timestamp(0),
            is_provisional,
            expires: Timestamp(expires),
            ttl_ms: 600,
        };
        assert_eq!(ends(&claim, Timestamp(last)), Timestamp(expected));
    }
}
