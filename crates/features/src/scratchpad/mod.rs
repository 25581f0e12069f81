//! Scratchpads: notes that agents leave for each other in the project.
//!
//! Every subagent writes down what it did before it ends, in `.claude/scratchpad/TYPE/YYYY-MM-DD.md`. A session that
//! delegated writes the coordinator's entry before its turn ends. A new session, and a new subagent, is told how the
//! latest entries end.
//!
//! # Invariants
//!
//! * The files belong to the project. This feature reads them, and stores only which subagents a session had.
//! * Only a scratchpad that is known to be missing or incomplete holds an agent. One that could not be read does not.
//! * An agent that can't write the file, or that is in plan mode, is never held for it.
//! * A file counts if it is from any day since the agent started, in any time zone.
//! * No type of agent, however it is named, reaches a file outside its own folder.
//!
//! # Example
//!
//! ```text
//! $ substrate scratchpad path spec-writer
//! /repo/.claude/scratchpad/spec-writer/2026-02-08.md
//! ```
//!
//! A subagent that stops too early is told: "Scratchpad missing or incomplete. Write to … with all three required
//! sections before completing."

mod day;
mod judge;
mod ops;
mod policy;
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
    about: "Has subagents and coordinators leave scratchpads, and shows new ones how the latest end",
    migrations: ops::MIGRATIONS,
    keys: &[
        Key {
            name: "scratchpad.on",
            kind: Kind::Bool,
            default: "false",
            about: "Hold a subagent until `.claude/scratchpad/TYPE/YYYY-MM-DD.md` has its three sections, and a session that delegated until the coordinator's entry exists.",
            project: ProjectMay::TurnOn,
            profiles: &[("scratchpad", "true")],
        },
        Key {
            name: "scratchpad.exempt",
            kind: Kind::Texts,
            default: substrate_core::seed::BUILT_IN_AGENTS,
            about: "Types of subagents that write no scratchpad, in any case of letters. The client's own compaction never does.",
            project: ProjectMay::Append,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    tick: Some(policy::tick),
    story: Some(verbs::story),
    verbs: &[Verb::of::<verbs::Path>()],
    ..Feature::NOTHING
};
