//! Which environment variables the daemon may see: a fixed list, and never a secret.

/// Whether a variable goes with the request: AGENT_ID, SUBSTRATE_*, CLAUDE_*, CLAUDECODE, TMUX, TMUX_PANE, unless
/// its name says that it holds a secret.
pub fn passes(name: &[u8]) -> bool {
    let listed = match name.first() {
        Some(b'A') => name == b"AGENT_ID",
        Some(b'C') => name.starts_with(b"CLAUDE_") || name == b"CLAUDECODE",
        Some(b'S') => name.starts_with(b"SUBSTRATE_"),
        Some(b'T') => name == b"TMUX" || name == b"TMUX_PANE",
        _ => false,
    };
    listed && !says_secret(name)
}

/// Names such as `CLAUDE_CODE_OAUTH_TOKEN`. Whole words only: `CLAUDE_KEYBINDINGS` is no secret.
fn says_secret(name: &[u8]) -> bool {
    const WORDS: [&[u8]; 9] = [
        b"TOKEN",
        b"TOKENS",
        b"KEY",
        b"SECRET",
        b"PASSWORD",
        b"PASSPHRASE",
        b"CREDENTIALS",
        b"AUTH",
        b"HEADERS",
    ];
    name.split(|byte| *byte == b'_').any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn only_the_list_passes() {
        for name in [
            "AGENT_ID",
            "SUBSTRATE_HOME",
            "CLAUDE_PID",
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "TMUX",
            "TMUX_PANE",
        ] {
            assert!(passes(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "HOME",
            "PATH",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_API_KEY",
            "TMUX_TMPDIR",
            "SUBSTRATE_SECRET",
            "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
            "AGENT_IDS",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(!passes(name.as_bytes()), "{name}");
        }
    }
}
