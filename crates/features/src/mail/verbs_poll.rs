//! `substrate poll`, `substrate watch`: mail for whoever asks, now or when it comes.
//!
//! Whoever waits may be gone when mail comes. So what is shown is only claimed, and counts as seen when the caller has
//! printed it and says so (`Output::after`).

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::parse_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, Timestamp, VerbError, WaitFor, Who};

use super::message::{MessageId, Priority};
use super::ops::Mailbox;
use super::ops_box::{self, Mark};
use super::policy::lines;
use super::words::MAX_LINES;
use super::{ops_ledger, post, render, words};

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Poll {
    /// Wait so long for mail, e.g. `30s`
    #[arg(long)]
    wait: Option<String>,
    /// Say nothing when there is none
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
}

impl VerbArgs for Poll {
    const PATH: &'static [&'static str] = &["poll"];
    const ABOUT: &'static str = "What is new in your mailbox";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let who = post::me(cx)?;
        if !self.printed.is_empty() {
            return printed(cx, &who, &self.printed, "poll");
        }
        if let Some(out) = shown(cx, &who, self.peek)? {
            return Ok(out);
        }
        let until = match (self.until_ms, &self.wait) {
            (Some(until), _) => Some(until),
            (None, Some(text)) => Some(cx.now.plus_ms(span(text)?).0),
            (None, None) => None,
        };
        let mut out = nothing(if self.quiet { "" } else { "No new messages.\n" });
        if let Some(until) = until.filter(|until| *until > cx.now.0) {
            let body = json!(Self { until_ms: Some(until), ..self });
            out.wait = Some(wait_for(cx, &who, until, body)?);
        }
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Watch {
    /// Give up after so long
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
}

fn a_day() -> String {
    "24h".to_owned()
}

impl VerbArgs for Watch {
    const PATH: &'static [&'static str] = &["watch"];
    const ABOUT: &'static str = "Wait for mail, print it and end: for clients without hooks";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let who = post::me(cx)?;
        if !self.printed.is_empty() {
            return printed(cx, &who, &self.printed, "watch");
        }
        if let Some(out) = shown(cx, &who, false)? {
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

/// What is new.
fn shown(cx: &mut Cx<'_>, who: &Who, peek: bool) -> Result<Option<Output>, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    ops_ledger::end_snoozes(cx.db, who.agent, cx.now)?;
    let rows = ops_box::pending(cx.db, of, Priority::Low, cx.now, MAX_LINES as i64)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let count = ops_box::n_pending(cx.db, of, Priority::Low, cx.now)?;
    let lines = lines(cx, &rows)?;
    let mut list = Vec::new();
    for (row, line) in rows.iter().zip(&lines) {
        if !peek {
            ops_box::mark(cx.db, of, row.id, Mark::Claimed, cx.now)?;
        }
        list.push(render::open_json(row, &line.from));
    }
    let reason = words::reason(count, &lines).text;
    let json = json!({"n_new": count.0, "messages": list});
    let mut out = Output::new(format!("{}\n", words::open_mail(count, &lines).text), json);
    out.hook = Some(json!({"decision": "block", "reason": reason}));
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    out.after = (!peek).then(|| json!({ "printed": ids }));
    Ok(Some(out))
}

/// The command's own output is the delivery.
fn printed(
    cx: &mut Cx<'_>,
    who: &Who,
    ids: &[MessageId],
    how: &'static str,
) -> Result<Output, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    for id in ids {
        ops_box::mark(cx.db, of, id.0, Mark::Seen(how), cx.now)?;
    }
    Ok(nothing(""))
}

fn nothing(text: &str) -> Output {
    let mut out = Output::new(text.to_owned(), json!({"n_new": 0, "messages": []}));
    out.hook = Some(Value::Null);
    out
}

/// Until mail comes, or comes back by itself, or the time is up.
fn wait_for(cx: &mut Cx<'_>, who: &Who, until: i64, body: Value) -> Result<WaitFor, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let next = super::face::next_due(cx.db, who.agent, cx.now)?.unwrap_or(Timestamp(until));
    // A message in somebody's unprinted answer becomes free without a wake.
    let claims_end = ops_ledger::next_free(cx.db, of)?.unwrap_or(Timestamp(until));
    let until_ms = until.min(next.0).min(claims_end.0.max(cx.now.0 + 1));
    Ok(WaitFor { key: who.wake_key(), by: String::new(), until_ms, body })
}

fn span(text: &str) -> Result<i64, VerbError> {
    parse_span(text).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is no duration", words::name(text)),
            "write it like `30s`, `10m` or `1h`",
        )
    })
}
