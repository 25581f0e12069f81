//! Suggests skills that fit a person's prompt.
//!
//! Skills of the project and of the user are scored by whole words: in their names, their descriptions, and the table
//! `skills.keywords`. Up to three are named, with the files to read.
//!
//! # Invariants
//!
//! * Only a person's prompt to the main thread gets a suggestion.
//! * One weak word is never enough: it takes a word of the name, a keyword, or several words of the description.
//! * Names and descriptions come from outside, so they are cut and kept on one line.
//!
//! # Example
//!
//! ```text
//! > cut a new release
//! Skills that may help: release-notes (Writes release notes); read .claude/skills/release-notes/SKILL.md
//! ```

mod policy;
mod score;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "skills",
    about: "Suggests skills that fit a prompt",
    keys: &[
        Key {
            name: "skills.suggest",
            kind: Kind::Bool,
            default: "false",
            about: "Suggest up to three skills, of the project or the user, that fit a person's prompt.",
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
