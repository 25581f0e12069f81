//! Leases as commands show them.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError, Timestamp};

use super::life::{Claim, Lives};
use super::ops::Lease;
use super::ops_globs::Reserved;
use super::ops_history::Entry;
use super::words;

/// One line of a list.
pub(super) struct Shown {
    pub(super) line: String,
    pub(super) json: Value,
}

/// A lease; `None` when it has ended.
pub(super) fn lease(
    cx: &mut Cx<'_>,
    lives: &mut Lives,
    lease: &Lease,
) -> Result<Option<Shown>, DbError> {
    let state = if lease.claim.is_provisional { "editing" } else { "held" };
    shown(cx, lives, &lease.claim, &lease.relative, &lease.root, state).map(|shown| {
        shown.map(|mut shown| {
            shown.json["path"] = json!(lease.path);
            shown.json["modified_ms"] = json!(lease.modified.0);
            shown
        })
    })
}

/// A reserved glob; `None` when it has ended.
pub(super) fn reserved(
    cx: &mut Cx<'_>,
    lives: &mut Lives,
    one: &Reserved,
) -> Result<Option<Shown>, DbError> {
    let state = if one.is_shared { "shared" } else { "reserved" };
    shown(cx, lives, &one.claim, &one.glob, &one.root, state)
}

fn shown(
    cx: &mut Cx<'_>,
    lives: &mut Lives,
    claim: &Claim,
    relative: &str,
    root: &str,
    state: &str,
) -> Result<Option<Shown>, DbError> {
    let Some(until) = lives.until(cx, claim)? else { return Ok(None) };
    let who = claim.owner.address(cx)?;
    let (taken, left) = (Ago(cx.now.since(claim.acquired)), Ago(until.since(cx.now)));
    let reason = words::reason(&claim.reason);
    let tail = if reason.is_empty() { String::new() } else { format!("  {reason}") };
    Ok(Some(Shown {
        line: format!(
            "{}  {who}  {state}, taken {taken} ago, ends in {left} without a sign{tail}\n",
            words::path(relative)
        ),
        json: json!({
            "file": relative, "root": root, "holder": who, "state": state, "reason": claim.reason,
            "acquired_ms": claim.acquired.0, "until_ms": until.0,
        }),
    }))
}

/// The history of a file, newest first.
pub(super) fn history(entries: &[Entry], now: Timestamp) -> (String, Value) {
    let (mut text, mut list) = (String::new(), Vec::new());
    for entry in entries {
        let Entry { at, who, what, detail } = entry;
        let tail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let _infallible =
            writeln!(text, "{:>5} ago  {who}  {what}{tail}", Ago(now.since(*at)).to_string());
        list.push(json!({"at_ms": at.0, "who": who, "what": what, "detail": detail}));
    }
    if entries.is_empty() {
        "Nobody has held it in the last 30 days.\n".clone_into(&mut text);
    }
    (text, Value::Array(list))
}
