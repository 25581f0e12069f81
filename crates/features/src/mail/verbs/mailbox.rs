//! `substrate inbox`, `read`, `ack`, `star`, `snooze`, `archive`, `trash`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError, Who};

use super::send::{not_there, visible};
use crate::identity::holder;
use crate::mail::message::MessageId;
use crate::mail::ops::ledger;
use crate::mail::ops::mailbox::{self, Mark};
use crate::mail::ops::{self, Mailbox};
use crate::mail::policy::address;
use crate::mail::post;
use crate::mail::render::{self, Part};
use crate::mail::words;

/// Characters of a body in a list.
const LIST_CHARS: i64 = 2_000;

/// Characters of a body at once.
const READ_CHARS: i64 = 16_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::mail) struct Inbox {
    /// Show everything but the trash, newest first, one line each
    #[arg(long)]
    all: bool,
    /// Show at most this many messages
    #[arg(long, short = 'n', value_parser = clap::value_parser!(i64).range(1..=200))]
    n: Option<i64>,
    /// With `--all`: only messages before this one
    #[arg(long, requires = "all")]
    before: Option<MessageId>,
    /// Only look; nothing counts as seen or read
    #[arg(long)]
    peek: bool,
    /// What was printed.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    printed: Vec<MessageId>,
}

impl VerbArgs for Inbox {
    const PATH: &'static [&'static str] = &["inbox"];
    const ABOUT: &'static str = "Show unread messages and mark them read";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        if !self.printed.is_empty() {
            return printed(cx, &who, &self.printed);
        }
        ledger::end_snoozes(cx.db, who.agent, cx.now)?;
        if self.all { self.list(cx, &who) } else { self.unread(cx, &who) }
    }
}

/// What was shown counts as read, even if a long body was cut: it says how to read on. It is marked only now, because a
/// command that dies before printing has shown nothing.
fn printed(cx: &mut Cx<'_>, who: &Who, ids: &[MessageId]) -> Result<Output, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    for id in ids {
        mailbox::mark(cx.db, of, id.0, Mark::Read("inbox"), cx.now)?;
    }
    Ok(Output::default())
}

impl Inbox {
    fn unread(&self, cx: &mut Cx<'_>, who: &Who) -> Result<Output, VerbError> {
        let of = Mailbox { agent: who.agent, sub: &who.sub };
        let count = mailbox::n_unread(cx.db, of, cx.now)?;
        let rows = mailbox::unread(cx.db, of, cx.now, self.n.unwrap_or(20).clamp(1, 200))?;
        let mut text = match count.0 {
            0 => "No unread messages.\n".to_owned(),
            _ => format!("{}.\n", count.of("unread")),
        };
        let mut list = Vec::new();
        for row in &rows {
            let from = address(cx, row.sender, &row.sender_sub)?;
            let part = Part {
                text: ops::body(cx.db, row.id, 0, LIST_CHARS)?,
                from: 0,
                n_chars: ops::body_len(cx.db, row.id)?,
            };
            let _infallible =
                write!(text, "\n{}\n{}", render::head(row, &from, cx.now), part.text(row.id));
            if let Some(at) = row.deadline_ms {
                let at = words::moment(at, 0);
                let _infallible =
                    writeln!(text, "(`substrate mail ack {}` until {at} UTC)", row.id);
            }
            let mut json = render::open_json(row, &from);
            json["n_chars"] = json!(part.n_chars);
            json["body"] = json!(part.text);
            list.push(json);
        }
        let n_shown = i64::try_from(rows.len()).unwrap_or(0);
        if count.0 > n_shown {
            let _infallible =
                writeln!(text, "\n… and more: `substrate inbox` again shows the next ones");
        }
        let mut out = Output::new(text, json!({"n_unread": count.0, "messages": list}));
        if !rows.is_empty() && !self.peek {
            let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
            out.after = Some(json!({ "printed": ids }));
        }
        Ok(out)
    }

