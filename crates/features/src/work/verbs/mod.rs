//! The commands of the queue, and how they show items to people and to programs. What others wrote is quoted.

pub(super) mod board;
pub(super) mod claim;
pub(super) mod queue;

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError, Timestamp, VerbError};

use super::items::{self, Item, ItemState};
use crate::identity::holder::{Liveness, Pulses};
use crate::listing::aligned;

/// An item as one line of text and as JSON.
struct ItemRow {
    line: String,
    json: Value,
}

fn shown(cx: &mut Cx<'_>, pulses: &mut Pulses, item: &Item) -> Result<ItemRow, DbError> {
    let (words, until) = status(cx, pulses, item)?;
    let line = format!("#{}\t{}\t{}\n", item.id, one_line(&item.title, 100), words);
    let claimant = match (&item.claim, item.state) {
        (Some(claim), ItemState::Claimed) => Some(claim.by.address(cx)?),
        _ => None,
    };
    let json = json!({
        "id": item.id,
        "title": item.title,
        "body": item.body,
        "state": item.state.name(),
        "project": item.project,
        "added_by": item.added_by,
        "added_ms": item.added.0,
        "claimant": claimant,
        "session": item.claim.as_ref().map(|claim| &claim.by.session),
        "actor": item.claim.as_ref().map(|claim| &claim.by.actor),
        "claimed_ms": item.claim.as_ref().map(|claim| claim.at.0),
        "until_ms": until,
        "n_claims": item.n_claims,
        "note": item.note,
        "done_by": item.done_by,
        "done_ms": item.done.map(|at| at.0),
        "result": item.result,
    });
    Ok(ItemRow { line, json })
}

/// Who has the item, in a few words, and when the claim on it ends.
fn status(
    cx: &mut Cx<'_>,
    pulses: &mut Pulses,
    item: &Item,
) -> Result<(String, Option<i64>), DbError> {
    let ago = |at: Option<Timestamp>| {
        at.map_or_else(|| "?".to_owned(), |at| Ago(cx.now.since(at)).to_string())
    };
    match (item.state, &item.claim) {
        (ItemState::Done, _) => {
            let by = item.done_by.as_deref().unwrap_or("an unknown agent");
            Ok((format!("done by {by} {} ago", ago(item.done)), None))
        }
        (ItemState::Claimed, Some(claim)) => {
            let since = ago(Some(claim.at));
            let by = claim.by.address(cx)?;
            Ok(match claim.liveness(cx, pulses)? {
                Liveness::Held { until } => (format!("claimed by {by} {since} ago"), Some(until.0)),
                Liveness::Lapsed => (format!("free again: {by} claimed it and is silent"), None),
                Liveness::Gone => (format!("free again: {by} claimed it and is gone"), None),
            })
        }
        (ItemState::Queued | ItemState::Claimed, _) => {
            let note =
                if item.note.is_empty() { String::new() } else { format!("; {}", item.note) };
            Ok((format!("queued {} ago{note}", ago(Some(item.added))), None))
        }
    }
}

/// Everything about an item.
fn whole(item: &Item, line: &str) -> String {
    let mut out = aligned(line);
    out.push_str(&quoted(&item.body));
    if let Some(result) = item.result.as_deref().filter(|result| !result.is_empty()) {
        let _infallible = write!(out, "Result:\n{}", quoted(result));
    }
    out
}

/// What its new claimant reads.
fn yours_text(item: &Item) -> String {
    let id = item.id;
    let mut out = format!("#{id} is yours: {}\n{}", one_line(&item.title, 200), quoted(&item.body));
    if !item.note.is_empty() {
        let _infallible =
            writeln!(out, "It {}. Look for unfinished work before you begin.", item.note);
    }
    let _infallible = writeln!(
        out,
        "When you are done, run `substrate work done {id} --result \"…\"`. To give it back, run `substrate work release {id}`."
    );
    out
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}\n", one_line(line, 2_000))).collect()
}

fn find(cx: &mut Cx<'_>, id: i64) -> Result<Item, VerbError> {
    items::one(cx.db, id)?.ok_or_else(|| no_such(id))
}

fn no_such(id: i64) -> VerbError {
    VerbError::user(
        format!("there is no work #{id}"),
        "`substrate work list --all` shows all items",
    )
}
