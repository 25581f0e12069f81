//! Clients that `substrate run` supervises: who they are, when one is exchanged for a fresh one instead of being compacted, and
//! how the fresh one learns what to go on with.
//!
//! The supervisor notes its own process before it starts anything. A client belongs to it when that process is above the
//! client, whatever wrapper is in between: nothing depends on variables, which are inherited. The first client that lives
//! below it is the one that is supervised, so a client inside a client never ends the outer one.

mod ops;
mod policy;
mod schema;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "supervise",
    about: "Clients that `substrate run` supervises",
    migrations: schema::MIGRATIONS,
    keys: &[Key {
        name: "context.on_auto_compact",
        kind: Kind::Word(&["compact", "restart"]),
        default: "\"compact\"",
        about: "What happens when a client under `substrate run` wants to compact by itself: `compact` lets it, `restart` ends it and starts a fresh one that goes on with the agent's effort. Without an effort, or without `substrate run`, it always compacts.",
        // It ends the client: that is the user's to say.
        project: ProjectMay::Nothing,
        profiles: &[("engine", "\"restart\""), ("all", "\"restart\"")],
    }],
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(policy::printed),
    tick: Some(policy::tick),
    verbs: &[
        Verb::of::<verbs::List>(),
        Verb::of::<verbs::Note>(),
        Verb::of::<verbs::Wait>(),
        Verb::of::<verbs::Done>(),
    ],
    ..Feature::NOTHING
};
