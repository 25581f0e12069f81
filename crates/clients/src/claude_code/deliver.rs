//! What the client honours, and where: one row per event.
//!
//! Invariant: a row claims only what was seen in a run of the real client, or (where it says so) read out of the
//! client's own schemas. `encode` speaks through the same rows, so what is claimed and what is said can't differ.

use substrate_core::{Delivery, EventKind, WishKind};

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};

pub(super) fn delivers(event: EventKind, wish: WishKind) -> Delivery {
    channels(event).delivers(wish)
}

const SILENT: Channels = Channels::SILENT;

/// Text for the model and for the person.
const TELLING: Channels = Channels { context: ContextBy::Json, notice: true, ..SILENT };

/// The row of an event.
///
/// On `notice`: the client shows `systemMessage` wherever it reads our JSON in the foreground of the main thread, and
/// only there do we use it. Left out is what is fire-and-forget, what runs in the background, what speaks by exit code
/// or bare text, and what happens inside a subagent, whose messages no one was seen to be shown.
pub(super) fn channels(event: EventKind) -> Channels {
    use EventKind as K;
    match event {
        // Plain stdout would arrive too; JSON leaves room for a notice. A block has no effect.
        K::SessionStart => Channels { exports: true, ..TELLING },
        // A block drops the prompt before any request to the model.
        K::UserPromptSubmit | K::UserPromptExpansion => {
            Channels { block: BlockBy::Json, ..TELLING }
        }
        // `decision: block` still works here, but only as the old way to say `deny`. A refusal must name its rule and
        // a next step, which a block does not have, so it has to be wished for as a denial.
        K::PreToolUse => Channels { permission: PermissionBy::ToolDecision, ..TELLING },
        // Exit code 2 and context have no effect; `decision.behavior` is honoured with and without a terminal.
        K::PermissionRequest => Channels {
            permission: PermissionBy::RequestDecision,
            notice: true,
            waits: true,
            ..SILENT
        },
        // A block undoes nothing, but its text reaches the model as something to react to.
        K::PostToolUse | K::PostToolUseFailure => Channels { block: BlockBy::Json, ..TELLING },
        // A block would end the whole loop, without an answer and without a Stop: the opposite of "go on".
        K::PostToolBatch => TELLING,
        // Context would make the actor go on, and count towards the cap, so it is no way to merely tell something.
        K::Stop => Channels { block: BlockBy::Json, notice: true, waits: true, ..SILENT },
        K::SubagentStop => Channels { block: BlockBy::Json, ..SILENT },
        // Context arrives inside the subagent.
        K::SubagentStart => Channels { context: ContextBy::Json, ..SILENT },
        // Bare text joins the summariser's instructions, so JSON has no place on stdout and a block goes by exit code.
        K::PreCompact => Channels { context: ContextBy::Stdout, block: BlockBy::Exit, ..SILENT },
        // Exit code 2 refuses the task or keeps it open, lets the teammate go on, keeps the model, keeps the settings.
        // For the settings only the exit code was tried; for the others the record of the runs does not tell the exit
        // code and `decision` apart. The exit code is sure for all of them.
        K::TaskCreated
        | K::TaskCompleted
        | K::TeammateIdle
        | K::PreModelSwitch
        | K::ConfigChange => Channels { block: BlockBy::Exit, ..SILENT },
        // Context comes with the next request.
        K::PostModelSwitch => TELLING,
        // From the client's schemas.
        K::DirectoryAdded => Channels { notice: true, ..SILENT },
        // Neither stdout nor context arrives, but the file for exports works.
        K::Setup => Channels { exports: true, ..SILENT },
        // They run in the background, so a command right afterwards may not see the exports yet.
        K::CwdChanged | K::FileChanged => Channels { exports: true, ..SILENT },
        // Whatever these print is ignored, or shown as something else than it is. WorktreeCreate and MessageDisplay
        // would even take it for a path and for the answer; Elicitation for what a person filled in.
        K::PermissionDenied
        | K::Notification
        | K::StopFailure
        | K::PostCompact
        | K::Elicitation
        | K::ElicitationResult
        | K::InstructionsLoaded
        | K::WorktreeCreate
        | K::WorktreeRemove
        | K::SessionEnd
        | K::MessageDisplay => SILENT,
        // In a terminal, exit code 2 starts a turn with the text; elsewhere nothing is wished for.
        K::Waiter => Channels { block: BlockBy::Exit, waits: true, ..SILENT },
        // The model never reads these: a file was loaded, or the client is about to end.
        K::Activity | K::ClientLeft => SILENT,
        K::Unknown | K::Malformed => SILENT,
    }
}
