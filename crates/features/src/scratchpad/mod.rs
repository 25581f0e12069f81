//! Scratchpads: every subagent writes down what it did before it ends, and whoever delegates writes the coordinator's
//! entry. A new session and a new subagent read how the latest ones end.
//!
//! The files belong to the project: `.claude/scratchpad/TYPE/YYYY-MM-DD.md`. Nothing is written here but which subagents a
//! session had. Only what is known to be missing holds anybody; what could not be looked at does not.

mod day;
mod judge;
mod ops;
mod policy;
mod schema;
mod sections;
mod verbs;
mod whereabouts;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub use day::{Days, horizon};
pub use sections::{is_blank, is_untouched, missing, template};
pub use whereabouts::{BASE, COORDINATOR, EGO, MAX_BYTES, MAX_JUDGED, N_LATEST, folder_of};
pub use words::{COORDINATOR_LINES, EGO_LINES, tail};

pub(crate) const FEATURE: Feature = Feature {
    name: "scratchpad",
    about: "Has every subagent write its scratchpad, and whoever delegates the coordinator's; tells new ones how the latest end.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "scratchpad.on",
            kind: Kind::Bool,
            default: "false",
            about: "Hold a subagent until `.claude/scratchpad/TYPE/YYYY-MM-DD.md` has its three sections, and a session that delegated until the coordinator's is there.",
            project: ProjectMay::TurnOn,
            profiles: &[("scratchpad", "true")],
        },
        Key {
            name: "scratchpad.exempt",
            kind: Kind::Texts,
            default: substrate_core::seed::BUILT_IN_AGENTS,
            about: "Types of subagents that write no scratchpad, whatever the case of their letters. The client's own compaction never does.",
            project: ProjectMay::Append,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    tick: Some(policy::tick),
    verbs: &[Verb::of::<verbs::Path>()],
    ..Feature::NOTHING
};
