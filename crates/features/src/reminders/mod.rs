//! Reminders for agents that want to stop. They are suggestions, not rules.
//!
//! The main thread gets a checklist when its turn ends. A subagent is first asked to check its work, then to note what
//! went wrong. Teams replace the words with files in `.claude/reminders/`, or in their settings.
//!
//! # Invariants
//!
//! * Each reminder is told once: per turn or session to the main thread, per lifetime to a subagent.
//! * After a reminder the agent may stop, whatever it did about it.
//! * A reminder that never reached the client is told again.
//! * A turn without tool calls gets none. Answering a question is not a piece of work.
//! * Words from a project are cleaned of anything that could hide or forge text on a terminal.
//!
//! # Example
//!
//! ```text
//! $ substrate reminders show validate --agent-type reviewer
//! $ echo "Run the linter before you stop." > .claude/reminders/reflect.md
//! ```

mod ops;
mod policy;
mod source;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

/// What other features that hold an agent say too, and which reminder an answer contains.
pub(crate) mod face {
    use substrate_core::Outcome;

    use super::source::Reminder;

    /// Told to an agent whose turn is held: the turn goes on, and only its last message is delivered.
    pub(crate) const ANSWER: &str =
        "At the end, repeat your complete final answer: only your last message reaches the caller.";

    /// Whether the answer contains that reminder.
    fn is_told(outcome: &Outcome, reminder: Reminder) -> bool {
        outcome.told(super::FEATURE.name).any(|part| part.what == reminder.name())
    }

    /// Whether a subagent is asked to check its work.
    pub(crate) fn validates(outcome: &Outcome) -> bool {
        is_told(outcome, Reminder::Validate)
    }

    /// Whether a subagent is asked what went wrong.
    pub(crate) fn reflects(outcome: &Outcome) -> bool {
        is_told(outcome, Reminder::Reflexion)
    }
}

const NAME: &str = "reminders";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Reminds agents that want to stop to look back, and subagents to check their work",
    migrations: ops::MIGRATIONS,
    keys: &[
        Key {
            name: "reminders.on",
            kind: Kind::Bool,
            default: "false",
            about: "Give agents that want to stop a checklist, once. They decide what to do about it.",
            project: ProjectMay::TurnOn,
            profiles: &[("reminders", "true")],
        },
        Key {
            name: "reminders.stop",
            kind: Kind::Word(&["turn", "session", "off"]),
            default: "\"turn\"",
            about: "When the main thread is asked to reflect: at the end of each `turn`, once per `session`, or never (`off`).",
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
            "What the main thread is told when it stops; empty: our own words. A project's `.claude/reminders/reflect.md` wins over it, and an empty file switches the reminder off.",
        ),
        text(
            "reminders.validate",
            "What a subagent is told when it first wants to end. `.claude/reminders/validate.TYPE.md` (for one agent type) and `validate.md` win over it. The request for the complete final answer is always added.",
        ),
        text(
            "reminders.reflexion",
            "What a subagent is told when it wants to end after that. `.claude/reminders/reflexion.TYPE.md` and `reflexion.md` win over it.",
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
