//! What a hook process was given, as a canonical event.

use substrate_core::{Detail, Event, EventKind, SafeId};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, by_actor, common, detail, named, payload};
use crate::wire::{Payload, object};
use crate::{DecodeError, Input, encode};

const SPEAKER: Speaker =
    Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/session-state/" };

/// Fields that the client is known to send and that we don't need, and those of [`Own`].
const UNREAD: &[&str] = &[
    "agentName",
    "agent_name",
    "hookName",
    "initial_prompt",
    "permissionSuggestions",
    "sessionId",
    "stop_reason",
    "timestamp",
    "toolInput",
    "toolName",
    "transcriptPath",
];

object! {
    /// Some events come in the client's own form, whatever they were registered by.
    struct Own {
        session_id = "sessionId",
        transcript_path = "transcriptPath",
        tool_name = "toolName",
        tool_input = "toolInput",
    }
}

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = in_common_form(payload(input.stdin, UNREAD)?, input);
    let (mut kind, name) = named(&payload, input.event, EventKind::named);
    let is_subagent = payload.agent_id.some_text().is_some();
    let is_ours = || payload.prompt.text().is_some_and(|prompt| encode::is_ours(&prompt));
    match kind {
        // It knows no waiters, and would wait for one that was registered with another client.
        _ if input.waits => kind = EventKind::Unknown,
        // A turn that a hook of ours makes go on is reported as a prompt. It begins no other turn.
        EventKind::UserPromptSubmit if is_ours() => kind = EventKind::Unknown,
        // A subagent stops twice, and the other event says so.
        EventKind::Stop if is_subagent => kind = EventKind::Unknown,
        _ => {}
    }
    let event = common(&SPEAKER, kind, &payload, input);
    let detail = by_actor(&event.actor, detail(kind, &payload, tools::call));
    // In most events of a subagent `session_id` is the subagent's own.
    let session = payload.parent_agent_id.text().and_then(|id| SafeId::new(&id)).or(event.session);
    Ok(Event { name, session, detail: with_result(&payload, detail), ..event })
}

fn in_common_form<'a>(payload: Payload<'a>, input: &Input<'a>) -> Payload<'a> {
    let text = std::str::from_utf8(input.stdin).unwrap_or_default();
    match Own::read(text, &[]) {
        Some(own) if own.session_id.json().is_some() => Payload {
            session_id: own.session_id,
            transcript_path: own.transcript_path,
            tool_name: own.tool_name,
            tool_input: own.tool_input,
            ..payload
        },
        _ => payload,
    }
}

/// What a tool returned, which the client calls by a name of its own.
fn with_result(payload: &Payload<'_>, detail: Detail) -> Detail {
    match detail {
        Detail::ToolAfter { call, duration_ms, .. } => {
            let response = payload.tool_result.json().unwrap_or_default().to_owned();
            Detail::ToolAfter { call, response, duration_ms }
        }
        other => other,
    }
}
