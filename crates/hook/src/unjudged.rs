//! The answer when no program is left that could judge a call: ask the person instead of silently letting it pass.
//!
//! The hook depends on no crate that knows clients, so it has these answers built in. A test of `substrate`
//! (`it::clients`) compares them with each client's own encoder.

/// The reason in every client's answer.
pub const REASON: &str = "Substrate could not judge this call: its program `substrate` did not start. Reinstall it, or remove its hooks.";

/// By client and event.
const ALL: &[(&[u8], &[u8], &[u8])] = &[
    (b"claude-code", b"PreToolUse", ASK),
    (
        b"cursor",
        b"PreToolUse",
        br#"{"permission":"ask","user_message":"Substrate could not judge this call: its program `substrate` did not start. Reinstall it, or remove its hooks."}"#,
    ),
    (b"droid", b"PreToolUse", ASK),
    (b"qwen", b"PreToolUse", ASK),
];

/// The words of clients that ask in the same way.
const ASK: &[u8] = br#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Substrate could not judge this call: its program `substrate` did not start. Reinstall it, or remove its hooks."}}"#;

/// The answer for that client at that event.
pub fn words(client: &[u8], event: &[u8]) -> Option<&'static [u8]> {
    ALL.iter().find(|(of, at, _)| (*of, *at) == (client, event)).map(|(.., words)| *words)
}
