//! Rules that refuse, ask about, or comment on what agents do.
//!
//! A rule is a condition in CEL over an event, an action, a reason and a next step. Built-in packs stop destructive
//! commands. The user, the project and a skill may add rules of their own.
//!
//! ```toml
//! [[guards.rules]]
//! name = "no-npm"
//! when = 'runs("npm")'
//! action = "deny"            # or ask, warn, inject
//! reason = "This project uses pnpm."
//! next = "Use `pnpm`."
//! ```
//!
//! Invariants:
//!
//! * Command lines are read as a shell reads them (`crate::shell`), never searched as text.
//! * A project adds rules. It can't remove, weaken or speak for the user's (`a_project_adds_rules_and_takes_none_away`).
//! * Judging is bounded. Work is paid for before it is done (`cel/budget.rs`), and built-in rules are judged first.
//! * A rule that can't be judged is reported and lets the agent go on, unless it fails closed.
//! * A denial names its rule, its reason and a next step that itself passes.
//!
//! Layout: `rule` is one rule as written, `rule_set` the compiled rules in force, `rule_table` which of
//! them can match, `cel` their conditions, `dangers` what
//! makes a command dangerous, `policy` the wishes, `prove` the checks behind `substrate guard …` (`inspect`, `trial`).

mod cel;
mod dangers;
pub(crate) mod face;
mod inspect;
mod ops;
mod policy;
mod prove;
mod rule;
mod rule_set;
mod rule_table;
mod trial;

#[cfg(test)]
mod tests;

pub use rule_set::unreadable_rules;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "guards",
    about: "Keeps agents from destructive commands, and enforces your own rules.",
    migrations: ops::MIGRATIONS,
    keys: &[
        Key {
            name: "guards.on",
            kind: Kind::Bool,
            default: "true",
            about: "Judge what agents do by rules.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "guards.pack",
            kind: Kind::Bool,
            default: "true",
            about: "The built-in rules against destructive commands; `substrate guard list` shows them.",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "guards.packs",
            kind: Kind::Texts,
            default: "[\"core\", \"git\", \"database\", \"cloud\", \"containers\"]",
            about: "Which packs of built-in rules are on: `core` (files, disks, our own settings), `git`, `database`, `cloud`, `containers`.",
            project: ProjectMay::Append,
            profiles: &[],
        },
        Key {
            name: "guards.allow",
            kind: Kind::Texts,
            default: "[]",
            about: "Built-in rules to switch off, by name, e.g. `[\"git-reset-hard\"]`.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "guards.rules",
            kind: Kind::Tables,
            default: "[]",
            about: "Rules of your own, each `[[guards.rules]]` with `name`, `when`, `action`, `reason`, `next`; `substrate guard check` proves them.",
            project: ProjectMay::Append,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    explain: Some(policy::explain),
    tick: Some(ops::tick),
    verbs: &[
        Verb::of::<inspect::List>(),
        Verb::of::<inspect::Check>(),
        Verb::of::<trial::Test>(),
        Verb::of::<trial::Explain>(),
        Verb::of::<trial::Backtest>(),
    ],
    ..Feature::NOTHING
};
