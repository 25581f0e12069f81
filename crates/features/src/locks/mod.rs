//! Leases on files: while an agent edits a file, others are kept off it until its turn ends.
//!
//! An edit takes a lease on its file before it runs and confirms it afterwards. Other actors that want to edit or
//! overwrite the file are refused. They learn who has it and how to wait, and the holder learns that they wait.
//! Commands can also take files ahead or reserve globs.
//!
//! # Invariants
//!
//! * A file has at most one holder, under any of its names.
//! * A holder is an actor, so the subagents of one session exclude each other. A parent that waits for a subagent
//!   lends it its files.
//! * A holder is never refused its own file.
//! * A lease ends with its holder's turn, session or process. A silent holder keeps it for `locks.ttl` after its last
//!   sign of life; a lease whose edit never happened lasts a minute. `identity::holder` decides which holders live.
//! * Reads and harmless commands are never refused. Only lines that plainly write or sweep away held files are.
//! * A change that no one announced is reported to both sides, once.
//!
//! # Example
//!
//! NobleLion edits `src/lib.rs`. CalmOtter tries to edit it too and is refused: "`src/lib.rs` is leased by NobleLion,
//! taken 2m ago". It runs `substrate locks wait src/lib.rs`. NobleLion reads with its next tool result that CalmOtter
//! is waiting. When its turn ends, the lease is released and CalmOtter's command returns.

mod files;
mod globs;
mod history;
pub(crate) mod leases;
mod lending;
mod mirror;
mod page;
mod policy;
mod release;
mod reservations;
mod schema;
mod shell;
mod status;
mod verbs;
mod waiting;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use globs::ask_all;
pub use shell::before::may_change_leased;
pub(crate) use shell::writes::written;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "locks",
    about: "Leases files to the agents that edit them and keeps others off until they are done.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "locks.mode",
            kind: Kind::Word(&["enforce", "warn", "off"]),
            default: "\"enforce\"",
            about: "What happens when an agent edits, or plainly writes with a shell command, a file that another holds: refuse it, or only warn.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "locks.files",
            kind: Kind::Texts,
            default: "[]",
            about: "Globs of the files that are leased, relative to the working tree, e.g. `[\"**/*.ts\", \"**/*.tsx\"]`. Empty: all files that git does not ignore.",
            project: ProjectMay::Widen,
            profiles: &[],
        },
        Key {
            name: "locks.ttl",
            kind: Kind::Span,
            default: "\"10m\"",
            about: "How long a lease lasts after its holder's last sign of life.",
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
            profiles: &[("locks", "true")],
        },
    ],
    gather: Some(files::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    if_unrecorded: Some(policy::if_unrecorded),
    tick: Some(release::tick),
    verbs: &[
        Verb::of::<verbs::look::List>(),
        Verb::of::<verbs::look::Show>(),
        Verb::of::<verbs::acquire::Acquire>(),
        Verb::of::<verbs::release::Release>(),
        Verb::of::<verbs::release::Wait>(),
        Verb::of::<verbs::look::History>(),
        Verb::of::<verbs::look::Check>(),
    ],
    pages: page::PAGES,
    ..Feature::NOTHING
};
