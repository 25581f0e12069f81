//! What a supervised client's model is told.

/// Instead of a compaction; people see it too.
pub(super) const REASON: &str = "Not compacted: this session ends now and goes on in a fresh one (context.on_auto_compact = \"restart\").";

/// At the start of the fresh session. Its command line may hold the first prompt again: it can't be taken out of a wrapper's
/// arguments, and in print mode there must be one.
pub(super) fn go_on(effort: i64) -> String {
    format!(
        "Your previous context window was full, so this session was started in its place. Continue effort {effort} where that one left it: `substrate effort show {effort}` says where you are. A prompt that this session was started with is the one that the first session was given."
    )
}

/// Starts the first turn of a session that was told the above.
pub(super) fn begin(effort: i64) -> String {
    format!("Continue with effort {effort} now, as this session was told at its start.")
}
