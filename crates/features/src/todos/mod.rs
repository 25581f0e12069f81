//! Keeps an agent going while its own task list has unfinished entries.
//!
//! The client writes its task list into files, or sends it with `TodoWrite`. When the main thread wants to stop, the
//! unfinished entries are named and the stop is blocked: once per turn, or at every try with `todos.insist`. After a
//! compaction the agent is reminded of them.
//!
//! # Invariants
//!
//! * An agent that has just asked its user something is never held. Otherwise the user could not answer.
//! * An agent that waits for background tasks is not held. Another stop follows when they are done.
//! * A list that can't be read holds no agent.
//! * Only the main thread is held, never a subagent.
//!
//! # Example
//!
//! ```text
//! 2 incomplete task(s): #1 [in_progress] "write the parser", #2 [pending] "test it".
//! Complete ALL tasks before stopping, or ask your question and stop again.
//! ```

mod asked;
mod list;
mod ops;
mod policy;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "todos",
    about: "Keeps an agent from stopping while its own task list is unfinished",
    migrations: ops::MIGRATIONS,
    keys: &[
        Key {
            name: "todos.block",
            kind: Kind::Bool,
            default: "true",
            about: "Hold an agent that wants to stop while its task list has unfinished entries: once per turn, and never after it asked its user something.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "todos.insist",
            kind: Kind::Bool,
            default: "false",
            about: "Hold it at every try, up to the client's limit on blocks; still never after it asked its user something.",
            project: ProjectMay::TurnOn,
            profiles: &[("persistent", "true")],
        },
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    record: Some(policy::record),
    tick: Some(policy::tick),
    ..Feature::NOTHING
};
