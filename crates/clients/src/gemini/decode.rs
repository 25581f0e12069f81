//! What a hook process was given, as a canonical event.

use serde_json::Value;
use substrate_core::{Detail, Event, EventKind, SafeId};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, common, detail, named, payload};
use crate::wire::Payload;
use crate::{DecodeError, Input, encode};

const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/tmp/" };

/// Fields that the client is known to send and that we don't need.
const UNREAD: &[&str] = &["details", "llm_request", "llm_response", "mcp_context", "timestamp"];

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, UNREAD)?;
    let (mut kind, mut name) = named(&payload, input.event, kind_of);
    let error = error_of(&payload).filter(|_| kind == EventKind::PostToolUse);
    if error.is_some() {
        kind = EventKind::PostToolUseFailure;
        kind.name().clone_into(&mut name);
    }
    let is_ours = || payload.prompt.text().is_some_and(|prompt| encode::is_ours(&prompt));
    // A turn that a hook of ours makes go on is reported as a prompt. It begins no other turn.
    if kind == EventKind::UserPromptSubmit && is_ours() {
        kind = EventKind::Unknown;
    }
    let event = common(&SPEAKER, kind, &payload, input);
    Ok(Event {
        name,
        session: lasting(event.transcript.as_deref()).or(event.session),
        detail: said(&payload, error, detail(kind, &payload, tools::call)),
        ..event
    })
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
        "BeforeAgent" => K::UserPromptSubmit,
        "BeforeTool" => K::PreToolUse,
        "AfterTool" => K::PostToolUse,
        "AfterAgent" => K::Stop,
        // `PreCompress` comes before every request to the model, whether anything is compacted or not.
        _ => match K::named(name) {
            kind @ (K::SessionStart
            | K::SessionEnd
            | K::UserPromptSubmit
            | K::PreToolUse
            | K::PostToolUse
            | K::Stop
            | K::Notification) => kind,
            _ => K::Unknown,
        },
    }
}

/// The name of the transcript's file. `session_id` changes within a turn, and the transcript stays.
fn lasting(transcript: Option<&str>) -> Option<SafeId> {
    let file = transcript?.rsplit('/').next()?;
    SafeId::new(file.split_once('.').map_or(file, |(stem, _)| stem))
}

/// Why a call failed, if it did.
fn error_of(payload: &Payload<'_>) -> Option<String> {
    let response: Value = serde_json::from_str(payload.tool_response.object()?).ok()?;
    match response.get("error")? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        error => Some(error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned)),
    }
}

/// What the client calls by names of its own.
fn said(payload: &Payload<'_>, error: Option<String>, detail: Detail) -> Detail {
    match (detail, error) {
        (Detail::Stop { again, n_background_tasks, transcript, .. }, _) => {
            let last_message = payload.prompt_response.some_text();
            Detail::Stop { again, last_message, n_background_tasks, transcript }
        }
        (Detail::ToolFailed { call, interrupted, duration_ms, .. }, Some(error)) => {
            Detail::ToolFailed { call, error, interrupted, duration_ms }
        }
        (other, _) => other,
    }
}
