//! What the client honours, and where: one row per event. Each claim was seen in the next request to the model.

use substrate_core::EventKind;

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

const SILENT: Channels = Channels::SILENT;
const TELLING: Channels = Channels { context: ContextBy::Json, ..SILENT };

pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        K::SessionStart => TELLING,
        K::UserPromptSubmit => {
            Channels { name: Some("BeforeAgent"), block: BlockBy::Json, ..TELLING }
        }
        // Context has no effect here, and neither has the word by which other clients refuse a call.
        K::PreToolUse => {
            let permission = PermissionBy::TopDenial;
            Channels { name: Some("BeforeTool"), permission, ..SILENT }
        }
        // The reason of a block takes the place of the tool's output.
        K::PostToolUse | K::PostToolUseFailure => {
            Channels { name: Some("AfterTool"), block: BlockBy::Json, ..TELLING }
        }
        // The reason comes back as a prompt, and the turn goes on.
        K::Stop => {
            Channels { name: Some("AfterAgent"), block: BlockBy::MarkedJson, waits: true, ..SILENT }
        }
        _ => SILENT,
    }
}
