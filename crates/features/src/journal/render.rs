//! Renders the journal for people.

use std::fmt::Write as _;

use jiff::tz::{Offset, TimeZone};
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::time::{Ago, Timestamp, Took};

use super::ops::JournalRow;

/// How times are shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    /// The caller's clock, by its offset from UTC in seconds.
    Clock(i32),
    /// How long before this moment.
    Ago(Timestamp),
}

impl Times {
    fn of(self, at_ms: i64) -> String {
        match self {
            Self::Clock(tz_offset_s) => time(at_ms, tz_offset_s),
            Self::Ago(now) => format!("{:>4} ago", Ago(now.0 - at_ms).to_string()),
        }
    }
}

/// One line per row.
pub(super) fn lines(rows: &[JournalRow], times: Times) -> String {
    let mut out = String::new();
    for row in rows {
        let session = row.session.as_deref().map_or("-", |id| id.get(..8).unwrap_or(id));
        let agent = row.agent.as_deref().unwrap_or(session);
        let actor = row.actor_kind.as_deref().filter(|kind| !kind.is_empty()).unwrap_or(&row.actor);
        let what = row
            .tool
            .as_ref()
            .map_or_else(|| row.event.clone(), |tool| format!("{} {tool}", row.event));
        let words = row
            .answer_words()
            .or_else(|| row.input.clone())
            .or_else(|| row.output.clone())
            .unwrap_or_default();
        let _infallible = writeln!(
            out,
            "{:>6}  {}  {agent:<16}  {actor:<16}  {what:<28}  {:<7}  {:>7}  {}",
            row.id,
            times.of(row.at_ms),
            row.verdict,
            Took(row.spent_us),
            one_line(&words, 60),
        );
    }
    out
}

/// Everything about one row.
pub(super) fn whole(row: &JournalRow, tz_offset_s: i32) -> String {
    let mut out = String::new();
    let none = "-".to_owned();
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    let fields = [
        ("id", Some(row.id.to_string())),
        ("time", Some(time(row.at_ms, tz_offset_s))),
        ("event", Some(row.event.clone())),
        ("client", Some(row.client.clone())),
        ("agent", row.agent.clone()),
        ("session", Some(row.session.clone().unwrap_or_else(|| none.clone()))),
        (
            "actor",
            Some(
                row.actor_kind
                    .as_ref()
                    .map_or_else(|| row.actor.clone(), |kind| format!("{} ({kind})", row.actor)),
            ),
        ),
        ("tool", row.tool.clone()),
        ("tool use", row.tool_use.clone()),
        ("folder", Some(row.cwd.clone())),
        ("verdict", Some(row.verdict.clone())),
        ("answer", json(&row.answer)),
        ("wishes", json(&row.wishes)),
        ("undeliverable", json(&row.undeliverable)),
        ("failures", json(&row.failures)),
        (
            "cost",
            Some(format!(
                "{} by the {}{}",
                Took(row.spent_us),
                row.host,
                row.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
            )),
        ),
        ("per feature", row.costs.as_ref().map(costs)),
        ("request", Some(row.request.clone())),
        ("payload", Some(Bytes(row.n_bytes.unsigned_abs()).to_string())),
        ("input", row.input.clone()),
        ("output", row.output.clone()),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _infallible = writeln!(out, "{name:<14} {value}");
        }
    }
    out
}

impl JournalRow {
    /// The most important words that the client was told.
    pub(super) fn answer_words(&self) -> Option<String> {
        words_of(self.answer.as_ref()?)
    }
}

/// The most important words of an answer.
pub(super) fn words_of(answer: &serde_json::Value) -> Option<String> {
    ["/permission/deny", "/permission/ask", "/block", "/context", "/notice"]
        .iter()
        .find_map(|path| answer.pointer(path)?.as_str().map(str::to_owned))
}

/// The time each feature took, e.g. `mail 120µs, locks 40µs`.
fn costs(costs: &serde_json::Value) -> String {
    let one = |cost: &serde_json::Value| {
        format!("{} {}", cost[0].as_str().unwrap_or("?"), Took(cost[1].as_i64().unwrap_or(0)))
    };
    let all: Vec<String> = costs.as_array().into_iter().flatten().map(one).collect();
    all.join(", ")
}

fn time(at_ms: i64, tz_offset_s: i32) -> String {
    let (Ok(at), Ok(offset)) =
        (jiff::Timestamp::from_millisecond(at_ms), Offset::from_seconds(tz_offset_s))
    else {
        return at_ms.to_string();
    };
    at.to_zoned(TimeZone::fixed(offset)).strftime("%m-%d %H:%M:%S").to_string()
}
