//! Who has claimed something, and whether that still holds.
//!
//! A claim lives while its claimant does, and its time-to-live longer where the claimant falls silent. It ends with its
//! actor, its session, or the process of its client.

use std::collections::HashMap;

use substrate_core::{Cx, DbError, Timestamp, VerbError};

use crate::identity::book::{self, Address, Pulse};

/// The session of the person: no client's session has such an id.
const PERSON: &str = "(person)";

/// One actor of one session, in one process of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claimant {
    pub(super) session: String,
    pub(super) actor: String,
    pub(super) agent: i64,
    /// The subagent's own name for mail; empty for the agent itself.
    pub(super) sub: String,
    pub(super) pid: Option<i64>,
    pub(super) began: Option<i64>,
}

/// A claim on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) by: Claimant,
    pub(super) at: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) ttl_ms: i64,
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It ends then, if its claimant is not heard of again.
    Holds { until: Timestamp },
    /// Its claimant is there, but has been silent for too long.
    Lapsed,
    /// Nobody is behind it any more.
    Gone,
}

impl Claimant {
    /// Who calls a command.
    pub(super) fn of_caller(cx: &mut Cx<'_>) -> Result<Self, VerbError> {
        let who = cx.who.clone().ok_or_else(|| {
            VerbError::user(
                "it is not known who you are",
                "`substrate identity current` says more; `--agent NAME` or `--session-id ID` names one",
            )
        })?;
        let (agent, sub) = (who.agent, who.sub.clone());
        if agent == book::USER {
            let (session, actor) = (PERSON.to_owned(), book::MAIN.to_owned());
            return Ok(Self { session, actor, agent, sub, pid: None, began: None });
        }
        let seat = book::seat(cx.db, &who)?;
        let Some((session, actor)) = seat else {
            return Err(VerbError::user(
                format!("{} has no session that could work", who.address()),
                "`substrate agent list` shows who is there",
            ));
        };
        let (pid, began) = book::process(cx.db, &session)?.unzip();
        Ok(Self { session, actor, agent, sub, pid, began })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.session == other.session && self.actor == other.actor
    }

    /// As mail is addressed.
    pub(super) fn address(&self, cx: &mut Cx<'_>) -> Result<String, DbError> {
        let name = book::name_of(cx.db, self.agent)?;
        Ok(Address { agent: self.agent, name, sub: self.sub.clone() }.text())
    }

    /// Its client's process is known, and no longer there.
    fn is_gone(&self, cx: &Cx<'_>) -> bool {
        let Some((pid, began)) = self.pid.zip(self.began) else { return false };
        u32::try_from(pid).ok().and_then(|pid| cx.world.process_began(pid)) != Some(began)
    }
}

/// Looks claims up, each claimant once.
#[derive(Debug, Default)]
pub(super) struct Lives {
    known: HashMap<(String, String), Option<Pulse>>,
}

impl Lives {
    pub(super) fn standing(&mut self, cx: &mut Cx<'_>, claim: &Claim) -> Result<Standing, DbError> {
        let by = &claim.by;
        let last = if by.session == PERSON {
            claim.at
        } else {
            match self.pulse(cx, by)? {
                Some(pulse) if !pulse.is_over && !by.is_gone(cx) => pulse.last,
                _ => return Ok(Standing::Gone),
            }
        };
        let until = claim.expires.max(last.plus_ms(claim.ttl_ms));
        Ok(if until > cx.now { Standing::Holds { until } } else { Standing::Lapsed })
    }

    fn pulse(&mut self, cx: &mut Cx<'_>, by: &Claimant) -> Result<Option<Pulse>, DbError> {
        let key = (by.session.clone(), by.actor.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let pulse = book::pulse(cx.db, cx.world, &by.session, &by.actor)?;
        self.known.insert(key, pulse);
        Ok(pulse)
    }
}
