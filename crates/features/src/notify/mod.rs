//! Notifications: tells the user, once, that something waits for them, on the desktop or by a command of their own.
//!
//! ```toml
//! [notify]
//! desktop = true
//! command = ["sh", "-c", "curl --data @- https://ntfy.example/mine"]
//! quiet = "22:00-07:00"
//! ```
//!
//! `policy` is a table from what waits, what was told, the settings and the time to what is told now. The daemon asks it
//! after commits (`notify due`), notes what it is about to tell (`notify told`), tells it beside the loop, and notes what
//! came of that (`notify noted`).
//!
//! # What must stay true
//!
//! * Only rows of "needs you" are told, and each of them once, even if the daemon is killed on the way.
//! * A row that the user answers soon is not told at all. Rows that come together are one notification.
//! * Only the user's own settings say where notifications go: a project's file can't.
//! * Without a channel in the settings, nothing is asked and nothing is written.
//! * Text of others is one line without control characters, and is passed as an argument, never through a shell.

mod ops;
mod policy;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::view::{Check, CheckKind};
use substrate_core::{Cx, Feature, FeatureError, Verb};

use crate::retention::Expiring;

pub use ops::{Sent, latest};

/// The log is kept so long.
const KEPT_MS: i64 = 7 * 86_400_000;

const OLD: Expiring = Expiring { table: "notifications", key: "id", when: "at_ms < $1" };

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about, project: ProjectMay::Nothing, profiles: &[] }
}

pub(crate) const FEATURE: Feature = Feature {
    name: "notify",
    about: "Tells you on the desktop, or by a command of yours, that something waits for you.",
    migrations: ops::MIGRATIONS,
    keys: &[
        key(
            "notify.desktop",
            Kind::Bool,
            "false",
            "Show a notification on the desktop (`notify-send`, or `osascript` on macOS) when something waits for you.",
        ),
        key(
            "notify.command",
            Kind::Texts,
            "[]",
            "Run this program with these arguments when something waits for you. A title and a text follow as two more arguments, and everything as JSON on its standard input.",
        ),
        key(
            "notify.after",
            Kind::Span,
            "\"5s\"",
            "Tell only what has waited this long. What comes within this time of each other is one notification.",
        ),
        key(
            "notify.quiet",
            Kind::Text,
            "\"\"",
            "Tell nothing in these hours, such as `22:00-07:00`. What still waits afterwards is told then.",
        ),
        key(
            "notify.max_per_hour",
            Kind::Count,
            "30",
            "At most this many notifications in an hour. The rest is told together when there is room.",
        ),
    ],
    tick: Some(|cx| OLD.tick(cx, KEPT_MS)),
    checks: Some(checks),
    verbs: &[
        Verb::of::<verbs::Status>(),
        Verb::of::<verbs::Due>(),
        Verb::of::<verbs::Told>(),
        Verb::of::<verbs::Noted>(),
    ],
    ..Feature::NOTHING
};

/// Whether the settings name a place for notifications.
pub fn is_on(settings: &substrate_core::Settings) -> bool {
    settings.on("notify.desktop") || !settings.texts("notify.command").is_empty()
}

/// Why the settings can't be followed to the letter.
pub fn wrong_hours(settings: &substrate_core::Settings) -> Option<String> {
    let text = settings.text("notify.quiet");
    let is_wrong = !text.is_empty() && policy::Hours::read(text).is_none();
    is_wrong.then(|| format!("`notify.quiet` is `{text}`, and not hours such as `22:00-07:00`"))
}

fn checks(cx: &mut Cx<'_>) -> Result<Vec<Check>, FeatureError> {
    let Some(sent) = latest(cx.db)?.filter(|_| is_on(cx.settings)) else { return Ok(Vec::new()) };
    let Some(error) = sent.error else { return Ok(Vec::new()) };
    Ok(vec![Check {
        kind: CheckKind::Error,
        what: "the last notification".to_owned(),
        detail: error,
        since_ms: Some(sent.at.0),
        link: None,
    }])
}
