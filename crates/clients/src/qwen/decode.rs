//! What a hook process was given, as a canonical event.

use serde_json::Value;
use substrate_core::{Actor, Detail, Event, EventKind};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, common, detail, named, payload};
use crate::wire::Payload;
use crate::{DecodeError, Input};

const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/projects/" };

/// Fields that the client is known to send and that we don't need.
const UNREAD: &[&str] = &[
    "context_limit",
    "context_usage",
    "crons",
    "input_tokens",
    "is_interrupt",
    "timestamp",
    "tool_call_id",
];

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, UNREAD)?;
    let (kind, name) = named(&payload, input.event, EventKind::named);
    // It says so of every continuation of a turn. Only what a person has submitted begins one.
    let is_continued =
        kind == EventKind::UserPromptSubmit && payload.submitted_prompt.some_text().is_none();
    let kind = if is_continued { EventKind::Unknown } else { kind };
    let event = common(&SPEAKER, kind, &payload, input);
    Ok(Event {
        name,
        actor: typed(event.actor),
        detail: running(&payload, detail(kind, &payload, tools::call)),
        ..event
    })
}

/// A tool call of a subagent names only its id, which begins with its type.
fn typed(actor: Actor) -> Actor {
    match actor {
        Actor::Subagent { id, kind } if kind == "unknown" => {
            let kind = id.as_str().rsplit_once("-call_").map_or(kind, |(kind, _)| kind.to_owned());
            Actor::Subagent { id, kind }
        }
        other => other,
    }
}

/// Tasks that are over stay in the list.
fn running(payload: &Payload<'_>, detail: Detail) -> Detail {
    let Detail::Stop { again, last_message, transcript, .. } = detail else { return detail };
    let tasks: Vec<Value> = payload
        .background_tasks
        .json()
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    let n_background_tasks = tasks.iter().filter(|task| task["status"] == "running").count();
    Detail::Stop { again, last_message, n_background_tasks, transcript }
}
