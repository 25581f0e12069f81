//! What other features that hold an agent say too, and which reminder an answer contains.

use substrate_core::Outcome;

use super::source::Reminder;

/// Told to an agent whose turn is held: the turn goes on, and only its last message is delivered.
pub(crate) const ANSWER: &str =
    "At the end, repeat your complete final answer: only your last message reaches the caller.";

/// Whether the answer contains that reminder.
fn is_told(outcome: &Outcome, reminder: Reminder) -> bool {
    outcome.told(super::FEATURE.name).any(|part| part.what == reminder.name())
}

/// Whether a subagent is asked to check its work.
pub(crate) fn validates(outcome: &Outcome) -> bool {
    is_told(outcome, Reminder::Validate)
}

/// Whether a subagent is asked what went wrong.
pub(crate) fn reflects(outcome: &Outcome) -> bool {
    is_told(outcome, Reminder::Reflexion)
}
