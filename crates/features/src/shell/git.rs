//! Git's own arguments: where it works, its subcommand, and aliases that the line itself defines.

use super::folder::into;
use super::quote::split;
use super::{State, Word};

/// Aliases of aliases.
const MAX_ALIASES: usize = 8;

const EXPLAINED: &[&str] =
    &["reset", "checkout", "restore", "switch", "clean", "branch", "stash", "push", "rm", "gc"];

/// A call of git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Git {
    /// `reset`, `push`, …
    pub(crate) sub: String,
    /// What comes after the subcommand.
    pub(crate) args: Vec<Word>,
    /// Where it works, as `Simple::folder`.
    pub(crate) folder: String,
    /// `-c name=value`
    pub(crate) config: Vec<(String, String)>,
}

/// What a call of git is.
pub(super) enum GitCall {
    Git(Git),
    /// An alias that is a command of the shell.
    Shell(String),
}

/// Reads what comes after `git`.
pub(super) fn read(words: &[Word], folder: &str, state: &State) -> GitCall {
    let mut out = Git { folder: folder.to_owned(), ..Git::default() };
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let none = Word::default();
        let value = after.first().unwrap_or(&none);
        let skipped = match word.text.as_str() {
            "-C" | "--work-tree" => {
                out.folder = into(&out.folder, value, &state.line.commands);
                1
            }
            "-c" => {
                out.config.extend(setting(&value.text));
                1
            }
            "--git-dir" | "--namespace" | "--exec-path" | "--config-env" | "--super-prefix" => 1,
            text if text.starts_with("--work-tree=") => {
                let text = text["--work-tree=".len()..].to_owned();
                out.folder =
                    into(&out.folder, &Word { text, ..word.clone() }, &state.line.commands);
                0
            }
            text if text.starts_with('-') => 0,
            _ => break,
        };
        rest = after.get(skipped..).unwrap_or_default();
    }
    let Some((sub, args)) = rest.split_first() else { return GitCall::Git(out) };
    out.sub.clone_from(&sub.text);
    out.args = args.to_vec();
    for _ in 0..MAX_ALIASES {
        let name = out.sub.to_ascii_lowercase();
        let own = out.config.iter().rev().find(|(key, _)| *key == format!("alias.{name}"));
        let Some(alias) = own.map(|(_, value)| value).or_else(|| state.aliases.get(&name)) else {
            break;
        };
        if let Some(text) = alias.strip_prefix('!') {
            let args: Vec<&str> = out.args.iter().map(|word| word.text.as_str()).collect();
            return GitCall::Shell(format!("{text} {}", args.join(" ")));
        }
        let words = split(alias).unwrap_or_default();
        let Some((sub, args)) = words.split_first() else { break };
        let is_itself = *sub == out.sub;
        out.sub.clone_from(sub);
        out.args.splice(0..0, args.iter().map(|text| Word::plain(text)));
        if is_itself {
            break;
        }
    }
    // With `--help` git only explains.
    if out.args.iter().take_while(|word| word.text != "--").any(|word| word.text == "--help")
        && EXPLAINED.contains(&out.sub.as_str())
    {
        "help".clone_into(&mut out.sub);
    }
    GitCall::Git(out)
}

fn setting(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((name.to_ascii_lowercase(), value.to_owned()))
}
