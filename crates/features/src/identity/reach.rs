//! How soon an agent learns of something, for whoever writes to it.

use substrate_core::{Db, DbError, Timestamp, World};

use super::book;
use super::presence::{self, Status};

/// How an agent can be reached right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A person, who looks when it suits.
    Person,
    /// A waiter stands beside its session.
    Waiting,
    /// In the middle of a turn.
    Working,
    /// There, but its turn has ended and nobody waits.
    Stopped,
    Offline,
}

impl Reach {
    /// What a sender is told. An urgent message interrupts.
    pub(crate) const fn words(self, is_urgent: bool) -> &'static str {
        match self {
            Self::Person => "reads with `substrate inbox`",
            Self::Waiting => "waiting: it is told now",
            Self::Working if is_urgent => "working: after its next tool call",
            Self::Working => "working: when its turn ends",
            Self::Stopped => "idle: at its next prompt",
            Self::Offline => "offline: at its next start",
        }
    }
}

pub(crate) fn reach(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<Reach, DbError> {
    if agent == book::USER {
        return Ok(Reach::Person);
    }
    let sessions = presence::of_agent(db, world, now, agent)?;
    let there = || sessions.iter().filter(|one| one.status != Status::Offline);
    Ok(if there().any(|one| one.is_waiting) {
        Reach::Waiting
    } else if there().any(|one| !one.has_stopped) {
        Reach::Working
    } else if there().next().is_some() {
        Reach::Stopped
    } else {
        Reach::Offline
    })
}

/// Whether an agent may still act: it was heard of lately, or a client of its runs, however long that has been silent.
pub(crate) fn is_live(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    agent: i64,
) -> Result<bool, DbError> {
    let sessions = presence::of_agent(db, world, now, agent)?;
    Ok(sessions.iter().any(|one| one.is_running || one.status != Status::Offline))
}
