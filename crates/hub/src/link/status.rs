//! This machine's part of the roster: only the latest status, only on change, in one batch per 250 ms.

use std::collections::{BTreeMap, BTreeSet};

use super::Ms;
use crate::wire::{AgentStatus, ToHub, Uid};

/// How long changes are gathered.
pub(super) const BATCH: Ms = 250;

/// A batch that was not noted is sent again after this.
const AGAIN: Ms = 5_000;

#[derive(Debug)]
struct Known {
    status: AgentStatus,
    since: Ms,
}

#[derive(Debug)]
struct Flying {
    seq: u64,
    since: Ms,
    changed: BTreeSet<Uid>,
}

#[derive(Debug, Default)]
pub(super) struct Roster {
    agents: BTreeMap<Uid, Known>,
    changed: BTreeSet<Uid>,
    /// The hub must forget what it knows of this machine.
    whole: bool,
    flying: Option<Flying>,
    seq: u64,
    last: Ms,
}

impl Roster {
    pub(super) fn set(&mut self, now: Ms, status: AgentStatus) {
        let since = now.saturating_sub(u64::try_from(status.for_ms).unwrap_or(0));
        let agent = status.agent.clone();
        let same = |known: &Known| {
            let (a, b) = (&known.status, &status);
            (&a.name, &a.project, &a.status) == (&b.name, &b.project, &b.status)
        };
        if self.agents.get(&agent).is_some_and(same) {
            return;
        }
        self.agents.insert(agent.clone(), Known { status, since });
        self.changed.insert(agent);
    }

    pub(super) fn remove(&mut self, agent: &Uid) {
        if self.agents.remove(agent).is_some() {
            self.changed.insert(agent.clone());
        }
    }

    /// A new connection: the hub may know anything.
    pub(super) fn up(&mut self) {
        self.whole = true;
        self.flying = None;
    }

    pub(super) fn noted(&mut self, seq: u64) {
        if self.flying.as_ref().is_some_and(|flying| flying.seq == seq) {
            self.flying = None;
        }
    }

    /// The batch that goes out now, if one does.
    pub(super) fn due(&mut self, now: Ms) -> Option<ToHub> {
        if self.wake_at().is_none_or(|at| at > now) {
            return None;
        }
        if let Some(lost) = self.flying.take() {
            self.changed.extend(lost.changed);
        }
        let whole = std::mem::take(&mut self.whole);
        let changed = std::mem::take(&mut self.changed);
        let mut agents = Vec::new();
        let mut gone = Vec::new();
        let all: BTreeSet<Uid> = self.agents.keys().cloned().collect();
        for agent in if whole { &all } else { &changed } {
            match self.agents.get(agent) {
                Some(Known { status, since }) => agents.push(AgentStatus {
                    for_ms: i64::try_from(now - since).unwrap_or(i64::MAX),
                    ..status.clone()
                }),
                None => gone.push(agent.clone()),
            }
        }
        self.seq += 1;
        self.last = now;
        let changed = if whole { all } else { changed };
        self.flying = Some(Flying { seq: self.seq, since: now, changed });
        Some(ToHub::Status { seq: self.seq, whole, agents, gone })
    }

    /// When to look again, while the connection is up.
    pub(super) fn wake_at(&self) -> Option<Ms> {
        match &self.flying {
            Some(flying) => Some(flying.since + AGAIN),
            None if self.whole || !self.changed.is_empty() => Some(self.last + BATCH),
            None => None,
        }
    }
}