    fn list(&self, cx: &mut Cx<'_>, who: &Who) -> Result<Output, VerbError> {
        let of = Mailbox { agent: who.agent, sub: &who.sub };
        let limit = self.n.unwrap_or(50).clamp(1, 200);
        let before = self.before.map_or(i64::MAX, |id| id.0);
        let rows = mailbox::kept(cx.db, of, before, limit)?;
        let mut text = String::new();
        let mut list = Vec::new();
        for row in &rows {
            let from = address(cx, row.sender, &row.sender_sub)?;
            let _infallible = writeln!(text, "{}", render::short(row, &from, cx.now));
            list.push(render::open_json(row, &from));
        }
        if rows.is_empty() {
            "No messages.\n".clone_into(&mut text);
        }
        if let (Some(last), true) = (rows.last(), i64::try_from(rows.len()) == Ok(limit)) {
            let _infallible =
                writeln!(text, "Older ones: `substrate inbox --all --before {}`", last.id);
        }
        Ok(Output::new(text, json!({"messages": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Read {
    /// The message, e.g. `42`
    id: MessageId,
    /// Start at this character of the body
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    #[serde(default)]
    from: i64,
    /// It was printed.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    printed: bool,
}

impl VerbArgs for Read {
    const PATH: &'static [&'static str] = &["read"];
    const ABOUT: &'static str = "Show a whole message";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let message = visible(cx, self.id, who.agent)?;
        if self.printed {
            // Only the owner of a copy marks it: a subagent that reads its agent's mail takes nothing from it.
            let mailbox = Mailbox { agent: who.agent, sub: &who.sub };
            mailbox::mark(cx.db, mailbox, message.id, Mark::Read("read"), cx.now)?;
            return Ok(Output::default());
        }
        let part = Part {
            text: ops::body(cx.db, message.id, self.from.max(0), READ_CHARS)?,
            from: self.from.max(0),
            n_chars: ops::body_len(cx.db, message.id)?,
        };
        let to = mailbox::deliveries(cx.db, message.id)?;
        let header = render::header(cx, &message, &to, caller.tz_offset_s)?;
        let mut json = render::message_json(cx, &message, &to)?;
        json["n_chars"] = json!(part.n_chars);
        json["from_char"] = json!(part.from);
        json["next_char"] = json!((part.end() < part.n_chars).then(|| part.end()));
        json["body"] = json!(part.text);
        let mut out = Output::new(format!("{header}\n{}", part.text(message.id)), json);
        out.after = Some(json!({"id": message.id, "printed": true}));
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Ack {
    /// The messages, e.g. `42 43`
    #[arg(required = true)]
    ids: Vec<MessageId>,
}

impl VerbArgs for Ack {
    const PATH: &'static [&'static str] = &["ack"];
    const ABOUT: &'static str = "Acknowledge a message to its sender";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        marked(cx, caller, &self.ids, Mark::Acked, "Acknowledged")
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Star {
    /// The message, e.g. `42`
    id: MessageId,
    /// Remove the star
    #[arg(long)]
    #[serde(default)]
    off: bool,
}

impl VerbArgs for Star {
    const PATH: &'static [&'static str] = &["star"];
    const ABOUT: &'static str = "Mark a message to find it again";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let done = if self.off { "No star any more:" } else { "Starred" };
        marked(cx, caller, &[self.id], Mark::Starred(!self.off), done)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Snooze {
    /// The message, e.g. `42`
    id: MessageId,
    /// For how long: `2h`, or until a time such as `2030-01-31T18:00:00Z`
    #[arg(long)]
    until: String,
}

impl VerbArgs for Snooze {
    const PATH: &'static [&'static str] = &["snooze"];
    const ABOUT: &'static str = "Hide a message until later";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let until = post::moment(&self.until, cx.now)?;
        let done = format!("Back at {}:", words::moment(until.0, caller.tz_offset_s));
        let mut out = marked(cx, caller, &[self.id], Mark::Snoozed(until), &done)?;
        out.json["until_ms"] = json!(until.0);
        // Waiters for this agent's mail must know when the next snooze ends.
        let agent = holder::caller(cx, caller)?.agent;
        cx.wake(agent);
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Archive {
    /// The messages, e.g. `42 43`
    #[arg(required = true)]
    ids: Vec<MessageId>,
}

impl VerbArgs for Archive {
    const PATH: &'static [&'static str] = &["archive"];
    const ABOUT: &'static str = "Move messages out of the inbox; they stay searchable";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        marked(cx, caller, &self.ids, Mark::Archived, "Archived")
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Trash {
    /// The messages, e.g. `42 43`
    #[arg(required = true)]
    ids: Vec<MessageId>,
}

impl VerbArgs for Trash {
    const PATH: &'static [&'static str] = &["trash"];
    const ABOUT: &'static str =
        "Move messages to the trash; `archive` brings them back within 30 days";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        marked(cx, caller, &self.ids, Mark::Trashed, "Thrown away")
    }
}

/// Marks all of them, or none.
fn marked(
    cx: &mut Cx<'_>,
    caller: &Caller,
    ids: &[MessageId],
    mark: Mark,
    done: &str,
) -> Result<Output, VerbError> {
    let who = holder::caller(cx, caller)?;
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let (now, mut said) = (cx.now, Vec::new());
    cx.db.savepoint(|db| {
        for id in ids {
            if !mailbox::mark(db, of, id.0, mark, now)? {
                return Err(not_there(*id));
            }
            said.push(id.to_string());
        }
        Ok(())
    })?;
    let numbers: Vec<i64> = ids.iter().map(|id| id.0).collect();
    Ok(Output::new(format!("{done} {}.\n", said.join(", ")), json!({"ok": true, "ids": numbers})))
}
