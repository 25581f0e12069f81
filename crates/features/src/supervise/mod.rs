//! The clients that `substrate run` supervises.
//!
//! When the context of a supervised client is full, the client can be replaced by a fresh one instead of being compacted
//! (`context.on_auto_compact = "restart"`). The fresh one learns from its own hooks which effort to continue.
//!
//! The supervisor notes its own process before it starts anything. A client is supervised if that process is above it,
//! with any wrapper in between. Environment variables don't count, because they are inherited.
//!
//! # Invariants
//!
//! * Only the first client below a supervisor is supervised. A client inside a client never ends the outer one.
//! * A process is known by its pid and start time, so a recycled pid is never taken for it.
//! * Without an effort a client always compacts. A fresh one would know less than the summary.
//! * A supervisor that does not react within 20 seconds is not waited for.
//! * A restart that brought the full conversation back is not tried again.
//!
//! # Example
//!
//! ```text
//! $ substrate run -- my-client
//! $ substrate supervise list
//! NobleLion: client 4711 under supervisor 4700 for 12m, restarts: 1
//! ```

mod ops;
mod policy;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "supervise",
    about: "Restarts clients that run under `substrate run` with a fresh context",
    migrations: ops::MIGRATIONS,
    keys: &[Key {
        name: "context.on_auto_compact",
        kind: Kind::Word(&["compact", "restart"]),
        default: "\"compact\"",
        about: "What happens when a client under `substrate run` is about to compact: `compact` lets it, `restart` ends it and starts a fresh one that continues the agent's effort. Without an effort, or without `substrate run`, it always compacts.",
        // It ends the client, so only the user may set it.
        project: ProjectMay::Nothing,
        profiles: &[("engine", "\"restart\"")],
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
