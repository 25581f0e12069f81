//! Work that survives the context window.
//!
//! * A *window* is the context window of one actor. It begins and ends, and is never resumed.
//! * An *effort* is one use of a skill. It belongs to an agent, has phases and a log, and goes on in the agent's next
//!   window.
//! * A *task* is the folder that holds the artifacts of efforts.
//!
//! # What it does
//!
//! An effort begins with a command, or when its skill is run. While an agent works on one, its tool calls are counted. It
//! is warned after `efforts.warn_at` calls without a log entry, and call `efforts.block_at` is refused. When the context
//! fills up, the agent is told to dehydrate: to leave its next window what that must know. The next window starts with
//! that payload, the latest log entries and the preloaded files.
//!
//! # Invariants
//!
//! * Only an actor with an effort is counted, and only its own calls count.
//! * A refusal always leaves a way out. Substrate's own commands pass, and an actor that can't log is let go.
//! * Everything that waits is told exactly once: claimed by an answer, told when that answer is printed.
//! * An effort is taken over only from an agent that is gone. Of two takers, one wins.
//! * A skill may come with a project, so everything it configures is bounded.
//!
//! # Example
//!
//! ```text
//! $ substrate effort start fix --task tasks/login
//! $ substrate effort log "the cookie expires too early; next: the session store"
//! $ substrate effort dehydrate --body-file -
//! $ substrate effort finish
//! ```

mod begin;
mod config;
pub(crate) mod face;
mod heartbeat;
mod ops;
mod pending;
mod policy;
mod start;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Migration, Verb};

