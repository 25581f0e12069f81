//! Pages of the journal.

mod health;
mod why;

pub(super) use health::HEALTH;
pub(super) use why::WHY;
