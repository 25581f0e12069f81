//! What the client honours by its documentation, where, and in which words.

use serde_json::json;
use substrate_core::verdict::Permission;
use substrate_core::{Delivery, Event, EventKind, Verdict, WishKind};

use crate::Answer;
use crate::encode::MARK;

pub(super) fn delivers(event: EventKind, wish: WishKind) -> Delivery {
    use {EventKind as K, WishKind as W};
    match (event, wish) {
        (K::SessionStart | K::PostToolUse, W::Context)
        | (K::UserPromptSubmit | K::Stop, W::Block)
        | (K::PreToolUse, W::Deny | W::Ask)
        | (_, W::Receipt) => Delivery::Delivered,
        _ => Delivery::NotDeliverable,
    }
}

pub(super) fn encode(event: &Event, verdict: &Verdict) -> Answer {
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let said = match (event.kind, &verdict.permission) {
        (EventKind::SessionStart | EventKind::PostToolUse, _) => {
            filled(&verdict.context).map(|text| json!({"additional_context": text}))
        }
        (EventKind::UserPromptSubmit, _) => {
            filled(&verdict.block).map(|why| json!({"continue": false, "user_message": why}))
        }
        (EventKind::Stop, _) => filled(&verdict.block)
            .map(|why| json!({"followup_message": format!("{why}\n\n{MARK}")})),
        (EventKind::PreToolUse, Some(Permission::Deny { reason })) => {
            Some(json!({"permission": "deny", "user_message": reason, "agent_message": reason}))
        }
        (EventKind::PreToolUse, Some(Permission::Ask { reason })) => {
            Some(json!({"permission": "ask", "user_message": reason}))
        }
        _ => None,
    };
    let stdout = said.map(|said| said.to_string()).unwrap_or_default();
    Answer { stdout, ..Answer::default() }
}
