//! What one feature wants done about an event, and what became of it: pure data.

use std::borrow::Cow;

use crate::ids::RequestId;
use crate::text;
use crate::time::Timestamp;

/// A wish. Features return wishes; only the merge turns them into an answer.
///
/// ```
/// use substrate_core::Wish;
///
/// let wish = Wish::context("2 files changed".to_owned(), Some("git status".to_owned()));
/// assert_eq!(wish.words(), "2 files changed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Text for the model, on a channel that the client delivers.
    /// `more` is the command that shows the whole of it, should it be cut.
    Context { text: String, more: Option<String>, parts: Vec<Part> },
    /// Refuse the tool call. A refusal names its rule, its reason and a next step that itself passes.
    Deny { rule: String, reason: String, next: String },
    /// Let a person decide about the tool call.
    Ask { rule: String, reason: String },
    /// Don't let the actor stop (or the thing happen) yet.
    Block(Block),
    /// A line for the person at the terminal; the model never sees it.
    Notice { text: String },
    /// An export for the session's later shell commands.
    Export { name: String, value: String },
    /// What the user decided about a request for permission, outside the client. Features pass it on and never decide
    /// it themselves. `by` says who decided, and from where.
    Answer { answer: Answer, by: String },
    /// Don't answer yet. Consider the event again when the key is woken, or at that time. Blocks come first.
    Wait { key: String, until: Timestamp },
    /// Tell the feature whether the answer reached the client (`Feature::printed`).
    Receipt,
}

/// The user's own decision about a request for permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow,
    /// The model is told this.
    Deny {
        message: String,
    },
    /// The answers to questions: the text of each question, and what the user chose or wrote.
    Choose {
        choices: Vec<(String, String)>,
    },
}

/// What became of an answer that a `Wish::Receipt` went with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub request: RequestId,
    /// The answer was written to the client's pipe.
    pub reached: bool,
}

/// How long an answer without a receipt keeps its parts to itself. After that they may be told again.
pub const CLAIM_MS: i64 = 10_000;

/// Whether an answer that claimed a part then still keeps it to itself.
///
/// ```
/// use substrate_core::Timestamp;
/// use substrate_core::wish::is_claimed;
///
/// assert!(is_claimed(Some(Timestamp(0)), Timestamp(9_999)));
/// assert!(!is_claimed(Some(Timestamp(0)), Timestamp(10_000)));
/// assert!(!is_claimed(None, Timestamp(0)));
/// ```
pub fn is_claimed(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.since(at) < CLAIM_MS)
}

/// Why an actor may not stop yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub cause: Cause,
    pub reason: String,
    pub insists: Insists,
    pub parts: Vec<Part>,
}

/// A piece of a wish's text that its feature tracks: a message, a file, a reminder. `Outcome::told` returns those that
/// are in the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is, in the feature's own words and numbers.
    pub what: Cow<'static, str>,
    pub id: i64,
    /// Where it ends in the text, in bytes.
    pub end: usize,
}

/// A wish, who had it, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wished {
    pub feature: &'static str,
    pub wish: Wish,
    pub fate: Fate,
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// All of it is in the answer. Text that several wishes share is said once and counts for each.
    Whole,
    /// Only its first bytes are: this many.
    Cut { kept: usize },
    /// None of it is. Another wish, the budget or the client's cap left no room, or it has no words.
    Dropped,
    /// The client would have ignored it.
    NotDeliverable,
    /// It was in the answer until a later step failed.
    Withdrawn,
}

/// The causes of a block, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    Mail,
    Scratchpad,
    Tasks,
    Efforts,
    Reminders,
    Heartbeat,
    /// A rule of the settings that is not one of the above.
    Rule,
}

/// How long a cause may block an actor that tries to stop again in the same turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insists {
    /// Only at the first try of a turn.
    Once,
    /// At the first try that has such a cause, and not again in that turn.
    OncePerTurn,
    /// Only if the same words have not blocked it in this turn.
    WhenNew,
    /// At every try up to one short of the client's cap, so that the turn ends cleanly, and at most `MAX_HELD` times
    /// per turn.
    WhileItLasts,
    /// At every try, even into the cap. The feature takes care of the cap itself.
    Always,
}

/// The kinds of wishes, for the tables that say what a client delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WishKind {
    Context,
    Deny,
    Ask,
    Block,
    Notice,
    Export,
    Answer,
    Wait,
    Receipt,
}

