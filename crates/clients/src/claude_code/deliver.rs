//! What the client honours, and where: one row per event.
//!
//! Invariant: a row claims only what was seen in a run of the real client, or (where it says so) read out of the
//! client's own schemas. `encode` speaks through the same rows, so what is claimed and what is said can't differ.

use substrate_core::{Delivery, EventKind, WishKind};

/// The channels of one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    pub(super) context: ContextBy,
    pub(super) permission: PermissionBy,
    pub(super) block: BlockBy,
    /// `systemMessage` is shown to the person.
    pub(super) notice: bool,
    /// There is a file for exports.
    pub(super) exports: bool,
}

/// How text reaches the model without holding anything up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContextBy {
    Nothing,
    /// `hookSpecificOutput.additionalContext`.
    Json,
    /// Bare text, which here becomes instructions for the summariser.
    Stdout,
}

/// How a tool call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermissionBy {
    Nothing,
    /// `permissionDecision`: `deny` or `ask`.
    ToolDecision,
    /// `decision.behavior`: `deny`, or the user's own `allow`. There is nothing to ask for: a person is about to be asked
    /// anyway.
    RequestDecision,
}

/// How a thing is kept from happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockBy {
    Nothing,
    /// `{"decision":"block","reason":…}` with exit code 0.
    Json,
    /// Exit code 2 with the reason on stderr.
    Exit,
}

pub(super) fn delivers(event: EventKind, wish: WishKind) -> Delivery {
    let row = channels(event);
    let honoured = match wish {
        WishKind::Context => row.context != ContextBy::Nothing,
        WishKind::Deny => row.permission != PermissionBy::Nothing,
        WishKind::Ask => row.permission == PermissionBy::ToolDecision,
        WishKind::Block => row.block != BlockBy::Nothing,
        WishKind::Notice => row.notice,
        WishKind::Export => row.exports,
        // Beside the client's own dialog; the first answer counts.
        WishKind::Answer => row.permission == PermissionBy::RequestDecision,
        // Both are between us and our own process.
        WishKind::Wait => {
            matches!(event, EventKind::Stop | EventKind::Waiter | EventKind::PermissionRequest)
        }
        WishKind::Receipt => true,
    };
    if honoured { Delivery::Delivered } else { Delivery::NotDeliverable }
}

const SILENT: Channels = Channels {
    context: ContextBy::Nothing,
    permission: PermissionBy::Nothing,
    block: BlockBy::Nothing,
    notice: false,
    exports: false,
};

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
        K::PermissionRequest => {
            Channels { permission: PermissionBy::RequestDecision, notice: true, ..SILENT }
        }
        // A block undoes nothing, but its text reaches the model as something to react to.
        K::PostToolUse | K::PostToolUseFailure => Channels { block: BlockBy::Json, ..TELLING },
        // A block would end the whole loop, without an answer and without a Stop: the opposite of "go on".
        K::PostToolBatch => TELLING,
        // Context would make the actor go on, and count towards the cap, so it is no way to merely tell something.
        K::Stop => Channels { block: BlockBy::Json, notice: true, ..SILENT },
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
        K::Waiter => Channels { block: BlockBy::Exit, ..SILENT },
        // The model never reads these: a file was loaded, or the client is about to end.
        K::Activity | K::ClientLeft => SILENT,
        K::Unknown | K::Malformed => SILENT,
    }
}
