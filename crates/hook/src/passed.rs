//! Which environment variables the daemon may see: a fixed list, and never a secret.

/// The list, in the words of the reference.
pub const ABOUT: &str = r"AGENT_ID, SUBSTRATE_\*, CLAUDE_\*, CLAUDECODE, what other clients say about their session and folder, TMUX and TMUX_PANE";

/// Whether a variable, `NAME=value`, goes with the request: AGENT_ID, SUBSTRATE_*, CLAUDE_*, what other clients say about
/// a session, TMUX, TMUX_PANE, unless its name marks it as a secret.
pub fn passes(entry: &[u8]) -> bool {
    match entry.first() {
        Some(b'A') => entry.starts_with(b"AGENT_ID="),
        Some(b'C') => match entry.strip_prefix(b"CLAUDE_") {
            Some(rest) => !says_secret(rest),
            None => entry.starts_with(b"CLAUDECODE=") || is_others(entry),
        },
        Some(b'F' | b'G' | b'O' | b'Q') => is_others(entry),
        Some(b'S') => entry.strip_prefix(b"SUBSTRATE_").is_some_and(|rest| !says_secret(rest)),
        Some(b'T') => entry.starts_with(b"TMUX=") || entry.starts_with(b"TMUX_PANE="),
        _ => false,
    }
}

/// What other clients say about a session: these very names.
const OTHERS: &[&[u8]] = &[
    b"CODEX_HOME=",
    b"CODEX_SESSION_ID=",
    b"CODEX_THREAD_ID=",
    b"COPILOT_AGENT_SESSION_ID=",
    b"COPILOT_CLI=",
    b"COPILOT_HOME=",
    b"COPILOT_PROJECT_DIR=",
    b"CURSOR_AGENT=",
    b"CURSOR_PROJECT_DIR=",
    b"FACTORY_PROJECT_DIR=",
    b"GEMINI_CLI=",
    b"GEMINI_PROJECT_DIR=",
    b"OPENCODE=",
    b"OPENCODE_SESSION_ID=",
    b"QWEN_CODE=",
    b"QWEN_CODE_SESSION_ID=",
    b"QWEN_HOME=",
    b"QWEN_PROJECT_DIR=",
];

fn is_others(entry: &[u8]) -> bool {
    OTHERS.iter().any(|name| entry.starts_with(name))
}

/// Names such as `CLAUDE_CODE_OAUTH_TOKEN`, and entries without a name. Whole words only: `CLAUDE_KEYBINDINGS` is not a
/// secret. One pass, since every tool call pays for it.
fn says_secret(entry: &[u8]) -> bool {
    let mut word_at = 0;
    for (at, byte) in entry.iter().enumerate() {
        if matches!(byte, b'_' | b'=') {
            let is_secret = matches!(
                &entry[word_at..at],
                b"TOKEN"
                    | b"TOKENS"
                    | b"KEY"
                    | b"SECRET"
                    | b"PASSWORD"
                    | b"PASSPHRASE"
                    | b"CREDENTIALS"
                    | b"AUTH"
                    | b"HEADERS"
            );
            if is_secret || *byte == b'=' {
                return is_secret;
            }
            word_at = at + 1;
        }
    }
    true
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
            "CODEX_HOME",
            "CODEX_SESSION_ID",
            "CODEX_THREAD_ID",
            "QWEN_CODE",
            "QWEN_HOME",
            "TMUX",
            "TMUX_PANE",
        ] {
            assert!(passes(format!("{name}=x_KEY").as_bytes()), "{name}");
        }
        for name in [
            "",
            "HOME",
            "PATH",
            "ANTHROPIC_API_KEY",
            "CODEX_API_KEY",
            "CODEX_ACCESS_TOKEN",
            "CODEX_HOMES",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_API_KEY",
            "TMUX_TMPDIR",
            "SUBSTRATE_SECRET",
            "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
            "AGENT_IDS",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(!passes(format!("{name}=x").as_bytes()), "{name}");
        }
        assert!(!passes(b"CLAUDE_PID"), "no value");
    }
}
