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
mod record;
mod render;
mod schema;
mod start;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

const NAME: &str = "efforts";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Keeps work going across context windows: efforts with phases, logs and artifacts",
    migrations: schema::MIGRATIONS,
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
    record: Some(record::record),
    printed: Some(pending::printed),
    explain: Some(face::explain),
    tick: Some(record::tick),
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
