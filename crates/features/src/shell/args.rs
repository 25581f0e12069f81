//! Arguments that come through a pipe: `find | xargs rm`, `echo ~ | xargs rm`, `find | while read f; do rm "$f"; done`.

use super::wrap::Hidden;
use super::{Simple, State, Word, piped};

/// Programs that pass on everything they read.
const PASSING: &[&str] = &["cat", "head", "sort", "tac", "tail", "tee", "tr", "uniq", "shuf"];

/// A pipe with more commands is not followed.
const MAX_PIPE: usize = 16;

/// What the flags of `xargs` say about where the arguments go.
pub(super) fn hidden(flags: &[Word]) -> Hidden {
    let mut rest = flags.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let replaced = match text {
            "-I" | "-J" => rest.next().map(|word| word.text.clone()),
            "-i" | "--replace" => Some("{}".to_owned()),
            _ => text
                .strip_prefix("--replace=")
                .or_else(|| text.strip_prefix("-I"))
                .map(str::to_owned),
        };
        if let Some(replaced) = replaced.filter(|text| !text.is_empty()) {
            return Hidden::Replaced(replaced);
        }
    }
    Hidden::Appended
}

/// Where the input of a command begins, and whether something chooses from it on its way.
fn origin(state: &State, from: Option<usize>) -> Option<(usize, bool)> {
    let mut at = from?;
    let mut is_filtered = false;
    for _ in 0..MAX_PIPE {
        let made = state.line.commands.get(at)?;
        let Some(before) = made.from.filter(|before| *before < at) else {
            return Some((at, is_filtered));
        };
        is_filtered |= !PASSING.contains(&made.name());
        at = before;
    }
    None
}

/// The words of a command with the arguments that it gets through a pipe, as far as they are known.
pub(super) fn fill(
    state: &State,
    words: &[Word],
    from: Option<usize>,
    stdin: &str,
    hidden: &Hidden,
) -> Vec<Word> {
    // What a here-string says was expanded by the shell.
    let stdin = Word { has_tilde: stdin.starts_with('~'), ..Word::plain(stdin) };
    let given = if from.is_some() { piped(state, from) } else { split(&stdin) };
    let Hidden::Replaced(mark) = hidden else {
        return words.iter().cloned().chain(given).collect();
    };
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        if !word.text.contains(mark.as_str()) {
            out.push(word.clone());
        } else if given.is_empty() {
            out.extend(something(word, mark));
        } else {
            out.extend(given.iter().map(|one| Word {
                text: word.text.replace(mark.as_str(), &one.text),
                has_tilde: word.has_tilde
                    || (one.has_tilde && word.text.starts_with(mark.as_str())),
                has_glob: word.has_glob || one.has_glob,
                has_unknown: word.has_unknown || one.has_unknown,
                ..word.clone()
            }));
        }
    }
    out
}

/// A word with an unknown part. Below a folder that is named in full it may be anything there.
fn something(word: &Word, mark: &str) -> Option<Word> {
    if word.text == mark {
        return None;
    }
    let is_below = word.text.starts_with('/') || word.has_tilde;
    let text = word.text.replace(mark, if is_below { "*" } else { "$?" });
    let mut word = Word { text, ..word.clone() };
    word.has_glob |= is_below;
    word.has_unknown |= !is_below;
    Some(word)
}

/// What a program says, as arguments.
fn said(made: &Simple) -> Vec<Word> {
    if let Some(words) = piped::echoed(made) {
        return words.iter().flat_map(split).collect();
    }
    match made.name() {
        "ls" if made.has_flag("-d") => made.args().cloned().collect(),
        "ls" if made.args().next().is_none() => {
            vec![Word { has_glob: true, ..Word::plain("*") }]
        }
        "cat" => split(&Word::plain(&made.stdin)),
        _ => Vec::new(),
    }
}

pub(super) fn split(word: &Word) -> Vec<Word> {
    let parts = word.text.split_ascii_whitespace().filter(|part| *part != "\\n");
    parts
        .map(|part| Word {
            text: part.trim_end_matches("\\n").to_owned(),
            has_tilde: word.has_tilde && part.starts_with('~'),
            runs: Vec::new(),
            ..word.clone()
        })
        .collect()
}

/// The commands that find what this one is run for.
pub(super) fn sources(state: &mut State, words: &[Word], from: Option<usize>) -> Vec<usize> {
    let mut out = Vec::new();
    if let Some((at, is_filtered)) = origin(state, from)
        && let Some(made) = state.line.commands.get_mut(at)
        && made.name() == "find"
    {
        made.is_filtered |= is_filtered;
        out.push(at);
    }
    for word in words.iter().filter(|word| word.has_unknown) {
        let named = word.text.strip_prefix('$').filter(|_| !state.found.is_empty());
        let found = named.and_then(|name| state.found.get(name)).copied();
        let is_find =
            |at: &usize| state.line.commands.get(*at).is_some_and(|made| made.name() == "find");
        out.extend(word.runs.iter().copied().chain(found).filter(is_find));
    }
    out
}

/// `… | while read f`: what the variable stands for.
pub(super) fn note_read(state: &mut State, made: &Simple) {
    if made.name() != "read" {
        return;
    }
    let Some(name) = made.args().last().map(|word| word.text.clone()) else { return };
    let Some((at, is_filtered)) = origin(state, made.from) else { return };
    let Some(source) = state.line.commands.get_mut(at) else { return };
    if source.name() == "find" {
        source.is_filtered |= is_filtered;
        state.found.insert(name, at);
        return;
    }
    let given = said(source);
    if !is_filtered && !given.is_empty() && !given.iter().any(|word| word.has_unknown) {
        state.lists.insert(name, given);
    }
}

/// `$1`, `$@`, `$*`: what a script or a function is given, or a path below it.
pub(super) fn is_given(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| "@*123456789".contains(c)))
}

/// What `$1` and the like stood for before.
pub(super) type Before = Vec<(String, Option<Vec<Word>>)>;

/// Notes what a script or a function is given.
pub(super) fn give(state: &mut State, given: &[Word]) -> Before {
    let each = (1..=9).map(|n: usize| (n.to_string(), given.get(n - 1..n).unwrap_or_default()));
    let all = ["@", "*"].map(|name| (name.to_owned(), given));
    let mut before = Vec::new();
    for (name, words) in each.chain(all) {
        before.push((name.clone(), state.lists.remove(&name)));
        if !words.is_empty() {
            state.note_list(&name, words.to_vec());
        }
    }
    before
}

pub(super) fn take_back(state: &mut State, before: Before) {
    for (name, words) in before {
        match words {
            Some(words) => state.note_list(&name, words),
            None => drop(state.lists.remove(&name)),
        }
    }
}

/// What is known of the words that come through a pipe.
pub(super) fn piped(state: &State, from: Option<usize>) -> Vec<Word> {
    let source = origin(state, from).filter(|(_, is_filtered)| !is_filtered);
    source.and_then(|(at, _)| state.line.commands.get(at)).map(said).unwrap_or_default()
}
