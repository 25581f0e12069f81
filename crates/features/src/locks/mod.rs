//! Leases on files: whoever edits a file has it for itself until its turn ends, and everybody else is told so.
//!
//! A lease is on one canonical path and belongs to an actor, so that subagents of one session exclude each other too. It
//! is taken before an edit, confirmed after it, and dies with its owner. Reads and harmless commands are never refused.

mod blind;
mod bypass;
pub(crate) mod face;
mod files;
mod git;
mod globs;
mod lending;
mod life;
mod mirror;
mod naming;
mod notes;
mod ops;
mod ops_globs;
mod ops_history;
mod owner;
mod policy;
mod record;
mod release;
mod render;
mod schema;
mod shell_writes;
mod standing;
mod sweep;
mod sweep_args;
mod sweep_git;
mod targets;
mod tick;
mod verbs_change;
mod verbs_look;
mod verbs_wait;
mod within;
mod words;
mod writes;
mod writes_copy;
mod writes_patch;

#[cfg(test)]
mod tests;

pub use blind::may_change_leased;
pub(crate) use globs::ask_all;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "locks",
    about: "Leases files to whoever edits them, and keeps everybody else off until they are done.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "locks.mode",
            kind: Kind::Word(&["enforce", "warn", "off"]),
            default: "\"enforce\"",
            about: "Whether an edit of a file that another actor holds, or a shell line that plainly writes it, is refused or only told.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "locks.files",
            kind: Kind::Texts,
            default: "[]",
            about: "Globs of the files that are leased, relative to the working tree, e.g. `[\"**/*.ts\", \"**/*.tsx\"]`. Empty: every file that git does not ignore.",
            project: ProjectMay::Widen,
            profiles: &[],
        },
        Key {
            name: "locks.ttl",
            kind: Kind::Span,
            default: "\"10m\"",
            about: "How long a lease outlives the last sign of life of its owner.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "locks.git",
            kind: Kind::Word(&["deny", "ask", "off"]),
            default: "\"deny\"",
            about: "What happens to commands that would sweep away files that others hold (`git stash`, `git reset --hard`, `rm`, …).",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "locks.mirror",
            kind: Kind::Bool,
            default: "false",
            about: "Keep `.claude/coordination/file-locks.json` and `.claude/coordination/hook-debug.log` in the project.",
            project: ProjectMay::TurnOn,
            profiles: &[("locks", "true"), ("all", "true")],
        },
    ],
    gather: Some(files::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(record::record),
    if_unrecorded: Some(policy::if_unrecorded),
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs_look::List>(),
        Verb::of::<verbs_look::Show>(),
        Verb::of::<verbs_change::Acquire>(),
        Verb::of::<verbs_change::Release>(),
        Verb::of::<verbs_wait::Wait>(),
        Verb::of::<verbs_look::History>(),
        Verb::of::<verbs_look::Check>(),
    ],
    ..Feature::NOTHING
};
