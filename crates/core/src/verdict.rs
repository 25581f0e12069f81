//! The merged answer to the client.

use crate::event::EventKind;
use crate::time::Timestamp;
use crate::wish::WishKind;

/// The answer. Empty means: go on, and say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub permission: Option<Permission>,
    /// The joined reasons why the actor may not stop, or the thing may not happen.
    pub block: Option<String>,
    pub context: Option<String>,
    pub notice: Option<String>,
    pub exports: Vec<(String, String)>,
    /// Nothing to say yet: park the caller.
    pub wait: Option<Wait>,
    /// A feature wants to know whether this reached the client.
    pub receipt: bool,
}

/// What is waited for, and until when at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub key: String,
    pub until: Timestamp,
}

/// What the client is told about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Deny {
        reason: String,
    },
    Ask {
        reason: String,
    },
    /// Only the user's own answer allows (`Wish::Answer`). No feature does.
    Allow {
        /// The answers to questions: the text of each question, and what the user chose.
        choices: Vec<(String, String)>,
    },
}

impl Verdict {
    /// Nothing to tell the client.
    pub fn is_silent(&self) -> bool {
        self.permission.is_none()
            && self.block.is_none()
            && self.context.is_none()
            && self.notice.is_none()
            && self.exports.is_empty()
    }

    /// Every word that `word` says, the strongest first.
    pub const WORDS: [&'static str; 9] =
        ["deny", "ask", "answer", "block", "context", "notice", "export", "wait", "allow"];

    /// One word for lists: the strongest thing that it says.
    pub fn word(&self) -> &'static str {
        match (&self.permission, &self.block) {
            (Some(Permission::Deny { .. }), _) => "deny",
            (Some(Permission::Ask { .. }), _) => "ask",
            (Some(Permission::Allow { .. }), _) => "answer",
            (None, Some(_)) => "block",
            (None, None) if self.context.is_some() => "context",
            (None, None) if self.notice.is_some() => "notice",
            (None, None) if !self.exports.is_empty() => "export",
            (None, None) if self.wait.is_some() => "wait",
            (None, None) => "allow",
        }
    }
}

/// Whether a client honours a kind of wish at a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// The client does what the wish says.
    Delivered,
    /// The client would ignore it: saying it would be a lie.
    NotDeliverable,
}

/// A client's table of what it delivers.
pub type DeliveryTable = fn(EventKind, WishKind) -> Delivery;
