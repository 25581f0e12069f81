//! What Acorn honours, and how it is told.

use serde_json::json;
use substrate_clients::Answer;
use substrate_core::verdict::Permission;
use substrate_core::{Delivery, Event, EventKind, Verdict, WishKind};

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
