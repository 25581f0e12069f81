//! The command line of a client that is started once more: the same, but for what belongs to one conversation.
//!
//! There may be a wrapper before the client (`env`, `npx`, `nix run`). Its words are never touched, and where the client's own
//! word is not found (`sh -c '…'`), nothing is.

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

/// The line for a fresh conversation. The prompt is left out, since it asks for what was begun long ago; but in print mode
/// there must be one.
pub(super) fn fresh(line: &[OsString]) -> Vec<OsString> {
    let is_print = |word: &Word<'_>| matches!(word, Word::Flag { name, .. } if *name == "-p" || *name == "--print");
    let prints = Words { rest: split(line).1 }.any(|word| is_print(&word));
    kept(line, |word| match word {
        Word::Prompt(_) => prints,
        Word::Flag { .. } => !word.is_of_a_conversation(),
    })
}

/// The line for one more try of the same: only an id that can't be used twice is left out.
pub(super) fn again(line: &[OsString]) -> Vec<OsString> {
    kept(line, |word| !matches!(word, Word::Flag { name, .. } if *name == "--session-id"))
}

fn kept(line: &[OsString], keeps: impl Fn(&Word<'_>) -> bool) -> Vec<OsString> {
    let (before, args) = split(line);
    let args = Words { rest: args }.filter(keeps).flat_map(Word::all);
    before.iter().chain(args).cloned().collect()
}

/// The words up to the client's own, and its arguments. All of them come before it where it is not found.
fn split(line: &[OsString]) -> (&[OsString], &[OsString]) {
    // A wrapper may be told the client's path before the client (to mount it, say), so the last one counts. Behind the
    // client itself the same word is one of its arguments.
    let is_direct = line.first().is_some_and(|word| is_client(word));
    let at = if is_direct { Some(0) } else { line.iter().rposition(|word| is_client(word)) };
    let Some(at) = at else { return (line, &[]) };
    // What runs a package may want to be told where its own flags end.
    let is_package = !is_program(&line[at]);
    let has_end = is_package && line.get(at + 1).is_some_and(|word| word == "--");
    line.split_at(at + 1 + usize::from(has_end))
}

fn is_client(word: &OsStr) -> bool {
    is_program(word) || word.to_str().is_some_and(is_package)
}

fn is_program(word: &OsStr) -> bool {
    std::path::Path::new(word).file_name().is_some_and(|name| name == "claude")
}

/// `@anthropic-ai/claude-code`, also with a version; `nixpkgs#claude-code`.
fn is_package(word: &str) -> bool {
    let npm = word.strip_prefix("@anthropic-ai/claude-code");
    npm.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        || word.split_once('#').is_some_and(|(_, name)| name == "claude-code")
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
    #[case::nothing("", "")]
    #[case::a_prompt("hello", "")]
    #[case::print_mode_needs_its_prompt(
        "-p hello --output-format json",
        "-p hello --output-format json"
    )]
    #[case::print_mode_long("hello --print -c", "hello --print")]
    #[case::values_are_no_prompts("--model opus hello", "--model opus")]
    #[case::values_in_the_same_word("--model=opus hello", "--model=opus")]
    #[case::continued("-c", "")]
    #[case::continued_long("--continue --verbose", "--verbose")]
    #[case::resumed("--resume 1234 hello", "")]
    #[case::resumed_by_choice("-r --verbose", "--verbose")]
    #[case::resumed_same_word("--resume=1234 --fork-session hello", "")]
    #[case::own_id("--session-id 1234 hello", "")]
    #[case::lists_keep_their_words("--add-dir a b --verbose hello", "--add-dir a b --verbose")]
    #[case::list_at_the_end("hello --allowedTools Bash Edit", "--allowedTools Bash Edit")]
    #[case::after_the_dashes("--verbose -- -c is fine", "--verbose")]
    #[case::a_new_flag_keeps_its_value("--brand-new thing", "--brand-new thing")]
    #[case::a_new_switch("--brand-new --model opus hi", "--brand-new --model opus")]
    #[case::a_dash_is_a_word("-", "")]
    #[case::an_id_is_missing("--session-id", "")]
    #[case::its_own_name_is_a_value("--agent claude -c", "--agent claude")]
    fn a_fresh_conversation_has(#[case] args: &str, #[case] expected: &str) {
        for before in ["claude", "/opt/bin/claude", "env FOO=1 -u BAR claude"] {
            if args.contains("claude") && before.starts_with("env") {
                continue;
            }
            let (line, fresh_line) = (format!("{before} {args}"), format!("{before} {expected}"));
            assert_eq!(fresh(&words(&line)), words(&fresh_line));
        }
    }

    #[rstest]
    #[case::npx("npx -y @anthropic-ai/claude-code -c", "npx -y @anthropic-ai/claude-code")]
    #[case::npx_version(
        "npx @anthropic-ai/claude-code@2 --resume 1",
        "npx @anthropic-ai/claude-code@2"
    )]
    #[case::nix("nix run nixpkgs#claude-code -- -c hi", "nix run nixpkgs#claude-code --")]
    #[case::a_mount(
        "bwrap --bind /opt/claude /opt/claude -- claude -c",
        "bwrap --bind /opt/claude /opt/claude -- claude"
    )]
    #[case::a_shell("sh -c claude\u{a0}--continue", "sh -c claude\u{a0}--continue")]
    #[case::a_script("./mine --continue hello", "./mine --continue hello")]
    #[case::a_value_is_no_client("./mine --name claude-code -c", "./mine --name claude-code -c")]
    #[case::another_package(
        "npx @anthropic-ai/claude-codex -c",
        "npx @anthropic-ai/claude-codex -c"
    )]
    fn below_a_wrapper_only_the_clients_own_words_change(
        #[case] before: &str,
        #[case] expected: &str,
    ) {
        // One word with a space in it, where words are split at plain spaces.
        let line = |text: &str| -> Vec<OsString> {
            text.split(' ').map(|word| OsString::from(word.replace('\u{a0}', " "))).collect()
        };
        assert_eq!(fresh(&line(before)), line(expected));
    }

    #[rstest]
    #[case::as_it_was("claude -p hello --model opus", "claude -p hello --model opus")]
    #[case::an_id_is_used_once("claude --session-id 1234 -p hello", "claude -p hello")]
    #[case::continued("claude -c hello", "claude -c hello")]
    #[case::below_a_wrapper("env A=1 claude --session-id 1 hi", "env A=1 claude hi")]
    #[case::of_something_else("mine --session-id 1 hi", "mine --session-id 1 hi")]
    fn another_try_has(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(again(&words(line)), words(expected));
    }

    #[test]
    fn what_is_no_text_is_kept_as_it_is() {
        let odd = OsStr::from_bytes(b"--settings=\xff\xfe").to_owned();
        let line = [OsString::from("claude"), odd];
        assert_eq!(fresh(&line), line);
    }
}
