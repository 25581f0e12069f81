//! Work that survives the context window.
//!
//! A *window* is one actor's context window: it begins and ends, and is never resumed. An *effort* is one use of a skill: it
//! belongs to an agent, has phases, a log and other artifacts, and goes on in the agent's next window. A *task* is the
//! folder in which efforts leave their artifacts. Only whoever works on an effort is counted, and only by its own calls.

mod begin;
mod calls;
mod config;
mod explain;
pub(crate) mod face;
mod make;
mod offer;
mod ops;
mod ops_files;
mod ops_pending;
mod ops_windows;
mod pending;
mod policy;
mod record;
mod render;
mod schema;
mod skill_use;
mod target;
mod verbs_life;
mod verbs_look;
mod verbs_session;
mod verbs_start;
mod verbs_task;
mod verbs_work;
mod wanted;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

const NAME: &str = "efforts";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Keeps work going across context windows: efforts with phases, logs and artifacts, and what the next window must know.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "efforts.on",
            kind: Kind::Bool,
            default: "false",
            about: "Efforts: count an agent's tool calls between log entries while it has one, warn before its context overflows, and brief its next session.",
            project: ProjectMay::TurnOn,
            profiles: &[("engine", "true")],
        },
        Key {
            name: "efforts.warn_at",
            kind: Kind::Count,
            default: "7",
            about: "After how many tool calls without a log entry an agent with an effort is reminded; 0: never. A skill may say otherwise.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "efforts.block_at",
            kind: Kind::Count,
            default: "10",
            about: "Which tool call without a log entry is refused; 0: none. A skill may say otherwise.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "efforts.skills",
            kind: Kind::Texts,
            default: "[\"brainstorm\", \"implement\", \"fix\"]",
            about: "Skills and commands that begin an effort when they are run, where there are such. One that has an `effort.toml`, or `effort-…` keys in its front matter, begins one anyway.",
            project: ProjectMay::Append,
            profiles: &[],
        },
        Key {
            name: "efforts.adopt",
            kind: Kind::Word(&["offer", "auto", "off"]),
            default: "\"offer\"",
            about: "What a new session does about the latest unfinished effort of its project whose agent is gone: it is told how to take it, takes it at once, or hears nothing of it.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    gather: Some(skill_use::gather),
    looks: Some(policy::looks),
    consider: Some(policy::consider),
    record: Some(record::record),
    printed: Some(pending::printed),
    explain: Some(explain::explain),
    tick: Some(record::tick),
    verbs: &[
        Verb::of::<verbs_start::Start>(),
        Verb::of::<verbs_work::Phase>(),
        Verb::of::<verbs_work::Log>(),
        Verb::of::<verbs_work::Inject>(),
        Verb::of::<verbs_work::Preload>(),
        Verb::of::<verbs_life::Dehydrate>(),
        Verb::of::<verbs_life::Resume>(),
        Verb::of::<verbs_life::Finish>(),
        Verb::of::<verbs_look::Show>(),
        Verb::of::<verbs_look::List>(),
        Verb::of::<verbs_task::List>(),
        Verb::of::<verbs_task::Show>(),
        Verb::of::<verbs_task::Set>(),
        Verb::of::<verbs_session::List>(),
        Verb::of::<verbs_session::Show>(),
    ],
    ..Feature::NOTHING
};
