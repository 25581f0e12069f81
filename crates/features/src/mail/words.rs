//! What agents read: introductions, quoted bodies. A sender's text can't leave its quotes, its line or its marks.

use std::fmt::Write as _;

use jiff::tz::{Offset, TimeZone};
use substrate_core::text::{one_line, plain_line};

use super::introduce::Introduced;
use super::message::Priority;

/// Lines in an introduction; the rest is counted.
pub(super) const MAX_LINES: usize = 10;

/// Counts end here.
pub(super) const MAX_COUNT: i64 = 200;

/// The most characters of all bodies in one introduction. Longer ones are only announced. The bodies of urgent messages
/// have room of their own.
const MAX_SHORT: i64 = 600;
pub(super) const MAX_URGENT: i64 = 4_000;

/// How many there are. A capped count says so.
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

/// The words about some messages, and where each of them ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Introduction {
    pub(super) text: String,
    pub(super) ends: Vec<Ends>,
}

/// Where the line of a message ends, and where its body does, if it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) line: usize,
    pub(super) body: Option<usize>,
}

/// Which bodies of these lengths are shown.
pub(super) fn told_whole(bodies: impl Iterator<Item = (Priority, i64)>) -> Vec<bool> {
    let (mut short, mut urgent) = (MAX_SHORT, MAX_URGENT);
    let fits = |(priority, n_chars): (Priority, i64)| {
        let room = if priority == Priority::Urgent { &mut urgent } else { &mut short };
        let fits = n_chars <= *room;
        *room -= if fits { n_chars } else { 0 };
        fits
    };
    bodies.map(fits).collect()
}

/// The mailbox at the start of a session, and for `poll`.
pub(super) fn open_mail(count: Count, lines: &[Introduced]) -> Introduction {
    listed(format!("📬 You have {}:\n", count.of("unread")), count, lines, "\n")
}

/// What has come while the agent was at work.
pub(super) fn new_mail(count: Count, lines: &[Introduced]) -> Introduction {
    let (1, [line]) = (count.0, lines) else { return open_mail(count, lines) };
    if line.is_again {
        return open_mail(count, lines);
    }
    let mut text = format!(
        "📬 New message from {}{}: \"{}\" [#{}]{}",
        name(&line.from),
        urgent(line.priority),
        subject(&line.subject),
        line.id,
        forwarded(line)
    );
    let ends = with_body(&mut text, line);
    text.push_str(&how(count, lines));
    Introduction { ends: vec![ends], text }
}

/// Why an agent may not stop yet.
pub(super) fn reason(count: Count, lines: &[Introduced]) -> Introduction {
    listed(format!("You have {}:\n", count.of("unread")), count, lines, "")
}

/// One line each after the head, with its body where there is room for it, how many more there are, and what to do.
fn listed(head: String, count: Count, lines: &[Introduced], gap: &str) -> Introduction {
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
        ends.push(with_body(&mut out, line));
    }
    let n_shown = i64::try_from(lines.len().min(MAX_LINES)).unwrap_or(0);
    if count.0 > n_shown {
        let plus = if count.0 >= MAX_COUNT { "+" } else { "" };
        let _infallible = writeln!(out, "- … and {}{plus} more", count.0 - n_shown);
    }
    out.push_str(gap);
    out.push_str(&how(count, lines));
    Introduction { text: out, ends }
}

/// Ends the line of a message: its body follows, or the command that shows it.
fn with_body(out: &mut String, line: &Introduced) -> Ends {
    if let Some(body) = &line.body {
        let end = out.len();
        out.push('\n');
        if !body.trim().is_empty() {
            out.push_str(&quoted(body));
        }
        return Ends { line: end, body: Some(out.len() - 1) };
    }
    let s = if line.n_chars == 1 { "" } else { "s" };
    let _infallible = write!(out, " ({} character{s}: `substrate read {}`)", line.n_chars, line.id);
    let end = out.len();
    out.push('\n');
    Ends { line: end, body: None }
}

/// The commands that read and answer these messages. Substrate itself reads no answers, and a parent answers its own mail.
fn how(count: Count, lines: &[Introduced]) -> String {
    let all_of_parent = lines.iter().all(|line| line.for_parent.is_some());
    let mut answered = lines.iter().filter(|line| !line.is_ours && line.for_parent.is_none());
    let (read, answer) = match lines {
        [line] if count.0 <= 1 || all_of_parent => {
            let again = if line.body.is_some() { "see it again" } else { "read it" };
            (format!("`substrate read {}` to {again}", line.id), line.id.to_string())
        }
        // A parent's mail is not in the subagent's own mailbox.
        _ if all_of_parent => {
            let first = lines.first().map_or(0, |line| line.id);
            (format!("`substrate read {first}` to read the first of them"), String::new())
        }
        _ => ("`substrate inbox` to read full messages".to_owned(), "NUMBER".to_owned()),
    };
    let end = if all_of_parent {
        "; your parent gets this too, and answers it.".to_owned()
    } else if answered.next().is_some() {
        format!(", `substrate reply {answer} --body \"…\"` to answer.")
    } else {
        ".".to_owned()
    };
    format!("Use {read}{end}")
}

fn urgent(priority: Priority) -> &'static str {
    if priority == Priority::Urgent { " (urgent)" } else { "" }
}

fn forwarded(line: &Introduced) -> String {
    line.was_for.as_ref().map_or_else(String::new, |sub| format!(" (was for {})", name(sub)))
}

/// A subject between quotes that are ours.
pub(super) fn subject(text: &str) -> String {
    one_line(text, 100).replace('"', "'")
}

/// A name that another party may have chosen.
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
