//! The command line of a client that is started once more: the same, but for what belongs to one conversation.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

/// What belongs to the conversation that was: with a value, or without.
const OF_A_CONVERSATION: &[(&str, Takes)] = &[
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("-r", Takes::Maybe),
    ("--resume", Takes::Maybe),
    ("--from-pr", Takes::Maybe),
    ("--teleport", Takes::Maybe),
    ("--fork-session", Takes::Nothing),
    ("--session-id", Takes::One),
];

/// The flags that take no value. Any other takes the next word, so that no value is ever mistaken for the prompt.
const SWITCHES: &[&str] = &[
    "--allow-dangerously-skip-permissions",
    "--ax-screen-reader",
    "--bare",
    "--brief",
    "--chrome",
    "--dangerously-skip-permissions",
    "--disable-slash-commands",
    "--exclude-dynamic-system-prompt-sections",
    "--forward-subagent-text",
    "--ide",
    "--include-hook-events",
    "--include-partial-messages",
    "--mcp-debug",
    "--no-chrome",
    "--no-session-persistence",
    "-p",
    "--print",
    "--replay-user-messages",
    "--restricted",
    "--safe-mode",
    "--strict-mcp-config",
    "--tmux",
    "--verbose",
];

/// The flags that take all words up to the next flag.
const LISTS: &[&str] = &[
    "--add-dir",
    "--allowedTools",
    "--allowed-tools",
    "--betas",
    "--disallowedTools",
    "--disallowed-tools",
    "--file",
    "--mcp-config",
    "--tools",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    One,
    /// A value, if the next word is no flag.
    Maybe,
    All,
}

/// The arguments for a fresh conversation that begins with this prompt. It comes first: behind a flag that takes a list
/// it would be part of the list.
pub fn fresh(args: &[OsString], prompt: &str) -> Vec<OsString> {
    let mut out = vec![OsString::from(prompt)];
    let kept = Words { rest: args }.filter(|word| !matches!(word, Word::Prompt(_)));
    out.extend(kept.filter(|word| !word.is_of_a_conversation()).flat_map(Word::all).cloned());
    out
}

/// The arguments of one more try of the same: only an id that can't be used twice is left out.
pub fn again(args: &[OsString]) -> Vec<OsString> {
    let is_used =
        |word: &Word<'_>| matches!(word, Word::Flag { name, .. } if *name == "--session-id");
    Words { rest: args }.filter(|word| !is_used(word)).flat_map(Word::all).cloned().collect()
}

/// A flag with its values, or anything else.
enum Word<'a> {
    Flag {
        name: &'a OsStr,
        all: &'a [OsString],
    },
    /// What follows all flags, with the `--` before it.
    Prompt(&'a [OsString]),
}

impl<'a> Word<'a> {
    fn is_of_a_conversation(&self) -> bool {
        let Self::Flag { name, .. } = self else { return false };
        OF_A_CONVERSATION.iter().any(|(other, _)| name == other)
    }

    fn all(self) -> &'a [OsString] {
        match self {
            Self::Flag { all, .. } | Self::Prompt(all) => all,
        }
    }
}

struct Words<'a> {
    rest: &'a [OsString],
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let first = self.rest.first()?;
        if first == "--" {
            return Some(Word::Prompt(std::mem::take(&mut self.rest)));
        }
        if !is_flag(first) {
            let (prompt, rest) = self.rest.split_at(1);
            self.rest = rest;
            return Some(Word::Prompt(prompt));
        }
        let (name, has_value) = named(first);
        let after = &self.rest[1..];
        let n_words = after.iter().take_while(|word| !is_flag(word)).count();
        let n = match takes(name) {
            _ if has_value => 0,
            Takes::Nothing => 0,
            // A value may look like a flag, but for one that need not be there.
            Takes::One => after.len().min(1),
            Takes::Maybe => n_words.min(1),
            Takes::All => n_words,
        };
        let (all, rest) = self.rest.split_at(1 + n);
        self.rest = rest;
        Some(Word::Flag { name, all })
    }
}

fn is_flag(word: &OsStr) -> bool {
    word.as_bytes().len() > 1 && word.as_bytes().starts_with(b"-")
}

/// The flag's name, and whether its value is in the same word.
fn named(word: &OsStr) -> (&OsStr, bool) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]), true),
        None => (word, false),
    }
}

fn takes(name: &OsStr) -> Takes {
    if let Some((_, takes)) = OF_A_CONVERSATION.iter().find(|(other, _)| name == *other) {
        return *takes;
    }
    if SWITCHES.iter().any(|other| name == *other) {
        Takes::Nothing
    } else if LISTS.iter().any(|other| name == *other) {
        Takes::All
    } else {
        Takes::Maybe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[rstest]
    #[case::nothing("", "GO")]
    #[case::a_prompt("hello", "GO")]
    #[case::print_mode("-p hello --output-format json", "GO -p --output-format json")]
    #[case::values_are_no_prompts("--model opus hello", "GO --model opus")]
    #[case::values_in_the_same_word("--model=opus hello", "GO --model=opus")]
    #[case::continued("-c", "GO")]
    #[case::continued_long("--continue --verbose", "GO --verbose")]
    #[case::resumed("--resume 1234 hello", "GO")]
    #[case::resumed_by_choice("-r --verbose", "GO --verbose")]
    #[case::resumed_same_word("--resume=1234 --fork-session hello", "GO")]
    #[case::own_id("--session-id 1234 hello", "GO")]
    #[case::lists_keep_their_words("--add-dir a b --verbose hello", "GO --add-dir a b --verbose")]
    #[case::list_at_the_end("hello --allowedTools Bash Edit", "GO --allowedTools Bash Edit")]
    #[case::after_the_dashes("--verbose -- -c is fine", "GO --verbose")]
    #[case::a_new_flag_keeps_its_value("--brand-new thing", "GO --brand-new thing")]
    #[case::a_new_switch("--brand-new --model opus hi", "GO --brand-new --model opus")]
    #[case::a_dash_is_a_word("-p -", "GO -p")]
    #[case::an_id_is_missing("--session-id", "GO")]
    fn a_fresh_conversation_has(#[case] args: &str, #[case] expected: &str) {
        assert_eq!(fresh(&words(args), "GO"), words(expected));
    }

    #[rstest]
    #[case::as_it_was("-p hello --model opus", "-p hello --model opus")]
    #[case::an_id_is_used_once("--session-id 1234 -p hello", "-p hello")]
    #[case::continued("-c hello", "-c hello")]
    fn another_try_has(#[case] args: &str, #[case] expected: &str) {
        assert_eq!(again(&words(args)), words(expected));
    }

    #[test]
    fn what_is_no_text_is_kept_as_it_is() {
        let odd = OsStr::from_bytes(b"--settings=\xff\xfe").to_owned();
        assert_eq!(fresh(std::slice::from_ref(&odd), "GO"), [OsString::from("GO"), odd]);
    }
}
