//! From what was written to the program that is really run: assignments, keywords and wrappers are taken off.

use std::rc::Rc;

use super::folder::into;
use super::lex::{Broken, Draft, MAX_NAME};
use super::wrappers::{runner, wrapper};
use super::{
    Git, MAX_COMMANDS, MAX_DEPTH, MAX_WORDS, Simple, State, Word, args, git, nested, quote,
};

const KEYWORDS: &[&str] =
    &["then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "coproc"];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// A folder deeper than any path may be is not followed.
const MAX_FOLDER: usize = 4_096;

/// Adds a command and what is inside it. Returns its index.
pub(super) fn emit(state: &mut State, draft: Draft, depth: u8) -> Option<usize> {
    let words = expanded(state, draft.words).ok()?;
    state.n_words += words.len() + draft.writes.len();
    if state.line.commands.len() >= MAX_COMMANDS || state.n_words > MAX_WORDS {
        state.line.is_cut = true;
        return None;
    }
    let Program { words: rest, hidden, folder } = program(state, &words);
    let is_fed = matches!(hidden, Hidden::Replaced(_) | Hidden::Appended);
    let filled = match is_fed {
        true => args::fill(state, rest, draft.from, &draft.stdin, &hidden),
        false => rest.to_vec(),
    };
    let found_by = args::sources(state, &filled, draft.from.filter(|_| is_fed));
    let made = Simple {
        words: filled,
        folder: folder.unwrap_or_else(|| state.at.folder.clone()),
        function: state.groups.iter().flatten().next().cloned(),
        writes: draft.writes,
        from: draft.from,
        stdin: draft.stdin,
        has_hidden_args: is_fed || draft.has_hidden_args,
        outer: draft.outer,
        ..Simple::default()
    };
    if made.words.is_empty() && made.writes.is_empty() {
        return None;
    }
    let at = push(state, made, depth);
    for source in found_by {
        if let Some(source) = state.line.commands.get_mut(source) {
            source.inner.push(at);
        }
    }
    Some(at)
}

fn push(state: &mut State, mut made: Simple, depth: u8) -> usize {
    let mut script = None;
    match made.name() {
        "git" => match git::read(made.words.get(1..).unwrap_or_default(), &made.folder, state) {
            git::GitCall::Git(found) => made.git = Some(found),
            git::GitCall::Shell(text) => script = Some(text),
        },
        "cd" | "chdir" | "pushd" | "popd" => {
            let at = Rc::make_mut(&mut state.at);
            at.follow(&made, &state.line.commands);
            if at.folder.len() > MAX_FOLDER {
                state.line.is_cut = true;
            }
        }
        // From here on it is something else.
        "for" | "select" | "read" | "unset" | "mapfile" => {
            for word in made.words.iter().skip(1) {
                state.vars.remove(&word.text);
                state.lists.remove(&word.text);
            }
            args::note_read(state, &made);
            if let [_, name, word_in, items @ ..] = made.words.as_slice()
                && word_in.text == "in"
                && !items.is_empty()
            {
                state.note_list(&name.text, items.to_vec());
            }
        }
        "export" | "local" | "declare" | "typeset" | "readonly" => {
            for word in made.words.iter().skip(1) {
                assign(state, word);
            }
        }
        "alias" => {
            for word in made.words.iter().skip(1) {
                if let Some((name, text)) = word.text.split_once('=') {
                    state.shell_aliases.insert(name.to_owned(), text.to_owned());
                }
            }
        }
        name if !state.shell_aliases.is_empty() => script = alias(state, name, &made),
        _ => {}
    }
    if let Some(Git { sub, args, .. }) = &made.git
        && sub == "config"
    {
        note_alias(state, args);
    }
    let at = state.line.commands.len();
    state.line.commands.push(made);
    call(state, at, depth);
    if let Some(text) = script {
        // So that `alias rm='rm -i'` ends.
        let aliases = std::mem::take(&mut state.shell_aliases);
        nested::read_script(state, &text, depth);
        state.shell_aliases.extend(aliases);
    }
    nested::read_inside(state, at, depth);
    at
}

/// A function that the line itself has made, with what it is given: the commands of it that name `$1` or `$@`.
fn call(state: &mut State, at: usize, depth: u8) {
    let Some(made) = state.line.commands.get(at).filter(|made| made.words.len() > 1) else {
        return;
    };
    let name = made.name();
    if depth >= MAX_DEPTH || !state.line.functions.iter().any(|known| known == name) {
        return;
    }
    let is_given = |word: &Word| word.has_unknown && args::is_given(&word.text);
    let is_meant = |inner: &&Simple| {
        inner.function.as_deref() == Some(name)
            && !matches!(inner.name(), "echo" | "printf")
            && inner.words.iter().any(is_given)
    };
    let inside: Vec<Simple> = state.line.commands[..at].iter().filter(is_meant).cloned().collect();
    if inside.is_empty() {
        return;
    }
    let given = made.words[1..].to_vec();
    let before = args::give(state, &given);
    for inner in inside {
        let draft = Draft { words: inner.words, writes: inner.writes, ..Draft::default() };
        emit(state, draft, depth + 1);
    }
    args::take_back(state, before);
}

/// What an alias that the line itself has made stands for.
fn alias(state: &State, name: &str, made: &Simple) -> Option<String> {
    let text = state.shell_aliases.get(name)?;
    let is_named = made.words.first().is_some_and(|word| word.text == name && !word.is_quoted);
    is_named.then(|| format!("{text} {}", quote::as_script(&made.words[1..])))
}

/// `git config alias.x 'reset --hard'`
fn note_alias(state: &mut State, args: &[Word]) {
    let mut args = args.iter().filter(|word| !word.is_flag());
    let name = args.find_map(|word| word.text.strip_prefix("alias."));
    if let (Some(name), Some(value)) = (name, args.next()) {
        state.aliases.insert(name.to_owned(), value.text.clone());
    }
}

/// Whether a program gets arguments that are not seen where it is called.
#[derive(Debug, Default)]
pub(super) enum Hidden {
    #[default]
    None,
    /// After its own.
    Appended,
    /// In the place of this text.
    Replaced(String),
}

/// The program that is really run.
#[derive(Default)]
struct Program<'w> {
    /// It and its arguments.
    words: &'w [Word],
    hidden: Hidden,
    /// Where it runs, if that is not where the shell is.
    folder: Option<String>,
}

