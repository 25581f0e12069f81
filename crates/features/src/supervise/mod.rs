//! Clients that `substrate run` supervises: who they are, and when one shall be started anew instead of being compacted.
//!
//! The supervisor notes its own process and its child's. An event belongs to it when the client that reported it is that
//! very child: nothing is inherited, so a client inside a client never ends the outer one.

mod ops;
mod policy;
mod schema;
mod verbs;

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
        about: "What happens when a client under `substrate run` wants to compact by itself: `compact` lets it, `restart` ends it and starts it anew with a fresh context. Without `substrate run` it always compacts.",
        // It ends the client: that is the user's to say.
        project: ProjectMay::Nothing,
        profiles: &[("engine", "\"restart\"")],
    }],
    consider: Some(policy::consider),
    tick: Some(policy::tick),
    verbs: &[
        Verb::of::<verbs::List>(),
        Verb::of::<verbs::Note>(),
        Verb::of::<verbs::Wait>(),
        Verb::of::<verbs::Done>(),
    ],
    ..Feature::NOTHING
};
