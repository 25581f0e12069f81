//! Directions that lie beside the files: `AGENTS.md`, `CLAUDE.md` and `.directives/*.md` along the path of whatever an actor
//! touches, told once, and only where the client did not load them itself. A subagent begins with those that its effort has
//! met.

pub(crate) mod face;
mod ops;
mod policy;
mod schema;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

/// Under which name it is noted what an effort was told.
fn scope(effort: i64) -> String {
    format!("effort {effort}")
}

const NAME: &str = "directives";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Tells an actor the directions that lie beside the files that it touches, once.",
    migrations: schema::MIGRATIONS,
    keys: &[Key {
        name: "directives.on",
        kind: Kind::Bool,
        default: "false",
        about: "Tell whoever reads or edits a file what `AGENTS.md` and `.directives/*.md` in its folder and above say, once, where the client does not.",
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
