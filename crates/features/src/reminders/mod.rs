//! Reminders, not rules: a checklist when a turn ends, and for subagents first a look at their own work, then at what
//! went wrong. Each is told once, and then whoever was reminded may stop.

pub(crate) mod face;
mod ops;
mod policy;
mod schema;
mod source;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

const NAME: &str = "reminders";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Reminds an agent that wants to stop to look back, and a subagent to check its own work.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "reminders.on",
            kind: Kind::Bool,
            default: "false",
            about: "Remind agents that want to stop: a checklist, told once. They decide what to do about it.",
            project: ProjectMay::TurnOn,
            profiles: &[("reminders", "true")],
        },
        Key {
            name: "reminders.stop",
            kind: Kind::Word(&["turn", "session", "off"]),
            default: "\"turn\"",
            about: "How often the main thread is asked to reflect: at the end of each `turn`, once per `session`, or not at all (`off`).",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "reminders.subagents",
            kind: Kind::Bool,
            default: "true",
            about: "Remind subagents too: first to check their work, then to note what went wrong.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "reminders.exempt",
            kind: Kind::Texts,
            default: substrate_core::seed::BUILT_IN_AGENTS,
            about: "Agent types that are never reminded.",
            project: ProjectMay::Append,
            profiles: &[],
        },
        text(
            "reminders.reflect",
            "What the main thread is told when it stops; empty: our own words. A project's `.claude/reminders/reflect.md` comes first, and an empty one means nothing at all.",
        ),
        text(
            "reminders.validate",
            "What a subagent is told when it first wants to end. `.claude/reminders/validate.TYPE.md` (for one agent type) and `validate.md` come first. The request for the complete final answer is always added.",
        ),
        text(
            "reminders.reflexion",
            "What a subagent is told when it wants to end after that. `.claude/reminders/reflexion.TYPE.md` and `reflexion.md` come first.",
        ),
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(policy::printed),
    tick: Some(policy::tick),
    verbs: &[Verb::of::<verbs::List>(), Verb::of::<verbs::Show>()],
    ..Feature::NOTHING
};

const fn text(name: &'static str, about: &'static str) -> Key {
    Key { name, kind: Kind::Text, default: "\"\"", about, project: ProjectMay::Set, profiles: &[] }
}
