//! Answers the client's permission dialogs and questions from elsewhere: a command.
//!
//! With `ui.answer = true` a request for permission waits in the daemon while the client shows its own dialog. The first
//! answer wins. `substrate answer` lists what waits.
//!
//! ```text
//! $ substrate answer
//! #3     CalmOtter   12s  permission  Bash: git push
//! $ substrate answer 3 allow
//! ```
//!
//! # Invariants
//!
//! * Nothing here decides. An answer is only ever what the user said, and a refusal of a guard wins over it.
//! * Only the main thread of an attended session waits: there the client's dialog is open meanwhile. A background
//!   subagent would wait without a dialog, and an unattended client would wait for nothing.
//! * A row is open only while a hook waits for it. The client does not report that its dialog was answered, so the row
//!   ends with the first sign of it: the end of the call itself, the end of the turn, what the client shows, or the end
//!   of the hook. Another call is no sign: calls of one message run side by side.
//! * Without the setting, no event costs a statement.

mod needs;
mod ops;
mod policy;
mod schema;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Feature, Verb};

use crate::retention::Expiring;

/// The setting that switches all of this on.
const ON: &str = "ui.answer";

/// Closed rows only explain why a late answer was refused.
const KEPT_MS: i64 = 24 * 3_600_000;

const CLOSED: Expiring =
    Expiring { table: "answers", key: "id", when: "state = 'closed' and closed_ms < $1" };

pub(crate) const FEATURE: Feature = Feature {
    name: "answers",
    about: "Lets you answer permission dialogs and questions outside the client.",
    migrations: schema::MIGRATIONS,
    keys: &[Key {
        name: ON,
        kind: Kind::Bool,
        default: "false",
        about: "Answer the client's permission dialogs and questions with `substrate answer`, beside the client's own dialog.",
        project: ProjectMay::Nothing,
        profiles: &[],
    }],
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(policy::printed),
    is_news: Some(policy::is_news),
    tick: Some(policy::tick),
    needs_you: Some(needs::needs_you),
    checks: Some(needs::checks),
    verbs: &[Verb::of::<verbs::Answer>()],
    ..Feature::NOTHING
};
