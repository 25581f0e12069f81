//! How full an actor's context window is: from the end of the transcript, or from the client's status line.

mod explain;
pub(crate) mod face;
mod ops;
mod policy;
mod schema;
mod verbs;
mod window;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "context",
    about: "Knows how full a context window is, and reminds an agent after a compaction of who it is and of the files it holds.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "context.on",
            kind: Kind::Bool,
            default: "true",
            about: "After a compaction, remind an agent that has had mail, a lease or an effort of who it is and of the files that it still holds.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "context.window",
            kind: Kind::Count,
            default: "0",
            about: "Tokens of the context window; 0: by the model's name.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "context.compacts_at",
            kind: Kind::Count,
            default: "83",
            about: "At how many percent of the window the client compacts by itself.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    record: Some(policy::record),
    explain: Some(explain::explain),
    tick: Some(policy::tick),
    verbs: &[Verb::of::<verbs::Statusline>()],
    ..Feature::NOTHING
};
