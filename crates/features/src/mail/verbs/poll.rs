//! `substrate poll`, `substrate watch`: mail now, or when it arrives.
//!
//! A waiter may be gone when mail arrives. So what is shown is only claimed, and counts as seen once the caller
//! confirms that it was printed (`Output::after`).

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::parse_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, Timestamp, VerbError, WaitFor, Who};

use crate::identity::holder;
use crate::mail::introduce::{Bodies, lines};
use crate::mail::message::{MessageId, Priority};
use crate::mail::ops::Mailbox;
use crate::mail::ops::ledger;
use crate::mail::ops::mailbox::{self, Mark};
use crate::mail::words::MAX_LINES;
use crate::mail::{render, words};

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::mail) struct Poll {
    /// Wait this long for new mail, e.g. `30s`
    #[arg(long)]
    wait: Option<String>,
    /// Print nothing if there is no mail
    #[arg(long)]
    quiet: bool,
    /// Only look: nothing counts as seen
    #[arg(long)]
    peek: bool,
    /// When the waiting ends
    #[arg(long, hide = true)]
    until_ms: Option<i64>,
    /// What was printed.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    printed: Vec<MessageId>,
    /// Of these, what was printed with its whole body.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    whole: Vec<MessageId>,
}

impl VerbArgs for Poll {
    const PATH: &'static [&'static str] = &["poll"];
    const ABOUT: &'static str = "Show unread messages, and wait for new ones with `--wait`";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        if !self.printed.is_empty() {
            return printed(cx, &who, &self.printed, &self.whole, "poll");
        }
        let until = match (self.until_ms, &self.wait) {
            (Some(until), _) => Some(until),
            (None, Some(text)) => Some(cx.now.plus_ms(span(text)?).0),
            (None, None) => None,
        };
        let until = until.filter(|until| *until > cx.now.0);
        // A waiter already knows of the rest, and would never wait otherwise.
        let wanted = if until.is_some() { Wanted::New } else { Wanted::Unread };
        if let Some(out) = shown(cx, &who, wanted, self.peek)? {
            return Ok(out);
        }
        let mut out = nothing(if self.quiet { "" } else { "No new messages.\n" });
        if let Some(until) = until {
            let body = json!(Self { until_ms: Some(until), ..self });
            out.wait = Some(wait_for(cx, &who, until, body)?);
        }
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Watch {
    /// Give up after this long
    #[arg(long, default_value = "24h")]
    #[serde(default = "a_day")]
    timeout: String,
    /// When the waiting ends
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
    /// What was printed.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    printed: Vec<MessageId>,
    /// Of these, what was printed with its whole body.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    whole: Vec<MessageId>,
}

fn a_day() -> String {
    "24h".to_owned()
}

impl VerbArgs for Watch {
    const PATH: &'static [&'static str] = &["watch"];
    const ABOUT: &'static str =
        "Print unread messages and exit, or wait for one; for clients without hooks";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        if !self.printed.is_empty() {
            return printed(cx, &who, &self.printed, &self.whole, "watch");
        }
        if let Some(out) = shown(cx, &who, Wanted::Unread, false)? {
            return Ok(out);
        }
        let until = match self.until_ms {
            Some(until) => until,
            None => cx.now.plus_ms(span(&self.timeout)?).0,
        };
        let mut out = nothing("");
        if until > cx.now.0 {
            let body = json!(Self { until_ms: Some(until), ..self });
            out.wait = Some(wait_for(cx, &who, until, body)?);
        }
        Ok(out)
    }
}

/// What a caller ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Any message that was not read.
    Unread,
    /// One that was never shown.
    New,
}

/// What is unread, if it includes what is wanted.
fn shown(
    cx: &mut Cx<'_>,
    who: &Who,
    wanted: Wanted,
    peek: bool,
) -> Result<Option<Output>, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    ledger::end_snoozes(cx.db, who.agent, cx.now)?;
    let is_new = !mailbox::pending(cx.db, of, Priority::Low, cx.now, 1)?.is_empty();
    if wanted == Wanted::New && !is_new {
        return Ok(None);
    }
    let rows = mailbox::unread(cx.db, of, cx.now, MAX_LINES as i64)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let count = mailbox::n_unread(cx.db, of, cx.now)?;
    let lines = lines(cx, &rows, Bodies::OfAll)?;
    let (mut list, mut whole) = (Vec::new(), Vec::new());
    for (row, line) in rows.iter().zip(&lines) {
        if !peek {
            mailbox::mark(cx.db, of, row.id, Mark::Claimed, cx.now)?;
        }
        let mut json = render::open_json(row, &line.from);
        json["n_chars"] = json!(line.n_chars);
        json["body"] = json!(line.body);
        list.push(json);
        whole.extend(line.body.as_ref().map(|_| row.id));
    }
    let json = json!({"n_unread": count.0, "messages": list});
    let mut out = Output::new(format!("{}\n", words::open_mail(count, &lines).text), json);
    // A message blocks a stop until it is shown, not until it is read.
    let block = json!({"decision": "block", "reason": words::reason(count, &lines).text});
    out.hook = Some(if is_new { block } else { Value::Null });
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    out.after = (!peek).then(|| json!({ "printed": ids, "whole": whole }));
    Ok(Some(out))
}

/// The command's own output is the delivery. A message is read where its whole body was in it.
fn printed(
    cx: &mut Cx<'_>,
    who: &Who,
    ids: &[MessageId],
    whole: &[MessageId],
    how: &'static str,
) -> Result<Output, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    for id in ids {
        let mark = if whole.contains(id) { Mark::Read(how) } else { Mark::Seen(how) };
        mailbox::mark(cx.db, of, id.0, mark, cx.now)?;
    }
    Ok(nothing(""))
}

fn nothing(text: &str) -> Output {
    let mut out = Output::new(text.to_owned(), json!({"n_unread": 0, "messages": []}));
    out.hook = Some(Value::Null);
    out
}

/// Waits until mail arrives, a snooze ends, or the time is up.
fn wait_for(cx: &mut Cx<'_>, who: &Who, until: i64, body: Value) -> Result<WaitFor, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let next = crate::mail::face::next_due(cx.db, who.agent, cx.now)?.unwrap_or(Timestamp(until));
    // A message in an unprinted answer becomes free without a wake-up.
    let claims_end = ledger::next_free(cx.db, of)?.unwrap_or(Timestamp(until));
    let until_ms = until.min(next.0).min(claims_end.0.max(cx.now.0 + 1));
    Ok(WaitFor { key: who.wake_key(), by: String::new(), until_ms, body })
}

fn span(text: &str) -> Result<i64, VerbError> {
    parse_span(text).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is not a duration", words::name(text)),
            "write it like `30s`, `10m` or `1h`",
        )
    })
}
