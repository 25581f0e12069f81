//! What the plugin can carry out, and where: one row per event. Each claim was seen in the next request to the model.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;
const TELLING: Channels = Channels { context: ContextBy::Json, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        // It goes out with the first prompt.
        K::SessionStart | K::SubagentStart => TELLING,
        K::UserPromptSubmit => Channels { block: BlockBy::Json, ..TELLING },
        // A call has no place for context.
        K::PreToolUse => Channels { permission: PermissionBy::ToolDenial, ..SILENT },
        // It is appended to the result. Nothing can be appended to a failure.
        K::PostToolUse => TELLING,
        // The plugin prompts the session. `opencode run` has ended by then; a terminal and `opencode serve` go on.
        K::Stop => Channels { block: BlockBy::MarkedJson, ..SILENT },
        _ => SILENT,
    }
}
