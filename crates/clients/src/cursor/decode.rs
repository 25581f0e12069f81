//! What a hook process was given, as a canonical event.

use substrate_core::{Detail, Event, EventKind, SafeId};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, common, detail, named, payload};
use crate::wire::object;
use crate::{DecodeError, Input, encode};

const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/projects/" };

/// Fields that the documentation names and that we don't need, and those of [`Own`].
const UNREAD: &[&str] = &[
    "attachments",
    "composer_mode",
    "conversation_id",
    "cursor_version",
    "duration",
    "error_message",
    "failure_type",
    "generation_id",
    "is_background_agent",
    "loop_count",
    "status",
    "tool_output",
    "user_email",
    "workspace_roots",
];

object! {
    /// What it calls by names of its own.
    struct Own {
        conversation_id,
        generation_id,
        tool_output,
        error_message,
    }
}

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, UNREAD)?;
    let own = Own::read(std::str::from_utf8(input.stdin).unwrap_or_default(), &[]);
    let own = own.unwrap_or_default();
    let (mut kind, name) = named(&payload, input.event, kind_of);
    let is_ours = || payload.prompt.text().is_some_and(|prompt| encode::is_ours(&prompt));
    if kind == EventKind::UserPromptSubmit && is_ours() {
        kind = EventKind::Unknown;
    }
    let event = common(&SPEAKER, kind, &payload, input);
    let detail = match detail(kind, &payload, tools::call) {
        Detail::ToolAfter { call, duration_ms, .. } => {
            let response = own.tool_output.json().unwrap_or_default().to_owned();
            Detail::ToolAfter { call, response, duration_ms }
        }
        Detail::ToolFailed { call, interrupted, duration_ms, .. } => {
            let error = own.error_message.some_text().unwrap_or_default();
            Detail::ToolFailed { call, error, interrupted, duration_ms }
        }
        other => other,
    };
    let said = own.conversation_id.text().and_then(|id| SafeId::new(&id));
    let prompt_id = own.generation_id.some_text();
    Ok(Event { name, session: said.or(event.session), prompt_id, detail, ..event })
}

/// Our name of an event, whichever of both it is called by.
pub(super) fn ours(name: &'static str) -> &'static str {
    match kind_of(name) {
        EventKind::Unknown => name,
        kind => kind.name(),
    }
}

fn kind_of(name: &str) -> EventKind {
    use EventKind as K;
    match name {
        "sessionStart" => K::SessionStart,
        "sessionEnd" => K::SessionEnd,
        "beforeSubmitPrompt" => K::UserPromptSubmit,
        "preToolUse" => K::PreToolUse,
        "postToolUse" => K::PostToolUse,
        "postToolUseFailure" => K::PostToolUseFailure,
        "preCompact" => K::PreCompact,
        "stop" => K::Stop,
        _ => K::named(name),
    }
}
