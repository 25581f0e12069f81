//! The command line of a client that is started once more, with a fresh conversation.

use std::ffi::OsString;

use crate::relaunch::starts;

/// `codex resume SESSION …` starts over as `codex …`. Any other line stays as it is.
pub(super) fn fresh(line: &[OsString]) -> Vec<OsString> {
    match line {
        [program, resume, rest @ ..] if starts("codex", line) && resume == "resume" => {
            // `resume` alone opens a list of sessions.
            let is_session = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
            let rest = if rest.first().is_some_and(is_session) { &rest[1..] } else { rest };
            let rest = rest.iter().filter(|word| *word != "--last");
            std::iter::once(program).chain(rest).cloned().collect()
        }
        line => line.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("codex", "codex")]
    #[case("codex resume s1", "codex")]
    #[case("/opt/bin/codex resume s1 -m gpt", "/opt/bin/codex -m gpt")]
    #[case("codex resume --last --search", "codex --search")]
    #[case("codex exec go", "codex exec go")]
    #[case("mycodex resume s1", "mycodex resume s1")]
    fn a_fresh_line(#[case] line: &str, #[case] expected: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(fresh(&words(line)), words(expected));
    }
}
