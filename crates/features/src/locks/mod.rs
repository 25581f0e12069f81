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

mod acquire;
mod after;
mod before;
mod files;
pub(crate) mod history;
pub(crate) mod leases;
mod look;
mod page;
mod policy;
mod release;
mod reservations;
mod status;
mod waiting;
mod words;

#[cfg(test)]
mod tests;

pub use before::may_change_leased;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Migration, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "locks",
    about: "Leases files to the agents that edit them and keeps others off until they are done.",
    migrations: MIGRATIONS,
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
    checks: Some(waiting::checks),
    story: Some(history::story),
    verbs: &[
        Verb::of::<look::List>(),
        Verb::of::<look::Show>(),
        Verb::of::<acquire::Acquire>(),
        Verb::of::<release::Release>(),
        Verb::of::<waiting::Wait>(),
        Verb::of::<look::History>(),
        Verb::of::<look::Check>(),
    ],
    pages: page::PAGES,
    ..Feature::NOTHING
};

/// An event finds a file by path and identity, so ten thousand leases cost what ten cost.
const MIGRATIONS: &[Migration] = &[FIRST, SECOND, THIRD, FOURTH];

const FIRST: Migration = Migration {
    about: "leases on files, reserved globs, who waits for whom, and what happened to a file",
    sql: "create table leases (
            path text primary key,
            root text not null,
            relative text not null,
            project text not null,
            session text not null,
            actor text not null,
            agent bigint not null,
            sub text not null,
            pid bigint,
            began bigint,
            reason text not null,
            acquired_ms bigint not null,
            confirmed_ms bigint,
            modified_ms bigint not null,
            expires_ms bigint not null,
            ttl_ms bigint not null
          );
          create index leases_owner on leases (session, actor);
          create index leases_root on leases (root, acquired_ms);
          create index leases_project on leases (project, acquired_ms);
          create index leases_expires on leases (expires_ms);
          create table lease_globs (
            id integer primary key,
            root text not null,
            glob text not null,
            is_shared bigint not null,
            project text not null,
            session text not null,
            actor text not null,
            agent bigint not null,
            sub text not null,
            pid bigint,
            began bigint,
            reason text not null,
            acquired_ms bigint not null,
            expires_ms bigint not null,
            ttl_ms bigint not null
          );
          create unique index lease_globs_root on lease_globs (root, session, actor, glob);
          create index lease_globs_owner on lease_globs (session, actor);
          create table lease_waiters (
            path text not null,
            session text not null,
            actor text not null,
            since_ms bigint not null,
            at_ms bigint not null,
            primary key (path, session, actor)
          );
          create index lease_waiters_at on lease_waiters (at_ms);
          create table lease_history (
            id integer primary key,
            path text not null,
            who text not null,
            what text not null,
            detail text not null,
            at_ms bigint not null
          );
          create index lease_history_path on lease_history (path, id);
          create index lease_history_at on lease_history (at_ms);",
};

const SECOND: Migration = Migration {
    about: "how a held file was last seen, and which calls of subagents are open",
    sql: "alter table leases add column seen_ms bigint;
          create table lease_agent_calls (
            session text not null,
            use_id text not null,
            actor text not null,
            began_ms bigint not null,
            primary key (session, use_id)
          );
          create index lease_agent_calls_began on lease_agent_calls (began_ms);",
};

const THIRD: Migration = Migration {
    about: "which file a lease is on, whatever its name",
    sql: "alter table leases add column file text;
          create index leases_file on leases (file) where file is not null;",
};

const FOURTH: Migration = Migration {
    about: "notes to holders of files that others are waiting for",
    sql: "create table lease_notes (
            session text not null,
            actor text not null,
            path text not null,
            glob bigint,
            said text not null,
            at_ms bigint not null,
            primary key (session, actor, path)
          );",
};
