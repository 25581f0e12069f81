//! How full an actor's context window is.
//!
//! Other features ask `face::usage`. It reads the end of the transcript, or takes what the client's status line reported,
//! whichever is newer. The size of the window comes from the status line, from `context.window`, or from the model's name.
//!
//! After a compaction an agent is told who it is and which files it holds. Its summary would often lose both.
//!
//! # Invariants
//!
//! * A hook reads at most the last 64 KiB of a transcript, and only at tool calls while efforts are on.
//! * What is unknown is `None`, never a guess. Features that act on a full window then do nothing.
//! * A subagent's usage is its own, never its parent's.
//!
//! # Example
//!
//! ```text
//! $ substrate statusline < status.json
//! NobleLion · fix/mend · 34 % · 2 mail · 1 held · $0.42
//! ```

pub(crate) mod face;
mod line;
mod ops;
mod policy;
mod verbs;
mod window;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) const FEATURE: Feature = Feature {
    name: "context",
    about: "Knows how full a context window is, and tells an agent after a compaction who it is and which files it holds",
    migrations: ops::MIGRATIONS,
    keys: &[
        Key {
            name: "context.window",
            kind: Kind::Count,
            default: "0",
            about: "The size of the context window in tokens; 0: known from the model's name.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "context.compacts_at",
            kind: Kind::Count,
            default: "83",
            about: "The percentage of the window at which the client compacts on its own.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "statusline.template",
            kind: Kind::Text,
            default: "\"plain\"",
            about: "What `substrate statusline` prints: `plain`, `colour`, `short`, or a template of your own with `{agent}`, `{effort}`, `{model}`, `{context}`, `{unread}`, `{holds}`, `{needs}` and `{cost}`. A part in `[…]` is left out when one of its fields is empty. `{bold}`, `{dim}`, `{red}`, `{green}`, `{yellow}`, `{blue}`, `{magenta}`, `{cyan}` and `{reset}` are styles.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    gather: Some(policy::gather),
    consider: Some(policy::consider),
    record: Some(policy::record),
    explain: Some(face::explain),
    tick: Some(policy::tick),
    verbs: &[Verb::of::<verbs::Statusline>()],
    ..Feature::NOTHING
};
