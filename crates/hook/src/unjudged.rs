//! What a client is told when no program is left that could judge a call: ask the person, instead of letting it pass in
//! silence.
//!
//! The hook depends on no crate that knows clients, so it knows these answers by heart. A test of `substrate`
//! (`it::clients`) compares them with what each client's own encoder says.

/// Why, in every client's answer.
pub const REASON: &str = "Substrate could not judge this call: its program `substrate` did not start. Reinstall it, or remove its hooks.";

/// By client and event.
const ALL: &[(&[u8], &[u8], &[u8])] = &[(
    b"claude-code",
    b"PreToolUse",
    br#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Substrate could not judge this call: its program `substrate` did not start. Reinstall it, or remove its hooks."}}"#,
)];

/// What that client understands at that event.
pub fn words(client: &[u8], event: &[u8]) -> Option<&'static [u8]> {
    ALL.iter().find(|(of, at, _)| (*of, *at) == (client, event)).map(|(.., words)| *words)
}
