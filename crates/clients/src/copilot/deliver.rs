//! What the client honours, and where: one row per event. Each claim was seen in the next request to the model.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;

/// The common place for context is honoured before a tool alone.
const TELLING: Channels = Channels { context: ContextBy::Top, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        K::SessionStart | K::PostToolUse | K::SubagentStart => TELLING,
        K::UserPromptSubmit => Channels { block: BlockBy::Json, ..TELLING },
        // That `ask` asks was not tried.
        K::PreToolUse => {
            Channels { context: ContextBy::Json, permission: PermissionBy::ToolDenial, ..SILENT }
        }
        // The reason comes back as a prompt, and the turn goes on. An exit code would not do it.
        K::Stop => Channels { block: BlockBy::MarkedJson, waits: true, ..SILENT },
        K::SubagentStop => Channels { block: BlockBy::MarkedJson, ..SILENT },
        // We don't register the request for a permission: it comes even where every tool is allowed.
        _ => SILENT,
    }
}
