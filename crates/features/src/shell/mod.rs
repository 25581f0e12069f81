//! Reads a command line as a shell would, without running anything or looking anything up.
//!
//! This is not a feature but what features share. `read` returns the simple commands of a line, each with its words,
//! its folder, its redirections and the commands inside it (`sh -c`, `find -exec`, `ssh`, …). Wrappers such as `sudo`
//! and `env` are taken off.
//!
//! ```text
//! cd /tmp && sudo rm -rf "$X"   →   cd /tmp
//!                                   rm -rf $X    folder /tmp, one word unknown
//! ```
//!
//! Invariants:
//!
//! * Quoted text, comments and here-documents are data, unless a shell is given them to run.
//! * Time depends on the length of the line alone: every byte is paid for (`shapes`, `State::pay`).
//! * A line that was not read to its end says so (`Line::is_unread`), so that callers can ask a person.
//! * On common ground the result equals that of an independent parser (`differential`).

mod args;
mod braces;
pub(crate) mod files;
mod folder;
mod git;
mod lex;
mod nested;
mod piped;
mod quote;
mod words;
mod wrap;
mod wrappers;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use folder::Whereabouts;
use lex::Broken;

pub(crate) use folder::{TOP, is_known, joined};
pub(crate) use git::Git;
#[cfg(test)]
pub(crate) use quote::split;

/// A longer line is not read to its end.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// A text may be read again, for example as the program of a nested shell: this many times its length in all, and a
/// little more for short ones.
const MAX_AGAIN: usize = 4;
const MIN_READ: usize = 64 << 10;

/// From this length on, a line that looks broken may be our own mistake.
const LONG: usize = 1_000;

/// At most this many commands and words of a line are read.
const MAX_COMMANDS: usize = 1_000;
const MAX_WORDS: usize = 4_000;

/// At most this many redirections, substitutions and array words are read. Each costs more than its bytes.
const MAX_PARTS: usize = 16_000;

/// How deep a shell inside a shell is looked into.
const MAX_DEPTH: u8 = 4;

/// What was read from a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) commands: Vec<Simple>,
    /// A quote or a bracket does not end. Only the lines before it are here, because only they would run.
    pub(crate) is_broken: bool,
    /// It was too long or too deep for us, and only its beginning is here.
    pub(crate) is_cut: bool,
    /// It was not read to its end, and a shell may run more of it than what is here.
    pub(crate) is_unread: bool,
    /// The functions that it defines.
    pub(crate) functions: Vec<String>,
}

/// One program and its arguments, without what is wrapped around it (`sudo`, `env A=b`, `timeout 5`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// Where it runs, relative to the shell's folder; empty for that folder itself. See `is_known`.
    pub(crate) folder: String,
    /// The function that it is a part of: it runs when that is called.
    pub(crate) function: Option<String>,
    /// The files that its output is sent to.
    pub(crate) writes: Vec<Word>,
    /// The command whose output is its input.
    pub(crate) from: Option<usize>,
    /// The commands whose output it runs as a program.
    pub(crate) executes: Vec<usize>,
    /// The commands that it runs for what it finds (`find -exec`), or that are given what it says (`find | xargs`).
    pub(crate) inner: Vec<usize>,
    /// Its output is filtered before another command gets it (`find | grep | xargs`).
    pub(crate) is_filtered: bool,
    /// The command that runs it, whose input it gets (`docker exec -i`).
    pub(crate) outer: Option<usize>,
    /// What it is given to read, where the line says so.
    pub(crate) stdin: String,
    /// It gets arguments that are not seen here (`xargs`, `find -exec`).
    pub(crate) has_hidden_args: bool,
    pub(crate) git: Option<Git>,
}

/// One word, as the program gets it, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// It begins with a `~` that the shell replaces.
    pub(crate) has_tilde: bool,
    /// It has a `*`, `?` or `[` that the shell replaces.
    pub(crate) has_glob: bool,
    /// It has braces that the shell makes several words of (`{a,b}`).
    pub(crate) has_braces: bool,
    /// It has a variable or a substitution whose value is not known here.
    pub(crate) has_unknown: bool,
    /// It begins with a quote, so it can't be a keyword or an alias.
    pub(crate) is_quoted: bool,
    /// The commands whose output is in it.
    pub(crate) runs: Vec<usize>,
}

/// A longer line is read again by each feature that asks, so that nothing large is kept.
const MAX_KEPT: usize = 16 << 10;

thread_local! {
    static LAST: RefCell<(String, Arc<Line>)> = RefCell::default();
}

#[cfg(test)]
thread_local! {
    /// How many lines this thread has read, without those that were kept.
    pub(crate) static N_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The simple commands of a line, in the order in which they begin to run. All features look at the same line of an event, so
/// the last one is kept.
pub(crate) fn read(line: &str) -> Arc<Line> {
    if let Some(kept) = LAST.with_borrow(|(text, kept)| (text == line).then(|| Arc::clone(kept))) {
        return kept;
    }
    #[cfg(test)]
    N_READ.set(N_READ.get() + 1);
    let read = Arc::new(read_counted(line).0);
    if line.len() <= MAX_KEPT {
        LAST.set((line.to_owned(), Arc::clone(&read)));
    }
    read
}

/// The same, with the number of bytes that were looked at.
fn read_counted(line: &str) -> (Line, usize) {
    let kept = substrate_core::text::cut(line, MAX_BYTES);
    let max_read = kept.len().saturating_mul(MAX_AGAIN).saturating_add(MIN_READ);
    let mut state = State { max_read, ..State::default() };
    lex::read(&mut state, kept, 0);
    piped::read_inputs(&mut state);
    state.line.is_cut |= kept.len() < line.len();
    // A shell would refuse a line that looks broken, but with a long one the mistake may be ours.
    let is_doubtful = state.line.is_broken && line.len() > LONG;
    state.line.is_unread = state.line.is_cut
        || (is_doubtful && RISKY.as_ref().is_none_or(|risky| risky.is_match(line)));
    (state.line, state.n_read)
}

/// What is searched for in a long broken line. It is a guess, and only leads to a question.
static RISKY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let texts = r"(?i-u)\brm\s+-\w*r|\bgit\s+(reset|clean|checkout|restore|push|stash)\b|\bmkfs|\bof=/dev/|\s-delete\b|\bdrop\s+(table|database|schema)\b|\b(destroy|shred|wipefs)\b";
    Regex::new(texts).ok()
});

