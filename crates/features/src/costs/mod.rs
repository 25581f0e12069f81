//! What agents cost: tokens and money per agent, project, day and model.
//!
//! When a turn ends, the transcript of its actor is due. Housekeeping reads what was added since the last time, by byte
//! offset, and never at a tool call. A client may write the last line after it reported the end of the turn, so this
//! happens a moment later.
//!
//! ```text
//! $ substrate cost --by model --since 7d
//! model                   answers      input     output     cached      cost
//! opus-4-5                    120      1.2M       180k       9.3M     $15.20
//! ```
//!
//! Invariants:
//!
//! * Each answer counts once, however often transcripts tell of it: parts, copies in forks, two terminals.
//! * A model without a price is named, and its sum is "at least". Nothing is guessed.
//! * What a line of a transcript looks like is the client's own business (`Dialect::usage`).
//!
//! Layout: `record` notes which transcripts are due and reads them, `prices` is what they cost, `view` adds up.

mod ops;
mod page;
mod prices;
mod record;
mod verbs;
mod view;

#[cfg(test)]
mod tests;

use substrate_core::{Feature, Verb};

/// What other features may ask about usage.
pub(crate) mod face {
    pub(crate) use super::ops::{context, context_at};
}

const NAME: &str = "costs";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Counts the tokens and the money that agents use, from their transcripts.",
    migrations: ops::MIGRATIONS,
    record: Some(record::record),
    tick: Some(record::tick),
    verbs: &[Verb::of::<verbs::Cost>()],
    pages: page::PAGES,
    ..Feature::NOTHING
};
