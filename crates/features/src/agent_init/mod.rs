//! Tells a new session what the project looks like: its tree, its git status and its latest commits.
//!
//! # Invariants
//!
//! * Only a new or cleared session is told. A resumed, forked or compacted one knows it already.
//! * File names, branches and commits come from outside. Each is one indented line, so none can pass for a heading.
//! * The text is bounded. If not everything fits, upper levels of the tree come first.
//!
//! # Example
//!
//! ```text
//! Project structure (depth 2):
//!   src/
//!     lib.rs
//! Git status:
//!   ## main...origin/main
//!    M src/lib.rs
//! ```

mod policy;
mod render;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "agent-init",
    about: "Shows a new session the project's tree, git status and latest commits",
    keys: &[Key {
        name: "agent-init.on",
        kind: Kind::Bool,
        default: "false",
        about: "Begin each new or cleared session with the project's tree, its git status and its last 5 commits.",
        project: ProjectMay::TurnOn,
        profiles: &[("locks", "true")],
    }],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
