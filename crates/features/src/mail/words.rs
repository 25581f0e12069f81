//! What agents read: introductions, quoted bodies. A sender's text can't leave its quotes, its line or its marks.

use std::fmt::Write as _;

use jiff::tz::{Offset, TimeZone};
use substrate_core::text::{one_line, plain_line};

use super::message::{Line, Priority};

/// Lines in an introduction; the rest is counted.
pub(super) const MAX_LINES: usize = 10;

/// Counts end here.
pub(super) const MAX_COUNT: i64 = 200;

/// What `inbox` is for.
const USE: &str = "Use `substrate inbox` to read full messages.";

/// How many there are; a count that was capped is said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub(super) i64);

impl Count {
    fn text(self) -> String {
        if self.0 >= MAX_COUNT { format!("{MAX_COUNT}+") } else { self.0.to_string() }
    }

    /// `2 unread messages`.
    pub(super) fn of(self, what: &str) -> String {
        format!("{} {what} message{}", self.text(), if self.0 == 1 { "" } else { "s" })
    }
}

/// The words about some messages, and where the line of each ends in them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Introduction {
    pub(super) text: String,
    pub(super) ends: Vec<usize>,
}

/// The mailbox at the start of a session, and for `poll`.
pub(super) fn open_mail(count: Count, lines: &[Line]) -> Introduction {
    listed(format!("📬 You have {}:\n", count.of("unread")), count, lines, &format!("\n{USE}"))
}

/// What has come while the agent was at work.
pub(super) fn new_mail(count: Count, lines: &[Line]) -> Introduction {
    if let (1, [line]) = (count.0, lines) {
        let text = format!(
            "📬 New message from {}{}: \"{}\" [#{}]{}",
            name(&line.from),
            urgent(line.priority),
            subject(&line.subject),
            line.id,
            forwarded(line)
        );
        return Introduction { ends: vec![text.len()], text };
    }
    listed(format!("📬 You have {}:\n", count.of("new")), count, lines, &format!("\n{USE}"))
}

/// Why an agent may not stop yet.
pub(super) fn reason(count: Count, lines: &[Line]) -> Introduction {
    // Mail of the parent's is not in the subagent's own mailbox.
    let own = lines.iter().any(|line| line.for_parent.is_none());
    let first = lines.first().map_or(0, |line| line.id);
    let use_line = if own {
        USE.to_owned()
    } else {
        format!("Use `substrate read {first}` to read it; your parent gets it too.")
    };
    listed(format!("You have {}:\n", count.of("unread")), count, lines, &use_line)
}

/// One line each after the head, and how many more there are.
fn listed(head: String, count: Count, lines: &[Line], tail: &str) -> Introduction {
    let (mut out, mut ends) = (head, Vec::with_capacity(lines.len()));
    for line in lines.iter().take(MAX_LINES) {
        let parent = line
            .for_parent
            .as_ref()
            .map_or_else(String::new, |parent| format!(" (for your parent {})", name(parent)));
        let _infallible = write!(
            out,
            "- From: {}{} - \"{}\" [#{}]{}{parent}",
            name(&line.from),
            urgent(line.priority),
            subject(&line.subject),
            line.id,
            forwarded(line),
        );
        ends.push(out.len());
        out.push('\n');
    }
    let n_shown = i64::try_from(lines.len().min(MAX_LINES)).unwrap_or(0);
    if count.0 > n_shown {
        let plus = if count.0 >= MAX_COUNT { "+" } else { "" };
        let _infallible = writeln!(out, "- … and {}{plus} more", count.0 - n_shown);
    }
    out.push_str(tail);
    Introduction { text: out, ends }
}

fn urgent(priority: Priority) -> &'static str {
    if priority == Priority::Urgent { " (urgent)" } else { "" }
}

fn forwarded(line: &Line) -> String {
    line.was_for.as_ref().map_or_else(String::new, |sub| format!(" (was for {})", name(sub)))
}

/// A subject between quotes that are ours.
pub(super) fn subject(text: &str) -> String {
    one_line(text, 100).replace('"', "'")
}

/// A name that somebody else may have chosen.
pub(super) fn name(text: &str) -> String {
    one_line(text, 80).replace(['"', '`'], "'")
}

/// A text with `> ` before each line and without anything that moves the cursor, hides or reorders.
pub(super) fn quoted(text: &str) -> String {
    let is_break =
        |c: char| matches!(c, '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut out = String::with_capacity(text.len() + 64);
    for line in
        text.replace("\r\n", "\n").replace('\r', "\n").trim_end_matches(is_break).split(is_break)
    {
        out.push_str("> ");
        out.push_str(&plain_line(&line.replace('\t', "    "), None));
        out.push('\n');
    }
    out
}

/// A moment for people.
pub(super) fn moment(ms: i64, tz_offset_s: i32) -> String {
    let (Ok(at), Ok(offset)) =
        (jiff::Timestamp::from_millisecond(ms), Offset::from_seconds(tz_offset_s))
    else {
        return ms.to_string();
    };
    at.to_zoned(TimeZone::fixed(offset)).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
#[path = "tests/words.rs"]
mod tests;
