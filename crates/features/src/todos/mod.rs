//! The client's own task list: an agent does not stop while entries of it are unfinished.

mod asked;
mod list;
mod ops;
mod policy;
mod schema;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "todos",
    about: "Holds an agent that wants to stop while its own task list is unfinished.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "todos.block",
            kind: Kind::Bool,
            default: "true",
            about: "Hold an agent that wants to stop while entries of its task list are unfinished: once per turn, and never when it has just asked its user something.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "todos.insist",
            kind: Kind::Bool,
            default: "false",
            about: "Hold it at every try while entries are unfinished, up to the client's limit on blocks; still never when it has just asked its user something.",
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
