//! What the client honours by its documentation, and where: one row per event.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;
const TELLING: Channels = Channels { context: ContextBy::Json, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        K::SessionStart => TELLING,
        K::UserPromptSubmit | K::PostToolUse => Channels { block: BlockBy::Json, ..TELLING },
        K::PreToolUse => Channels { permission: PermissionBy::ToolDecision, ..SILENT },
        K::Stop | K::SubagentStop => Channels { block: BlockBy::Json, ..SILENT },
        _ => SILENT,
    }
}
