//! A queue of work that agents share. Each item has one claimant at a time.
//!
//! Items belong to a project. `work add` queues one, `work claim` takes the oldest, and `work done` or `work release`
//! ends the claim. A claim also ends when its claimant does, so work never gets stuck with an agent that died.
//!
//! # Invariants
//!
//! * An item has at most one live claim.
//! * A claim ends with its actor, its session or the process of its client. A silent claimant keeps it for
//!   `work.lease` after the last sign of life.
//! * A lapsed claim stays valid until another agent takes the item, so finished work is not done twice.
//! * Repeating a request (its answer was lost) neither adds nor claims a second item.
//! * Nothing here runs at events. `identity::holder` decides whether a claim holds when a command or the tick asks.
//!
//! # Example
//!
//! You run `substrate work add "port the parser"`. NobleLion runs `substrate work claim` and gets #1. CalmOtter finds the
//! queue empty and waits with `work claim --wait 5m`. NobleLion's terminal crashes. Within a second CalmOtter gets #1,
//! with the note that it came back from NobleLion.

mod claims;
mod items;
mod page;
mod schema;
mod verbs;
mod views;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "work",
    about: "A queue of work that agents share. Each item goes to one agent and comes back if that agent is gone.",
    migrations: schema::MIGRATIONS,
    keys: &[Key {
        name: "work.lease",
        kind: Kind::Span,
        default: "\"10m\"",
        about: "How long a claimed item stays with an agent that falls silent.",
        project: ProjectMay::Nothing,
        profiles: &[],
    }],
    tick: Some(claims::tick),
    needs_you: Some(views::needs_you),
    story: Some(views::story),
    find: Some(views::find),
    verbs: &[
        Verb::of::<verbs::queue::List>(),
        Verb::of::<verbs::board::Board>(),
        Verb::of::<verbs::queue::Show>(),
        Verb::of::<verbs::queue::Add>(),
        Verb::of::<verbs::claim::Claim>(),
        Verb::of::<verbs::claim::Done>(),
        Verb::of::<verbs::claim::Release>(),
    ],
    pages: page::PAGES,
    ..Feature::NOTHING
};
