//! `substrate __complete WORDS…`: what a shell offers for the last word. The scripts of `substrate completions` call it at each Tab.
//!
//! It prints a candidate a line, with its meaning after a tab. Nothing at all means that the shell may offer files. Names that
//! only the daemon knows are asked for briefly, and left out if no daemon answers: a Tab starts nothing and waits for nothing.

mod live;
mod script;

use std::process::ExitCode;

use clap::{Arg, Command};

use super::{help, table};
use crate::ui;

pub(super) use self::script::script;

/// Something that the last word may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    text: String,
    about: String,
}

/// The arguments are the words after `substrate`, up to the one at the cursor.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let mut root = help::command();
    root.build();
    for Candidate { text, about } in candidates(&root, words, &live::names) {
        ui::data(&format!("{text}\t{about}\n"));
    }
    ExitCode::SUCCESS
}

/// Looks up names for an argument of a command: its path and the argument's id.
type Names<'a> = &'a dyn Fn(&[&str], &str) -> Vec<Candidate>;

fn candidates(root: &Command, words: &[String], names: Names<'_>) -> Vec<Candidate> {
    let joined = joined(words);
    let Some((last, before)) = joined.split_last() else { return Vec::new() };
    let place = Place::after(root, before);
    let value = |of: &Arg, begin: &str, written: &str| {
        let path: Vec<&str> = place.path.iter().map(String::as_str).collect();
        values(of, &path, begin, written, names)
    };
    if let Some(of) = place.awaits {
        return value(of, last, "");
    }
    if !place.is_escaped && last.starts_with('-') {
        if let Some((flag, begin)) = last.split_once('=') {
            let found = flag.strip_prefix("--").and_then(|name| long(place.command, name));
            return found.map(|of| value(of, begin, &format!("{flag}="))).unwrap_or_default();
        }
        return flags(place.command, last);
    }
    let mut out = Vec::new();
    if !place.is_escaped && place.n_values == 0 {
        out.extend(subcommands(place.command, last));
    }
    if let Some(of) = positional(place.command, place.n_values) {
        out.extend(value(of, last, ""));
    }
    out
}

/// Bash takes `--flag=value` apart at the `=`.
fn joined(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut is_value = false;
    for word in words {
        match out.last_mut() {
            Some(flag) if word == "=" && flag.starts_with("--") => {
                flag.push('=');
                is_value = true;
            }
            Some(flag) if is_value => {
                flag.push_str(word);
                is_value = false;
            }
            _ => out.push(word.clone()),
        }
    }
    out
}

/// Where the last word stands.
struct Place<'a> {
    command: &'a Command,
    path: Vec<String>,
    /// The flag whose value it is.
    awaits: Option<&'a Arg>,
    /// How many values without a flag come before it.
    n_values: usize,
    /// After `--` nothing is a flag.
    is_escaped: bool,
}

impl<'a> Place<'a> {
    fn after(root: &'a Command, words: &[String]) -> Self {
        let mut at =
            Self { command: root, path: Vec::new(), awaits: None, n_values: 0, is_escaped: false };
        for word in words {
            at.pass(word);
        }
        at
    }

    fn pass(&mut self, word: &str) {
        if self.awaits.take().is_some() {
            return;
        }
        if self.is_escaped {
            self.n_values += 1;
        } else if word == "--" {
            self.is_escaped = true;
        } else if let Some(name) = word.strip_prefix("--") {
            self.awaits = long(self.command, name).filter(|flag| takes_value(flag));
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let last = letters.chars().next_back();
            let mut all = self.command.get_arguments();
            let flag = all.find(|flag| flag.get_short() == last);
            self.awaits = flag.filter(|flag| takes_value(flag));
        } else if let Some(next) = self.command.find_subcommand(word).filter(|_| self.n_values == 0)
        {
            self.command = next;
            self.path.push(word.to_owned());
        } else {
            self.n_values += 1;
        }
    }
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values()
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|flag| flag.get_long() == Some(name))
}

/// The argument that takes the value after `n` others. The last one may take many.
fn positional(command: &Command, n: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().collect();
    let last = all.last().copied();
    let takes_many = |arg: &&Arg| arg.get_num_args().is_some_and(|n| n.max_values() > 1);
    all.get(n).copied().or_else(|| last.filter(takes_many))
}

fn subcommands(command: &Command, begin: &str) -> Vec<Candidate> {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    shown
        .filter(|inner| inner.get_name() != "help" && inner.get_name().starts_with(begin))
        .map(|inner| Candidate::new(inner.get_name(), &text(inner.get_about())))
        .collect()
}

