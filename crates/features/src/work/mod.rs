//! A queue of work for many agents: each item has one claimant at a time, and comes back when that one is gone.
//!
//! Nothing here runs at events. Whether a claim holds is looked up when somebody asks: by its claimant's last sign of
//! life, which is kept anyway.

mod claim;
mod ops;
mod render;
mod schema;
mod tick;
mod verbs_add;
mod verbs_claim;
mod verbs_end;
mod verbs_look;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "work",
    about: "A queue of work that agents share: each item is done by one, and comes back from who is gone.",
    migrations: schema::MIGRATIONS,
    keys: &[Key {
        name: "work.lease",
        kind: Kind::Span,
        default: "\"10m\"",
        about: "How long a claimed item stays with an agent that is not heard of.",
        project: ProjectMay::Nothing,
        profiles: &[],
    }],
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs_look::List>(),
        Verb::of::<verbs_look::Show>(),
        Verb::of::<verbs_add::Add>(),
        Verb::of::<verbs_claim::Claim>(),
        Verb::of::<verbs_end::Done>(),
        Verb::of::<verbs_end::Release>(),
    ],
    ..Feature::NOTHING
};
