//! Pages of the journal.

mod health;

pub(super) use health::HEALTH;
