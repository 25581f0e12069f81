//! What a new session begins with: the project's structure, the state of its tree, its latest commits.

mod policy;
mod render;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "agent-init",
    about: "Tells a new session the project's structure, its git status and its latest commits.",
    keys: &[Key {
        name: "agent-init.on",
        kind: Kind::Bool,
        default: "false",
        about: "Begin each new session (and each one that was cleared) with the project's structure, its git status and its last 5 commits.",
        project: ProjectMay::TurnOn,
        profiles: &[("locks", "true")],
    }],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