fn program<'w>(state: &mut State, words: &'w [Word]) -> Program<'w> {
    let mut rest = words;
    let mut out = Program::default();
    // Variables before a program are the program's own; alone they are the shell's.
    if words.iter().all(Word::is_assignment) {
        words.iter().for_each(|word| assign(state, word));
        return out;
    }
    while let Some((word, after)) = rest.split_first() {
        let name = word.name();
        if word.is_assignment() || KEYWORDS.contains(&name) {
            match name {
                "{" => {
                    let function = state.function.take();
                    state.groups.push(function);
                }
                "}" => {
                    state.groups.pop();
                }
                // Its name, if what it runs is a group.
                "coproc" if after.get(1).is_some_and(|word| word.text == "{") => {
                    rest = &after[1..];
                    continue;
                }
                _ => {}
            }
            if let Some(tree) = word.text.strip_prefix("GIT_WORK_TREE=") {
                let tree = Word { text: tree.to_owned(), ..word.clone() };
                out.folder = Some(into(&state.at.folder, &tree, &state.line.commands));
            }
            rest = after;
            continue;
        }
        if name == "function" {
            let name = after.first().map(|word| word.text.clone());
            if state.line.functions.len() >= MAX_COMMANDS
                || name.as_ref().is_some_and(|name| name.len() > MAX_NAME)
            {
                state.line.is_cut = true;
                break;
            }
            state.line.functions.extend(name.clone());
            state.function = name;
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        if name == "substrate" && after.first().is_some_and(|word| word.text == "run") {
            let Some(at) = after.iter().position(|word| word.text == "--") else { break };
            rest = &after[at + 1..];
            continue;
        }
        let first = after.first().map_or("", |word| word.text.as_str());
        let (after, (with_value, n_before)) = match (wrapper(name), runner(name, first)) {
            (Some(found), _) => (after, found),
            (None, Some(found)) => (&after[1..], found),
            (None, None) => break,
        };
        let Some(skipped) = before_program(name, first, after, with_value, n_before) else { break };
        if name == "xargs" {
            out.hidden = args::hidden(&after[..skipped.min(after.len())]);
        }
        if name == "env" {
            let folder = chdir(&after[..skipped])
                .map(|to| into(&state.at.folder, &to, &state.line.commands));
            out.folder = folder.or(out.folder);
        }
        rest = &after[skipped..];
    }
    out.words = rest;
    out
}

