//! What the client honours, and where: one row per event. Each claim was seen in the next request to the model.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;
const TELLING: Channels = Channels { context: ContextBy::Json, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        K::SessionStart => TELLING,
        // A block ends the run before any request to the model.
        K::UserPromptSubmit => Channels { block: BlockBy::Json, ..TELLING },
        // Context has no effect here: it goes out with the tool's result. Where no person can be asked, `ask` refuses.
        K::PreToolUse => Channels { permission: PermissionBy::ToolDecision, ..SILENT },
        // A block has no effect.
        K::PostToolUse => TELLING,
        K::Stop => Channels { block: BlockBy::Json, notice: true, waits: true, ..SILENT },
        K::SubagentStop => Channels { block: BlockBy::Json, ..SILENT },
        _ => SILENT,
    }
}