impl Wish {
    /// The same without text that could close the client's own wrappers, hide, or reorder.
    #[must_use]
    pub fn defused(mut self) -> Self {
        let clean = |text: &mut String| {
            if let Some(clean) = text::defused(text) {
                *text = clean;
            }
        };
        match &mut self {
            Self::Context { text, parts, .. } | Self::Block(Block { reason: text, parts, .. }) => {
                let Some(clean) = text::defused(text) else { return self };
                for part in parts {
                    let before = text.get(..part.end).unwrap_or(text);
                    part.end = text::defused(before).map_or(before.len(), |before| before.len());
                }
                *text = clean;
            }
            Self::Deny { reason, next, .. } => {
                clean(reason);
                clean(next);
            }
            Self::Ask { reason, .. } => clean(reason),
            Self::Notice { text } => clean(text),
            Self::Answer { answer: Answer::Deny { message }, .. } => clean(message),
            // The questions are the client's own words, by which it finds the answers.
            Self::Answer { answer: Answer::Choose { choices }, .. } => {
                choices.iter_mut().for_each(|(_, chosen)| clean(chosen));
            }
            Self::Answer { answer: Answer::Allow, .. } => {}
            Self::Export { .. } | Self::Wait { .. } | Self::Receipt => {}
        }
        self
    }
}

impl Cause {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Scratchpad => "scratchpad",
            Self::Tasks => "tasks",
            Self::Efforts => "efforts",
            Self::Reminders => "reminders",
            Self::Heartbeat => "heartbeat",
            Self::Rule => "rule",
        }
    }
}

impl WishKind {
    pub const ALL: &[Self] = &[
        Self::Context,
        Self::Deny,
        Self::Ask,
        Self::Block,
        Self::Notice,
        Self::Export,
        Self::Answer,
        Self::Wait,
        Self::Receipt,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Block => "block",
            Self::Notice => "notice",
            Self::Export => "export",
            Self::Answer => "answer",
            Self::Wait => "wait",
            Self::Receipt => "receipt",
        }
    }
}

impl Fate {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Cut { .. } => "cut",
            Self::Dropped => "dropped",
            Self::NotDeliverable => "not deliverable",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Whether the answer has at least a part of it.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::Whole | Self::Cut { .. })
    }

    /// Whether the answer has the text up to there.
    const fn reaches(self, end: usize) -> bool {
        match self {
            Self::Whole => true,
            Self::Cut { kept } => end <= kept,
            Self::Dropped | Self::NotDeliverable | Self::Withdrawn => false,
        }
    }
}

impl Wished {
    /// Nothing has become of it yet.
    pub const fn new(feature: &'static str, wish: Wish) -> Self {
        Self { feature, wish, fate: Fate::Dropped }
    }

    /// The parts of it that are in the answer.
    pub fn told(&self) -> impl Iterator<Item = &Part> {
        self.wish.parts().iter().filter(|part| self.fate.reaches(part.end))
    }
}

impl Wish {
    /// Text for the model that is not tracked.
    pub const fn context(text: String, more: Option<String>) -> Self {
        Self::Context { text, more, parts: Vec::new() }
    }

    /// A reason to go on that is not tracked.
    pub const fn block(cause: Cause, reason: String, insists: Insists) -> Self {
        Self::Block(Block { cause, reason, insists, parts: Vec::new() })
    }

    pub fn parts(&self) -> &[Part] {
        match self {
            Self::Context { parts, .. } | Self::Block(Block { parts, .. }) => parts,
            Self::Deny { .. }
            | Self::Ask { .. }
            | Self::Notice { .. }
            | Self::Export { .. }
            | Self::Answer { .. }
            | Self::Wait { .. }
            | Self::Receipt => &[],
        }
    }

    pub const fn kind(&self) -> WishKind {
        match self {
            Self::Context { .. } => WishKind::Context,
            Self::Deny { .. } => WishKind::Deny,
            Self::Ask { .. } => WishKind::Ask,
            Self::Block(_) => WishKind::Block,
            Self::Notice { .. } => WishKind::Notice,
            Self::Export { .. } => WishKind::Export,
            Self::Answer { .. } => WishKind::Answer,
            Self::Wait { .. } => WishKind::Wait,
            Self::Receipt => WishKind::Receipt,
        }
    }

    /// The words of the wish, as the journal keeps them.
    pub fn words(&self) -> &str {
        match self {
            Self::Context { text, .. } | Self::Notice { text } => text,
            Self::Deny { reason, .. } | Self::Ask { reason, .. } => reason,
            Self::Block(block) => &block.reason,
            Self::Export { name, .. } => name,
            Self::Answer { by, .. } => by,
            Self::Wait { key, .. } => key,
            Self::Receipt => "",
        }
    }
}
