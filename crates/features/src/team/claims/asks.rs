//! Questions to the hub: written down, read by the link, and answered in a transaction of their own. The caller waits
//! meanwhile.

use serde_json::{Value, json};
use substrate_core::{Cx, DbError, Output, WaitFor};

use super::ops;
use crate::team::ops as team;

/// How long a command waits for the hub.
pub(super) const PATIENCE_MS: i64 = 5_000;

/// What is known about a question.
pub(super) enum Asked {
    /// The caller asks again with this.
    Wait(Box<Output>),
    Answer(Value),
    /// The hub is away, or did not answer in time.
    Away,
}

/// Asks the hub, or looks whether it has answered. `body` is what the caller asks again with; it gets the number.
pub(super) fn ask(
    cx: &mut Cx<'_>,
    number: Option<i64>,
    what: &Value,
    body: Value,
) -> Result<Asked, DbError> {
    let id = match number {
        None => {
            if team::link(cx.db)?.is_none_or(|link| !link.is_up) {
                return Ok(Asked::Away);
            }
            ops::ask(cx.db, &what.to_string(), cx.now.plus_ms(PATIENCE_MS), cx.now)?
        }
        Some(id) => match ops::answered(cx.db, id)? {
            None => return Ok(Asked::Away),
            Some(Some(answer)) => {
                let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
                return Ok(if answer.is_null() { Asked::Away } else { Asked::Answer(answer) });
            }
            Some(None) => {
                let is_open = ops::open(cx.db, cx.now)?.iter().any(|(open, ..)| *open == id);
                if !is_open {
                    return Ok(Asked::Away);
                }
                id
            }
        },
    };
    let mut body = body;
    body["ask"] = json!(id);
    let until_ms = cx.now.plus_ms(PATIENCE_MS).0;
    let wait = WaitFor { key: key(id), by: String::new(), until_ms, body };
    Ok(Asked::Wait(Box::new(Output { wait: Some(wait), ..Output::default() })))
}

/// What those wait for who asked.
pub(super) fn key(id: i64) -> String {
    format!("team ask {id}")
}

/// The questions that the link should ask.
pub(in crate::team) fn waiting(cx: &mut Cx<'_>) -> Result<Vec<Value>, DbError> {
    let mut out = Vec::new();
    for (id, what, until) in ops::open(cx.db, cx.now)? {
        let what: Value = serde_json::from_str(&what).unwrap_or_default();
        out.push(json!({"id": id, "what": what, "patience_ms": until.since(cx.now).max(0)}));
    }
    Ok(out)
}