fn flags(command: &Command, begin: &str) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
    let named = shown.filter_map(|flag| Some((format!("--{}", flag.get_long()?), flag)));
    named
        .filter(|(name, _)| name.starts_with(begin))
        .map(|(name, flag)| Candidate::new(&name, &text(flag.get_help())))
        .collect()
}

/// The values of an argument that begin like this. `written` is what stands before the value in the same word.
fn values(of: &Arg, path: &[&str], begin: &str, written: &str, names: Names<'_>) -> Vec<Candidate> {
    let fixed = of.get_possible_values();
    let all: Vec<Candidate> = if fixed.is_empty() {
        // By its own name, however it was spelt.
        let own = table::typed(path).map_or(path, |known| known.path);
        names(own, of.get_id().as_str())
    } else {
        let shown = fixed.iter().filter(|value| !value.is_hide_set());
        shown.map(|value| Candidate::new(value.get_name(), &text(value.get_help()))).collect()
    };
    // Of a list with commas, the last name is being typed.
    let is_list = of.get_value_delimiter() == Some(',');
    let (earlier, begin) = match begin.rsplit_once(',').filter(|_| is_list) {
        Some((earlier, begin)) => (format!("{earlier},"), begin),
        None => (String::new(), begin),
    };
    let fits = |one: &Candidate| one.text.to_lowercase().starts_with(&begin.to_lowercase());
    all.into_iter()
        .filter(fits)
        .map(|one| Candidate { text: format!("{written}{earlier}{}", one.text), ..one })
        .collect()
}

impl Candidate {
    fn new(text: &str, about: &str) -> Self {
        let line = |text: &str| substrate_core::text::one_line(text, 100);
        Self { text: line(text), about: line(about) }
    }
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Two agents, one message and one effort.
    fn names(path: &[&str], arg: &str) -> Vec<Candidate> {
        let all: &[&str] = match live::source(path, arg) {
            Some(live::Source::Agents) => &["NobleLion", "CalmOtter"],
            Some(live::Source::Messages) => &["42"],
            Some(live::Source::Efforts) => &["7"],
            _ => &[],
        };
        all.iter().map(|name| Candidate::new(name, "")).collect()
    }

    #[rstest]
    #[case::commands("se", "send")]
    #[case::below_a_group("mail thr", "thread")]
    #[case::flags("send --idem", "--idempotency-key")]
    #[case::global_flags("send --proj", "--project-dir")]
    #[case::values("send --priority u", "urgent")]
    #[case::names("send N", "NobleLion")]
    #[case::small_letters("send calm", "CalmOtter")]
    #[case::a_second_name("send --to NobleLion,C", "NobleLion,CalmOtter")]
    #[case::after_an_equals_sign("send --to=C", "--to=CalmOtter")]
    #[case::taken_apart_by_bash("send --to = C", "--to=CalmOtter")]
    #[case::as_whom("inbox --agent N", "NobleLion")]
    #[case::a_message("read ", "42")]
    #[case::by_the_longer_name("mail read ", "42")]
    #[case::many("mail ack 3 ", "42")]
    #[case::an_effort("effort resume ", "7")]
    #[case::of_a_flag("effort log --effort ", "7")]
    #[case::a_setting("config get statusline.t", "statusline.template")]
    #[case::nothing_after_a_text("send NobleLion hello ", "")]
    #[case::a_file("guard test ", "")]
    #[case::no_plumbing("__", "")]
    #[case::unknown("nonsense ", "")]
    fn a_line(#[case] line: &str, #[case] expected: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut root = help::command();
        root.build();
        let names = |path: &[&str], arg: &str| match live::source(path, arg) {
            Some(live::Source::Settings) => live::names(path, arg),
            _ => names(path, arg),
        };
        let found: Vec<String> =
            candidates(&root, &words, &names).into_iter().map(|one| one.text).collect();
        assert_eq!(found.join(" "), expected);
    }

    /// A command that is renamed must not lose its names silently.
    #[test]
    fn every_source_belongs_to_an_argument_that_exists() {
        let mut root = help::command();
        root.build();
        for (path, arg, _) in live::SOURCES {
            let definition = table::all().iter().find(|known| known.path == *path);
            let definition = definition.unwrap_or_else(|| panic!("no command {path:?}"));
            let command = (definition.flags)(Command::new("x"));
            let has = command.get_arguments().any(|one| one.get_id().as_str() == *arg);
            assert!(has, "{path:?} has no `{arg}`");
        }
    }
}
