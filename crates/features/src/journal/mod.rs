//! The append-only record of events, wishes, verdicts and their cost. Always on; bounded by age and size; secrets are
//! taken out before anything is stored.

mod at_work;
pub(crate) mod face;
mod health;
mod ops;
pub mod project_logs;
mod record;
mod render;
mod schema;
mod tick;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) use at_work::{running_at, who_named};
pub use health::{FailedFeature, Health, Recent, Seen, SessionHealth, Since, health};

pub(crate) const FEATURE: Feature = Feature {
    name: "journal",
    about: "Records every event, what features wished, what was answered, and what it cost.",
    migrations: schema::MIGRATIONS,
    // Where the session logs are; `project_logs/words.rs` lets nothing of others into the tag.
    keys: &[
        Key {
            name: "journal.max_age",
            kind: Kind::Span,
            default: "\"14d\"",
            about: "Older entries are removed.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "journal.max_size",
            kind: Kind::Size,
            default: "\"512MB\"",
            about: "The oldest entries are removed when the database and its log grow beyond this.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "journal.max_text",
            kind: Kind::Size,
            default: "\"4KB\"",
            about: "How much of each tool input, result and message is kept, after secrets were taken out.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        project_logs::ON,
        project_logs::MAX_AGE,
    ],
    gather: Some(project_logs::gather),
    consider: Some(project_logs::consider),
    record: Some(record::record),
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs::List>(),
        Verb::of::<verbs::Tail>(),
        Verb::of::<verbs::Show>(),
        Verb::of::<verbs::Stats>(),
    ],
    ..Feature::NOTHING
};