/// How many words come before the program. `None` if no program is run, or it is inside a text.
fn before_program(
    name: &str,
    first: &str,
    after: &[Word],
    with_value: &[&str],
    n_before: usize,
) -> Option<usize> {
    // `command -v rm` and `sudo -l` only look, and `env` alone prints.
    let only_looks = matches!(
        (name, first),
        ("command", "-v" | "-V") | ("sudo", "-v" | "-V" | "-l") | (_, "--version" | "--help")
    );
    let n_flags = flags(after, with_value);
    let mut skipped = n_flags + n_before;
    // These have a text to be run, which is read as such.
    let is_text = |word: &Word| match name {
        "env" => matches!(word.text.as_str(), "-S" | "--split-string"),
        "screen" => word.text == "-X",
        "entr" => word.text == "-s",
        "runuser" | "npx" | "npm" => matches!(word.text.as_str(), "-c" | "--command"),
        _ => false,
    };
    // The user comes before the text.
    let n_looked = if name == "runuser" { n_flags + 4 } else { n_flags };
    let has_text = after[..n_looked.min(after.len())].iter().any(is_text)
        || (name == "flock" && after.get(skipped).is_some_and(|word| word.text == "-c"));
    skipped += usize::from(after.get(skipped).is_some_and(|word| word.text == "--"));
    let has_none = after.get(skipped..).is_none_or(<[Word]>::is_empty);
    (!only_looks && !has_text && !has_none).then_some(skipped)
}

/// `env -C FOLDER`
fn chdir(flags: &[Word]) -> Option<Word> {
    let mut flags = flags.iter();
    while let Some(word) = flags.next() {
        if matches!(word.text.as_str(), "-C" | "--chdir") {
            return flags.next().cloned();
        }
        if let Some(text) = word.text.strip_prefix("--chdir=") {
            return Some(Word { text: text.to_owned(), ..word.clone() });
        }
    }
    None
}

/// How many words are flags, some of which have a value as the next word.
pub(super) fn flags(words: &[Word], with_value: &[&str]) -> usize {
    let mut n = 0;
    while let Some(word) = words.get(n).filter(|word| word.is_flag()) {
        n += 1;
        if word.text == "--" {
            break;
        }
        n += usize::from(has_value_next(&word.text, with_value));
    }
    n
}

/// `-u`, `--user`, and `-iu`, whose last letter is one with a value.
fn has_value_next(flag: &str, with_value: &[&str]) -> bool {
    if flag.starts_with("--") || flag.len() == 2 {
        return with_value.contains(&flag);
    }
    let mut letters = flag.chars().skip(1);
    let first = letters.by_ref().find(|c| with_value.contains(&format!("-{c}").as_str()));
    first.is_some() && letters.next().is_none()
}

/// The words, where one is all that a loop goes through.
fn expanded(state: &mut State, words: Vec<Word>) -> Result<Vec<Word>, Broken> {
    if state.lists.is_empty() {
        return Ok(words);
    }
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let name = word.text.strip_prefix('$').filter(|_| word.has_unknown).unwrap_or_default();
        let (name, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
        let Some(items) = state.lists.get(name) else {
            out.push(word);
            continue;
        };
        let n_bytes: usize = items.iter().map(|item| item.text.len() + rest.len()).sum();
        out.extend(items.iter().map(|item| Word {
            text: format!("{}{rest}", item.text),
            has_glob: item.has_glob || word.has_glob,
            ..item.clone()
        }));
        state.pay(n_bytes)?;
        if out.len() > MAX_WORDS {
            return Err(state.cut());
        }
    }
    Ok(out)
}

impl Word {
    pub(super) fn is_assignment(&self) -> bool {
        self.text.split_once('=').is_some_and(|(name, _)| {
            let name = name.strip_suffix('+').unwrap_or(name);
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

fn assign(state: &mut State, word: &Word) {
    let Some((name, value)) = word.text.split_once('=') else { return };
    // A path below home is known well enough, however it was written.
    let value = match (Word { text: value.to_owned(), ..word.clone() }).path() {
        Some(path) if path.starts_with('~') => Some(path.replacen('~', "$HOME", 1)),
        Some(_) if !word.has_unknown => Some(value.to_owned()),
        _ => None,
    };
    match value.filter(|_| !word.has_glob && state.vars.len() < MAX_COMMANDS) {
        Some(value) => state.vars.insert(name.to_owned(), value),
        None => state.vars.remove(name),
    };
}
