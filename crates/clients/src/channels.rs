//! The channels on which clients of the common form are answered. Each client has a row of channels per event.
//!
//! Invariant: what a client delivers is read off the same rows that `encode` speaks through, so what is claimed and what
//! is said can't differ.

use substrate_core::{Delivery, WishKind};

/// The channels of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    /// The client's own name of the event, where it is not ours.
    pub(crate) name: Option<&'static str>,
    pub(crate) context: ContextBy,
    pub(crate) permission: PermissionBy,
    pub(crate) block: BlockBy,
    /// `systemMessage` is shown to the person.
    pub(crate) notice: bool,
    /// There is a file for exports.
    pub(crate) exports: bool,
    /// Our process may stay for as long as it likes, and nothing waits for it that should not.
    pub(crate) waits: bool,
}

/// How text reaches the model without holding anything up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextBy {
    Nothing,
    /// `hookSpecificOutput.additionalContext`.
    Json,
    /// `additionalContext`, at the top.
    Top,
    /// Bare text, which here becomes instructions for the summariser.
    Stdout,
}

/// How a tool call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermissionBy {
    Nothing,
    /// `permissionDecision`: `deny` or `ask`.
    ToolDecision,
    /// `permissionDecision`: `deny` and nothing else. The client would let a call pass over any other word.
    ToolDenial,
    /// `decision`: `deny`, at the top.
    TopDenial,
    /// `decision.behavior`: `deny`, or the user's own `allow`. There is nothing to ask for: a person is about to be asked
    /// anyway.
    RequestDecision,
    /// `decision.behavior`: `deny`. The client shows its own dialog only after our process has ended, so an answer from
    /// elsewhere can't be waited for.
    RequestDenial,
}

/// How a thing is kept from happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockBy {
    Nothing,
    /// `{"decision":"block","reason":…}` with exit code 0.
    Json,
    /// The same, and the client takes the reason for a prompt: it ends with [`MARK`](crate::encode::MARK), by which
    /// `decode` knows it again.
    MarkedJson,
    /// Exit code 2 with the reason on stderr.
    Exit,
}

impl Channels {
    pub(crate) const SILENT: Self = Self {
        name: None,
        context: ContextBy::Nothing,
        permission: PermissionBy::Nothing,
        block: BlockBy::Nothing,
        notice: false,
        exports: false,
        waits: false,
    };

    pub(crate) fn delivers(self, wish: WishKind) -> Delivery {
        use PermissionBy as P;
        let honoured = match wish {
            WishKind::Context => self.context != ContextBy::Nothing,
            WishKind::Deny => self.permission != P::Nothing,
            WishKind::Ask => self.permission == P::ToolDecision,
            WishKind::Block => self.block != BlockBy::Nothing,
            WishKind::Notice => self.notice,
            WishKind::Export => self.exports,
            // Beside the client's own dialog; the first answer counts.
            WishKind::Answer => self.permission == P::RequestDecision,
            WishKind::Wait => self.waits,
            // Between us and our own process.
            WishKind::Receipt => true,
        };
        if honoured { Delivery::Delivered } else { Delivery::NotDeliverable }
    }
}
