//! What other features that hold somebody say too, and which reminder is in an answer.

use substrate_core::Outcome;

use super::source::Reminder;

/// A turn goes on after it was held, and only its last message is delivered.
pub(crate) const ANSWER: &str = "At the end, repeat your complete final answer: only your last message reaches the one who asked.";

/// Whether that reminder is in the answer.
fn is_told(outcome: &Outcome, reminder: Reminder) -> bool {
    outcome.told(super::FEATURE.name).any(|part| part.what == reminder.name())
}

/// A subagent is asked to check its work.
pub(crate) fn validates(outcome: &Outcome) -> bool {
    is_told(outcome, Reminder::Validate)
}

/// A subagent is asked what went wrong.
pub(crate) fn reflects(outcome: &Outcome) -> bool {
    is_told(outcome, Reminder::Reflexion)
}