impl Line {
    /// Keeps only the first commands and the links between them.
    fn forget_after(&mut self, n: usize) {
        self.commands.truncate(n);
        let is_kept = |at: &usize| *at < n;
        for made in &mut self.commands {
            made.inner.retain(is_kept);
            made.executes.retain(is_kept);
            made.from = made.from.filter(is_kept);
            made.outer = made.outer.filter(is_kept);
        }
    }
}

impl Simple {
    /// The program, without its folder.
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", |word| word.name())
    }

    /// Whether the program has this name. `mkfs*` is a prefix.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        match name.strip_suffix('*') {
            Some(start) => self.name().starts_with(start) && !self.words.is_empty(),
            None => self.name() == name,
        }
    }

    /// What comes after the program; for git, after its subcommand.
    pub(crate) fn after(&self) -> &[Word] {
        match &self.git {
            Some(git) => &git.args,
            None => self.words.get(1..).unwrap_or_default(),
        }
    }

    /// The words that begin with `-`, up to `--`.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &Word> {
        let before_end = self.after().iter().take_while(|word| word.text != "--");
        before_end.filter(|word| word.is_flag())
    }

    /// The words that are not flags, and everything after `--`.
    pub(crate) fn args(&self) -> impl Iterator<Item = &Word> {
        let mut is_past = false;
        self.after().iter().filter(move |word| {
            let was_past = is_past;
            is_past |= word.text == "--";
            was_past || !(word.is_flag() || word.text == "--")
        })
    }

    /// Its arguments without flags, and without the values of these flags.
    pub(crate) fn plain(&self, with_value: &[String]) -> Vec<&Word> {
        let mut out = Vec::new();
        let mut rest = self.after().iter();
        while let Some(word) = rest.next() {
            if word.text == "--" {
                out.extend(rest.by_ref());
            } else if !word.is_flag() {
                out.push(word);
            } else if with_value.contains(&word.text) {
                rest.next();
            }
        }
        out
    }

    /// Whether it has that flag: `-f` also among others (`-rf`), `--force` also shortened or with a value.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags().any(|word| is_flag(&word.text, flag))
    }
}

impl Word {
    pub(crate) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn is_flag(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }
}

fn is_flag(word: &str, flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--") else {
        // One letter may stand among others. `-delete` and the like stand alone.
        let letters = flag.trim_start_matches('-');
        let is_letter = letters.chars().count() == 1;
        return word == flag || (is_letter && !word.starts_with("--") && word.contains(letters));
    };
    let given = word.strip_prefix("--").map(|given| given.split('=').next().unwrap_or_default());
    // Programs accept an unambiguous prefix of a long flag.
    given.is_some_and(|given| given == name || (given.len() >= 3 && name.starts_with(given)))
}

/// What is known while a line is read.
#[derive(Debug, Default)]
struct State {
    line: Line,
    n_words: usize,
    n_parts: usize,
    n_read: usize,
    max_read: usize,
    /// Shared, since every substitution remembers it.
    at: Rc<Whereabouts>,
    /// The groups that are open, each with the function whose body it is.
    groups: Vec<Option<String>>,
    /// A function whose body begins with the next group.
    function: Option<String>,
    /// Variables that the line itself has set to something known.
    vars: HashMap<String, String>,
    /// What `for x in …` goes through, the words of an array, and what `$1` and `$@` stand for.
    lists: HashMap<String, Vec<Word>>,
    /// Variables that stand for each thing that a command finds (`find | while read f`).
    found: HashMap<String, usize>,
    /// Aliases of git that the line itself has made, and those of the shell.
    aliases: HashMap<String, String>,
    shell_aliases: HashMap<String, String>,
}

impl State {
    /// Pays for bytes that are read, or read again.
    fn pay(&mut self, n_bytes: usize) -> Result<(), Broken> {
        self.n_read = self.n_read.saturating_add(n_bytes);
        if self.n_read > self.max_read { Err(self.cut()) } else { Ok(()) }
    }

    /// What a variable stands for that is several words.
    fn note_list(&mut self, name: &str, words: Vec<Word>) {
        if self.lists.len() < MAX_COMMANDS {
            self.lists.insert(name.to_owned(), words);
        }
    }

    fn one_more_part(&mut self) -> Result<(), Broken> {
        self.n_parts += 1;
        if self.n_parts > MAX_PARTS { Err(self.cut()) } else { Ok(()) }
    }

    /// The line is too long: nothing more is read.
    fn cut(&mut self) -> Broken {
        self.line.is_cut = true;
        Broken
    }
}
