//! What other features that hold somebody say too.

/// A turn goes on after it was held, and only its last message is delivered.
pub(crate) const ANSWER: &str = "At the end, repeat your complete final answer: only your last message reaches the one who asked.";
