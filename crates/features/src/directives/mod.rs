//! Directions that lie beside the files an agent touches.
//!
//! When an actor reads or edits a file, it is told what `AGENTS.md`, the client's own file and `.directives/*.md` say, in the file's
//! folder and in those above. Files that the client loads itself are left out.
//!
//! # Invariants
//!
//! * An actor is told each file once per effort, or once per session without an effort.
//! * A file that the actor has just read or written itself is not told.
//! * Directions follow a touched file. A search, which only names folders, brings none.
//! * A subagent begins with the directions that its effort has met.
//! * Text is quoted line by line, without secrets, and bounded. The agent reads the rest itself.
//!
//! # Example
//!
//! After a read of `src/api/login.rs`:
//!
//! ```text
//! Directions of the project for `src/api/login.rs` and the files beside it:
//! From `/repo/src/api/AGENTS.md`:
//! > Every handler checks the session first.
//! ```

pub(crate) mod face;
mod ops;
mod policy;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

/// The scope under which an effort's directions are noted.
fn scope(effort: i64) -> String {
    format!("effort {effort}")
}

const NAME: &str = "directives";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Tells an agent the directions beside the files it touches, once",
    migrations: ops::MIGRATIONS,
    keys: &[Key {
        name: "directives.on",
        kind: Kind::Bool,
        default: "false",
        about: "Tell an agent that reads or edits a file what `AGENTS.md` and `.directives/*.md` in its folder and above say: once, and only what the client does not load itself.",
        project: ProjectMay::TurnOn,
        profiles: &[("engine", "true")],
    }],
    gather: Some(policy::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    tick: Some(policy::tick),
    ..Feature::NOTHING
};
