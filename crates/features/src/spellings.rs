//! How people and agents type verbs. A verb's own path is its name in the daemon's API, and can always be typed. Help
//! and every hint use the spelling from here, so that each command has one name.
//!
//! Also durations, as they are typed.

use substrate_core::VerbError;
use substrate_core::text::one_line;
use substrate_core::time::parse_span;

/// Verbs that help shows elsewhere: `topic create` is `mail topic create`.
pub const MOVED: &[(&[&str], &[&str])] = &[
    (&["send"], &["mail", "send"]),
    (&["inbox"], &["mail", "inbox"]),
    (&["read"], &["mail", "read"]),
    (&["reply"], &["mail", "reply"]),
    (&["thread"], &["mail", "thread"]),
    (&["search"], &["mail", "search"]),
    (&["status"], &["mail", "status"]),
    (&["ack"], &["mail", "ack"]),
    (&["star"], &["mail", "star"]),
    (&["snooze"], &["mail", "snooze"]),
    (&["archive"], &["mail", "archive"]),
    (&["trash"], &["mail", "trash"]),
    (&["broadcast"], &["mail", "broadcast"]),
    (&["publish"], &["mail", "publish"]),
    (&["subscribe"], &["mail", "subscribe"]),
    (&["unsubscribe"], &["mail", "unsubscribe"]),
    (&["topic", "create"], &["mail", "topic", "create"]),
    (&["topic", "list"], &["mail", "topic", "list"]),
    (&["poll"], &["mail", "poll"]),
    (&["watch"], &["mail", "watch"]),
    (&["identity", "current"], &["agent", "whoami"]),
    (&["identity", "list"], &["agent", "sessions"]),
    (&["identity", "rename"], &["agent", "rename"]),
    (&["identity", "ensure"], &["agent", "ensure"]),
    (&["identity", "save"], &["agent", "save"]),
    (&["identity", "restore"], &["agent", "restore"]),
    (&["task", "list"], &["effort", "task", "list"]),
    (&["task", "show"], &["effort", "task", "show"]),
    (&["task", "set"], &["effort", "task", "set"]),
    (&["session", "list"], &["effort", "session", "list"]),
    (&["session", "show"], &["effort", "session", "show"]),
];

/// Moved verbs whose own name help shows too, because they are typed most.
pub const SHORT: &[&str] = &["send", "inbox", "read", "reply"];

/// The spelling for texts. `None`: the words name no verb by another spelling.
#[cfg(test)]
pub(crate) fn better(words: &[&str]) -> Option<&'static [&'static str]> {
    let is_meant = |(from, _): &&(&[&str], &[&str])| match from {
        [short] if SHORT.contains(short) => false,
        from => {
            words.starts_with(from) || (words.len() == 1 && from.len() > 1 && words[0] == from[0])
        }
    };
    MOVED.iter().find(is_meant).map(|(_, to)| *to)
}

/// A typed duration in milliseconds: `30s`, `10m`, `1h30m`.
pub(crate) fn typed_ms(text: &str) -> Result<i64, VerbError> {
    parse_span(text).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is not a duration", one_line(&text.replace('`', "'"), 40)),
            "write it like `30s`, `10m` or `1h`",
        )
    })
}
