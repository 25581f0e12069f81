//! Acorn's payloads as events, what it honours, and how it is told.

use serde_json::{Value, json};
use substrate_clients::{Answer, DecodeError, Input};
use substrate_core::verdict::Permission;
use substrate_core::{
    Delivery, Detail, Event, EventKind, SafeId, StartSource, ToolCall, ToolClass, Verdict, WishKind,
};

use super::{DIALECT, NAME};

/// Its names for events, and ours.
pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("session.begin", EventKind::SessionStart),
    ("prompt", EventKind::UserPromptSubmit),
    ("tool.before", EventKind::PreToolUse),
    ("tool.after", EventKind::PostToolUse),
    ("turn.end", EventKind::Stop),
];

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let text = std::str::from_utf8(input.stdin).map_err(|_| DecodeError::NotText)?;
    let payload: serde_json::Map<String, Value> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => DecodeError::NotAnEvent(error),
            _ => DecodeError::NotJson(error),
        })?;
    let word = |name: &str| payload.get(name).and_then(Value::as_str);
    let name = word("type").unwrap_or(input.event);
    let found = EVENTS.iter().find(|(own, _)| *own == name);
    let kind = found.map_or(EventKind::Unknown, |(_, kind)| *kind);
    Ok(Event {
        dialect: &DIALECT,
        name: name.to_owned(),
        session: word("thread").and_then(SafeId::new),
        cwd: word("dir").unwrap_or(input.cwd).to_owned(),
        detail: detail(kind, &payload),
        n_bytes: input.stdin.len(),
        ..Event::bare(NAME, kind, input.at)
    })
}

fn detail(kind: EventKind, payload: &serde_json::Map<String, Value>) -> Detail {
    let call = || call(payload);
    match kind {
        EventKind::SessionStart => {
            Detail::SessionStart { source: StartSource::Startup, model: None }
        }
        EventKind::UserPromptSubmit => {
            let text = payload.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
            Detail::Prompt { text, from_person: true }
        }
        EventKind::PreToolUse => Detail::ToolBefore { call: call() },
        EventKind::PostToolUse => {
            Detail::ToolAfter { call: call(), response: String::new(), duration_ms: None }
        }
        EventKind::Stop => Detail::Stop {
            again: false,
            last_message: None,
            n_background_tasks: 0,
            transcript: None,
        },
        _ => Detail::Plain,
    }
}

fn call(payload: &serde_json::Map<String, Value>) -> ToolCall {
    let name = payload.get("tool").and_then(Value::as_str).unwrap_or_default();
    let args = payload.get("args").cloned().unwrap_or_default();
    let class = DIALECT.class_of(name);
    let paths = args["paths"].as_array().into_iter().flatten();
    ToolCall {
        name: name.to_owned(),
        class,
        files: paths.filter_map(|path| Some(path.as_str()?.to_owned())).collect(),
        command: args["line"].as_str().filter(|_| class == ToolClass::Shell).map(str::to_owned),
        input: args.to_string(),
        ..ToolCall::default()
    }
}

pub(super) fn delivers(event: EventKind, wish: WishKind) -> Delivery {
    let is_delivered = match wish {
        WishKind::Context => {
            matches!(event, EventKind::UserPromptSubmit | EventKind::PostToolUse)
        }
        WishKind::Deny => event == EventKind::PreToolUse,
        WishKind::Block => event == EventKind::Stop,
        WishKind::Receipt => true,
        WishKind::Ask | WishKind::Notice | WishKind::Export | WishKind::Answer | WishKind::Wait => {
            false
        }
    };
    if is_delivered { Delivery::Delivered } else { Delivery::NotDeliverable }
}

pub(super) fn encode(event: &Event, verdict: &Verdict) -> Answer {
    let delivers = |wish| delivers(event.kind, wish) == Delivery::Delivered;
    let said = match (&verdict.permission, &verdict.block, &verdict.context) {
        (Some(Permission::Deny { reason }), ..) if delivers(WishKind::Deny) => {
            json!({"verdict": "deny", "why": reason})
        }
        (_, Some(reason), _) if delivers(WishKind::Block) => {
            json!({"verdict": "go on", "why": reason})
        }
        (.., Some(text)) if delivers(WishKind::Context) => json!({ "tell": text }),
        _ => return Answer::default(),
    };
    Answer { stdout: said.to_string(), ..Answer::default() }
}
