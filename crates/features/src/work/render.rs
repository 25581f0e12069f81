//! Work for people and for programs. What others wrote is quoted: it is data.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError};

use super::claim::{Lives, Standing};
use super::ops::{Item, State};

/// An item as it is now.
pub(super) struct Shown {
    pub(super) line: String,
    pub(super) json: Value,
}

pub(super) fn shown(cx: &mut Cx<'_>, lives: &mut Lives, item: &Item) -> Result<Shown, DbError> {
    let (words, until) = standing(cx, lives, item)?;
    let line = format!("#{:<5} {}  {}\n", item.id, one_line(&item.title, 100), words);
    let claimant = match (&item.claim, item.state) {
        (Some(claim), State::Claimed) => Some(claim.by.address(cx)?),
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
    Ok(Shown { line, json })
}

/// In a few words whose it is, and when a claim on it ends.
fn standing(
    cx: &mut Cx<'_>,
    lives: &mut Lives,
    item: &Item,
) -> Result<(String, Option<i64>), DbError> {
    let ago = |at: Option<substrate_core::Timestamp>| {
        at.map_or_else(|| "?".to_owned(), |at| Ago(cx.now.since(at)).to_string())
    };
    match (item.state, &item.claim) {
        (State::Done, _) => {
            let by = item.done_by.as_deref().unwrap_or("somebody");
            Ok((format!("done by {by} {} ago", ago(item.done)), None))
        }
        (State::Claimed, Some(claim)) => {
            let since = ago(Some(claim.at));
            let by = claim.by.address(cx)?;
            Ok(match lives.standing(cx, claim)? {
                Standing::Holds { until } => (format!("{by} has it since {since}"), Some(until.0)),
                Standing::Lapsed => (format!("{by} had it and is silent: it can be claimed"), None),
                Standing::Gone => (format!("{by} had it and is gone: it can be claimed"), None),
            })
        }
        (State::Queued | State::Claimed, _) => {
            let note =
                if item.note.is_empty() { String::new() } else { format!("; {}", item.note) };
            Ok((format!("queued {} ago{note}", ago(Some(item.added))), None))
        }
    }
}

/// Everything about an item, and what to do with it.
pub(super) fn whole(item: &Item, line: &str) -> String {
    let mut out = line.to_owned();
    out.push_str(&quoted(&item.body));
    if let Some(result) = item.result.as_deref().filter(|result| !result.is_empty()) {
        let _infallible = write!(out, "Result:\n{}", quoted(result));
    }
    out
}

/// For the one who has it now.
pub(super) fn yours(item: &Item) -> String {
    let id = item.id;
    let mut out = format!("#{id} is yours: {}\n{}", one_line(&item.title, 200), quoted(&item.body));
    if !item.note.is_empty() {
        let _infallible =
            writeln!(out, "It {}: look at what may be left of that before you begin.", item.note);
    }
    let _infallible = writeln!(
        out,
        "When it is done: `substrate work done {id} --result \"…\"`. To give it back: `substrate work release {id}`."
    );
    out
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}\n", one_line(line, 2_000))).collect()
}
