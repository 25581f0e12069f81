//! What the client honours, and where: one row per event. Each claim was seen in the next request to the model.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;
const TELLING: Channels = Channels { context: ContextBy::Json, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        K::SessionStart => TELLING,
        K::UserPromptSubmit => Channels { block: BlockBy::Json, ..TELLING },
        // `ask` makes the hook fail, and the call passes. Context becomes a message of the developer.
        K::PreToolUse => Channels { permission: PermissionBy::ToolDenial, ..TELLING },
        K::PermissionRequest => Channels { permission: PermissionBy::RequestDenial, ..SILENT },
        // The reason of a block takes the place of the tool's output.
        K::PostToolUse => Channels { block: BlockBy::Json, ..TELLING },
        // The reason comes back as a prompt, and the turn goes on.
        K::Stop => Channels { block: BlockBy::Json, waits: true, ..SILENT },
        K::SubagentStop => Channels { block: BlockBy::Json, ..SILENT },
        // Context arrives inside the subagent.
        K::SubagentStart => TELLING,
        // `continue: false` would end the whole turn, exit code 2 does nothing.
        K::PreCompact => SILENT,
        _ => SILENT,
    }
}
