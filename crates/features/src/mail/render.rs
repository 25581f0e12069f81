//! Mail for people and for agents who asked: lists, whole messages, the way of a delivery.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError, Timestamp};

use super::message::Priority;
use super::ops::Message;
use super::ops::mailbox::{Delivery, MailboxRow};
use super::policy::address;
use super::words::{moment, name, quoted, subject};

/// A message with as much of its body as was asked for.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) from: i64,
    /// Characters of the whole body.
    pub(super) n_chars: i64,
}

impl Part {
    pub(super) fn end(&self) -> i64 {
        self.from + i64::try_from(self.text.chars().count()).unwrap_or(0)
    }

    /// The quoted text, and where the rest is.
    pub(super) fn text(&self, id: i64) -> String {
        let mut out = if self.text.is_empty() { String::new() } else { quoted(&self.text) };
        let end = self.end();
        if end < self.n_chars {
            let from = if end == 0 { String::new() } else { format!(" --from {end}") };
            let _infallible = writeln!(
                out,
                "({} more characters: `substrate read {id}{from}`)",
                self.n_chars - end
            );
        }
        out
    }
}

/// `#42 from NobleLion (urgent), 5m ago: "subject"`
pub(super) fn head(row: &MailboxRow, from: &str, now: Timestamp) -> String {
    let mut marks = String::new();
    if row.priority == Priority::Urgent {
        marks.push_str(" (urgent)");
    }
    if let Some(sub) = &row.was_for {
        let _infallible = write!(marks, " (was for {})", name(sub));
    }
    let ago = Ago(now.0 - row.sent_ms);
    format!("#{} from {}{marks}, {ago} ago: \"{}\"", row.id, name(from), subject(&row.subject))
}

/// One line of a long list.
pub(super) fn short(row: &MailboxRow, from: &str, now: Timestamp) -> String {
    let state = match row {
        MailboxRow { replaced_by: Some(newer), .. } => format!("replaced by #{newer}"),
        MailboxRow { acked_ms: Some(_), .. } => "acked".to_owned(),
        MailboxRow { read_ms: Some(_), .. } => "read".to_owned(),
        MailboxRow { .. } => "unread".to_owned(),
    };
    let star = if row.starred { " *" } else { "" };
    let archived = if row.box_name == "inbox" { "" } else { " (archived)" };
    format!("{}  [{state}]{star}{archived}", head(row, from, now))
}

pub(super) fn open_json(row: &MailboxRow, from: &str) -> Value {
    json!({
        "id": row.id, "from": from, "subject": row.subject, "priority": row.priority, "sent_ms": row.sent_ms,
        "deadline_ms": row.deadline_ms, "thread": row.thread, "was_for": row.was_for, "box": row.box_name,
        "seen_ms": row.seen_ms, "read_ms": row.read_ms, "acked_ms": row.acked_ms, "starred": row.starred,
        "replaced_by": row.replaced_by,
    })
}

/// The lines above a body.
pub(super) fn header(
    cx: &mut Cx<'_>,
    message: &Message,
    to: &[Delivery],
    tz_offset_s: i32,
) -> Result<String, DbError> {
    let from = address(cx, message.sender, &message.sender_sub)?;
    let to = addresses(cx, to)?;
    let mut out = format!(
        "#{} \"{}\"\nFrom: {}\nTo: {}\nSent: {}\n",
        message.id,
        subject(&message.subject),
        name(&from),
        shortened(&to),
        moment(message.sent_ms, tz_offset_s),
    );
    let mut line = |what: &str, value: Option<String>| {
        if let Some(value) = value {
            let _infallible = writeln!(out, "{what}: {value}");
        }
    };
    let priority =
        (message.priority != Priority::Normal).then(|| message.priority.name().to_owned());
    line("Priority", priority);
    line("Deadline", message.deadline_ms.map(|at| moment(at, tz_offset_s)));
    line("Topic", message.topic.as_deref().map(name));
    let in_thread = (message.thread != message.id)
        .then(|| format!("#{} (`substrate mail thread {}` shows it)", message.thread, message.id));
    line("Thread", in_thread);
    Ok(out)
}

/// The first names of a list.
pub(super) fn shortened(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(8).map(|one| name(one)).collect();
    let more = names.len().saturating_sub(8);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

pub(super) fn addresses(cx: &mut Cx<'_>, to: &[Delivery]) -> Result<Vec<String>, DbError> {
    to.iter().map(|one| address(cx, one.agent, &one.sub)).collect()
}

pub(super) fn message_json(
    cx: &mut Cx<'_>,
    message: &Message,
    to: &[Delivery],
) -> Result<Value, DbError> {
    let mut out = json!(message);
    out["from"] = json!(address(cx, message.sender, &message.sender_sub)?);
    out["to"] = json!(addresses(cx, to)?);
    Ok(out)
}

/// How far a delivery has got.
pub(super) fn state(one: &Delivery) -> &'static str {
    match one {
        Delivery { failed_ms: Some(_), .. } => "failed",
        Delivery { acked_ms: Some(_), .. } => "acked",
        Delivery { read_ms: Some(_), .. } => "read",
        Delivery { replaced_by: Some(_), .. } => "replaced",
        Delivery { seen_ms: Some(_), .. } => "seen",
        Delivery { injected_ms: Some(_), .. } => "injected",
        Delivery { at_machine_ms: Some(_), .. } => "at the machine",
        Delivery { at_hub_ms: Some(_), .. } => "at the hub",
        Delivery { .. } => "queued",
    }
}

/// The least that is true of all of them.
pub(super) fn worst(to: &[Delivery]) -> &'static str {
    const ORDER: [&str; 9] = [
        "failed",
        "queued",
        "at the hub",
        "at the machine",
        "injected",
        "seen",
        "read",
        "acked",
        "replaced",
    ];
    ORDER.into_iter().find(|word| to.iter().any(|one| state(one) == *word)).unwrap_or("gone")
}

/// Every step with its time.
pub(super) fn way(one: &Delivery, tz_offset_s: i32) -> String {
    let mut out = format!("queued {}", moment(one.queued_ms, tz_offset_s));
    let how = one.channel.as_ref().map_or_else(String::new, |how| format!(" ({})", name(how)));
    let why = one.failed_why.as_ref().map_or_else(String::new, |why| format!(" ({})", name(why)));
    let steps = [
        ("at the hub", one.at_hub_ms, ""),
        ("at the machine", one.at_machine_ms, ""),
        ("failed", one.failed_ms, why.as_str()),
        ("injected", one.injected_ms, how.as_str()),
        ("seen", one.seen_ms, ""),
        ("read", one.read_ms, ""),
        ("acked", one.acked_ms, ""),
        ("told overdue", one.overdue_told_ms, ""),
        ("snoozed until", one.snooze_ms, ""),
    ];
    for (word, at, more) in steps {
        if let Some(at) = at {
            let _infallible = write!(out, ", {word} {}{more}", moment(at, tz_offset_s));
        }
    }
    if let Some(newer) = one.replaced_by {
        let _infallible = write!(out, ", replaced by #{newer}");
    }
    if let Some(sub) = &one.was_for {
        let _infallible = write!(out, ", was for {}", name(sub));
    }
    out
}