const NAME: &str = "efforts";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Keeps work going across context windows: efforts with phases, logs and artifacts",
    migrations: MIGRATIONS,
    keys: &[
        Key {
            name: "efforts.on",
            kind: Kind::Bool,
            default: "false",
            about: "Work in efforts: count an agent's tool calls between log entries, warn before its context overflows, and brief its next session.",
            project: ProjectMay::TurnOn,
            profiles: &[("engine", "true")],
        },
        Key {
            name: "efforts.warn_at",
            kind: Kind::Count,
            default: "7",
            about: "Remind an agent with an effort after this many tool calls without a log entry; 0: never. A skill may override it.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "efforts.block_at",
            kind: Kind::Count,
            default: "10",
            about: "Refuse this tool call without a log entry, and later ones; 0: none. A skill may override it.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "efforts.skills",
            kind: Kind::Texts,
            default: "[\"brainstorm\", \"implement\", \"fix\"]",
            about: "Skills and commands that begin an effort when they are run. A skill with an `effort.toml`, or with `effort-…` keys in its front matter, always does.",
            project: ProjectMay::Append,
            profiles: &[],
        },
        Key {
            name: "efforts.adopt",
            kind: Kind::Word(&["offer", "auto", "off"]),
            default: "\"offer\"",
            about: "What a new session does about the project's latest unfinished effort whose agent is gone: `offer` says how to take it over, `auto` takes it over, `off` does nothing.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    gather: Some(start::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(pending::printed),
    explain: Some(face::explain),
    tick: Some(policy::tick),
    needs_you: Some(face::needs_you),
    story: Some(face::story),
    verbs: &[
        Verb::of::<verbs::life::Start>(),
        Verb::of::<verbs::work::Phase>(),
        Verb::of::<verbs::work::Log>(),
        Verb::of::<verbs::work::Inject>(),
        Verb::of::<verbs::work::Preload>(),
        Verb::of::<verbs::life::Dehydrate>(),
        Verb::of::<verbs::life::Resume>(),
        Verb::of::<verbs::life::Finish>(),
        Verb::of::<verbs::look::ShowEffort>(),
        Verb::of::<verbs::look::ListEfforts>(),
        Verb::of::<verbs::look::ListTasks>(),
        Verb::of::<verbs::look::ShowTask>(),
        Verb::of::<verbs::look::SetTask>(),
        Verb::of::<verbs::look::ListSessions>(),
        Verb::of::<verbs::look::ShowSession>(),
    ],
    ..Feature::NOTHING
};

/// A tool call looks up one open window by its session and actor, and counts in that row.
const MIGRATIONS: &[Migration] = &[
    Migration {
    about: "tasks, efforts, context windows, messages and pending injections",
    sql: "create table tasks (
            dir text primary key,
            project text not null,
            root text not null,
            relative text not null,
            title text not null,
            keywords text not null,
            made_ms bigint not null
          );
          create index tasks_project on tasks (project, made_ms);
          create table efforts (
            id integer primary key,
            task text not null,
            project text not null,
            agent bigint not null,
            skill text not null,
            mode text not null,
            ordinal bigint not null,
            phase text not null,
            metadata text not null,
            warn_at bigint not null,
            block_at bigint not null,
            n_pending bigint not null,
            payload text,
            payload_by bigint,
            payload_ms bigint,
            payload_claim text,
            payload_claimed_ms bigint,
            payload_told_ms bigint,
            started_ms bigint not null,
            used_ms bigint not null,
            finished_ms bigint
          );
          create unique index efforts_task on efforts (task, ordinal);
          create index efforts_project on efforts (project, id);
          create index efforts_active on efforts (agent, project, used_ms) where finished_ms is null;
          create index efforts_claim on efforts (payload_claim)
            where payload_claim is not null and payload_told_ms is null;
          create table windows (
            id integer primary key,
            session text not null,
            actor text not null,
            kind text not null,
            agent bigint not null,
            project text not null,
            effort bigint,
            prev bigint,
            parent bigint,
            n_calls bigint not null,
            n_denied bigint not null,
            level bigint not null,
            refused_ms bigint,
            context_used bigint,
            started_ms bigint not null,
            ended_ms bigint,
            ended_why text
          );
          create unique index windows_open on windows (session, actor) where ended_ms is null;
          create index windows_agent on windows (agent) where ended_ms is null;
          create index windows_session on windows (session, id);
          create index windows_effort on windows (effort, id) where effort is not null;
          create index windows_project on windows (project, id);
          create table effort_messages (
            id integer primary key,
            effort bigint not null,
            who text not null,
            kind text not null,
            body text not null,
            at_ms bigint not null
          );
          create index effort_messages_effort on effort_messages (effort, kind, id);
          create table effort_pending (
            id integer primary key,
            effort bigint not null,
            kind text not null,
            body text not null,
            who text not null,
            made_ms bigint not null,
            claim text,
            claimed_ms bigint,
            told_ms bigint
          );
          create index effort_pending_open on effort_pending (effort, id) where told_ms is null;
          create index effort_pending_claim on effort_pending (claim)
            where claim is not null and told_ms is null;",
},
    Migration {
        about: "the rules of an effort's skill, apart from the rest of its metadata",
        sql: "alter table efforts add column guards text not null default ''",
    },
    Migration {
        about: "when a call was refused last",
        sql: "alter table windows add column denied_ms bigint",
    },
    Migration {
        about: "the files that a window has read or changed",
        sql: "create table window_files (
                window_id bigint not null,
                path text not null,
                at_ms bigint not null,
                primary key (window_id, path)
              );",
    },
    Migration {
        about: "the efforts of a project that are not finished, and which skill a window ran last",
        sql: "create index efforts_unfinished on efforts (project, used_ms) where finished_ms is null;
              alter table windows add column skill text not null default '';
              alter table windows add column skill_prompt text not null default '';
              alter table windows add column skill_ms bigint;",
    },
    Migration {
        about: "whether an actor has a shell, and what came of its tries to log",
        sql: "alter table windows add column has_shell bigint not null default 0;
              alter table windows add column n_tried bigint not null default 0;
              alter table windows add column let_go bigint not null default 0;",
    },
    Migration {
        about: "teammates that have nothing to do, for the main thread",
        sql: "alter table windows add column idle text not null default '';",
    },
];
