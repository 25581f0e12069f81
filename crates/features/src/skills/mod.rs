//! Skills that fit what a person asks for: suggested by name, description and a table of keywords.

mod policy;
mod score;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "skills",
    about: "Suggests the skills that fit a prompt.",
    keys: &[
        Key {
            name: "skills.suggest",
            kind: Kind::Bool,
            default: "false",
            about: "Suggest up to three skills of the project and of the user that fit what a person asks for.",
            project: ProjectMay::TurnOn,
            profiles: &[("locks", "true")],
        },
        Key {
            name: "skills.keywords",
            kind: Kind::Texts,
            default: "[]",
            about: "Words that call for a skill, for example `[\"effect, layer, service => effect-patterns\", \"schema, decode => effect-schema\", \"error handling => effect-errors\"]`.",
            project: ProjectMay::Append,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
