//! The journal: an append-only record of every event, what features wished, what was answered, and what it cost.
//!
//! It is always on. `substrate journal` reads it, other features ask it what an actor did, and `doctor` judges the hooks'
//! health by it. With `journal.project_logs`, a project also gets log files of its own.
//!
//! # Invariants
//!
//! * Each event is one row, written in the event's own transaction. Rows never change.
//! * Secrets are taken out before anything is stored.
//! * The journal is bounded by age and size. Old rows go in small batches, so no hook waits.
//! * Only the primary key and what is rare are indexed. A time is found by bisection, because ids grow with time.
//! * What each feature costs is a histogram per hour (`feature_costs`). A row names only what took long.
//! * An id is never given twice. The ranges of sessions are summed up from the rows, a few at a time (`sessions`).
//!
//! # Example
//!
//! ```text
//! $ substrate journal list --verdict deny --since 2h
//! $ substrate journal show 4711
//! $ substrate journal stats
//! ```

mod at_work;
mod condition;
pub(crate) mod face;
mod feature_costs;
mod health;
mod ops;
mod page;
pub mod project_logs;
mod record;
mod refused;
mod render;
mod schema;
mod search;
mod sessions;
mod traces;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

pub(crate) use at_work::{running_at, who_named};
pub use health::{FailedFeature, Health, Recent, Seen, SessionHealth, Since, health};

pub(crate) const FEATURE: Feature = Feature {
    name: "journal",
    about: "Records every event, what features wished, what was answered, and what it cost",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "journal.max_age",
            kind: Kind::Span,
            default: "\"14d\"",
            about: "Remove entries older than this.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "journal.max_size",
            kind: Kind::Size,
            default: "\"512MB\"",
            about: "Remove the oldest entries when the database and its log grow beyond this.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "journal.max_text",
            kind: Kind::Size,
            default: "\"4KB\"",
            about: "How much of each tool input, result and message to keep, after secrets are taken out.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        project_logs::ON,
        project_logs::MAX_AGE,
    ],
    gather: Some(project_logs::gather),
    consider: Some(project_logs::consider),
    record: Some(record::record),
    processed: Some(ops::stood_for),
    tick: Some(record::tick),
    story: Some(traces::story),
    find: Some(search::find),
    verbs: &[
        Verb::of::<verbs::List>(),
        Verb::of::<verbs::Tail>(),
        Verb::of::<verbs::Show>(),
        Verb::of::<verbs::Stats>(),
        Verb::of::<refused::Refused>(),
        Verb::of::<condition::Health>(),
        Verb::of::<search::Search>(),
    ],
    pages: &[page::WHY, search::PAGE, page::HEALTH],
    ..Feature::NOTHING
};
