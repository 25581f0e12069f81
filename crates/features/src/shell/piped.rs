//! What commands say to each other: the output that is known, pipes, and shells that are fed their program.

use std::rc::Rc;

use super::folder::TOP_HERE;
use super::nested::{INTERPRETERS, SHELLS, executes};
use super::{Line, MAX_DEPTH, Simple, State, Word, is_known, lex};

/// A pipe with more commands is not followed.
const MAX_PIPE: usize = 16;

/// The output of a program that only prints its arguments.
pub(super) fn said(made: &Simple) -> Option<String> {
    let words: Vec<&str> = echoed(made)?.iter().map(|word| word.text.as_str()).collect();
    let text = formatted(made).unwrap_or_else(|| words.join(" "));
    Some(text.replace("\\n", "\n"))
}

/// The output of `printf`, where its format has more than a place for each word.
fn formatted(made: &Simple) -> Option<String> {
    let mut words = made.args().map(|word| word.text.as_str());
    let format = words.next().filter(|_| made.is_called("printf"))?;
    let is_more = format.split("%s").any(|part| !part.is_empty() && part != "\\n" && part != " ");
    let mut out = String::new();
    for (n, part) in format.split("%s").enumerate() {
        out.push_str(if n > 0 { words.next().unwrap_or_default() } else { "" });
        out.push_str(part);
    }
    (is_more && format.contains("%s")).then_some(out)
}

/// The same, each as it was written.
pub(super) fn echoed(made: &Simple) -> Option<&[Word]> {
    let is_option =
        |word: &&Word| matches!(word.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en" | "--");
    let words = made.words.get(1..).unwrap_or_default();
    let words = &words[words.iter().take_while(is_option).count()..];
    match made.name() {
        "echo" => Some(words),
        "printf" => {
            // `printf` prints what `%s` stands for, or the format itself if it has none.
            let has_place = words.first().is_some_and(|word| word.text.contains('%'));
            Some(if has_place { &words[1..] } else { words })
        }
        _ => None,
    }
}

/// The known output of a command, as one word.
pub(super) fn output(made: &Simple) -> Option<Word> {
    if let Some(text) = formatted(made) {
        let has_unknown = made.args().any(|word| word.has_unknown);
        let has_tilde = text.starts_with('~') && made.args().any(|word| word.has_tilde);
        return Some(Word { text, has_unknown, has_tilde, ..Word::default() });
    }
    if let Some(words) = echoed(made) {
        let first = words.first()?;
        let mut out = Word { runs: Vec::new(), ..first.clone() };
        for word in &words[1..] {
            out.text.push(' ');
            out.text.push_str(&word.text);
            out.has_glob |= word.has_glob;
            out.has_unknown |= word.has_unknown;
        }
        // Unquoted output is split into several words, which one word can't express.
        return (words.len() == 1 || made.words.len() < 64).then_some(out);
    }
    let unknown = |text: String| Word { text, has_unknown: true, ..Word::default() };
    let args = || made.args().cloned();
    match made.name() {
        "pwd" if made.folder.is_empty() => Some(unknown("$PWD".to_owned())),
        "pwd" if is_known(&made.folder) => Some(match made.folder.strip_prefix('~') {
            Some(rest) => unknown(format!("$HOME{rest}")),
            None if made.folder.starts_with('/') => Word::plain(&made.folder),
            None => unknown(format!("$PWD/{}", made.folder)),
        }),
        "realpath" | "readlink" | "which" => args().next(),
        // The place of a program has the program's name.
        "command" | "type" if made.has_flag("-v") || made.has_flag("-P") => args().next(),
        "dirname" => args().next().map(|word| Word { text: format!("{}/..", word.text), ..word }),
        "printenv" => args().next().map(|word| unknown(format!("${}", word.text))),
        "cat" if made.words.len() == 1 && !made.stdin.is_empty() => {
            let text = made.stdin.trim_end_matches('\n').to_owned();
            let has_unknown = text.contains(['$', '`']);
            Some(Word { text, has_unknown, ..Word::default() })
        }
        "git" => {
            let git =
                made.git.as_ref().filter(|git| git.sub == "rev-parse" && git.folder.is_empty())?;
            let [only] = git.args.as_slice() else { return None };
            (only.text == "--show-toplevel").then(|| unknown(TOP_HERE.to_owned()))
        }
        _ => None,
    }
}

/// Shells that read their program from a pipe or a here-document.
pub(super) fn read_inputs(state: &mut State) {
    let mut at = 0;
    while let Some(made) = state.line.commands.get(at) {
        if let Some(from) = made.from.filter(|_| reads_program(made)) {
            let before: Vec<usize> = upstream(state, from);
            executes(state, at, &before);
        }
        let Some(made) = state.line.commands.get(at) else { break };
        let is_shell =
            SHELLS.contains(&made.name()) || matches!(made.name(), "at" | "batch" | "ssh");
        if is_shell && reads_program(made) {
            let (text, folder) = (state.line.fed(made), made.folder.clone());
            if !text.is_empty() {
                Rc::make_mut(&mut state.at).folder = folder;
                state.groups.clear();
                // Each turn pays for what it reads, so this ends.
                lex::read(state, &text, MAX_DEPTH - 1);
            }
        }
        if state.line.is_cut {
            break;
        }
        at += 1;
    }
}

/// Only its input says what to run.
fn reads_program(made: &Simple) -> bool {
    let args = made.words.get(1..).unwrap_or_default();
    if matches!(made.name(), "at" | "batch" | "ssh") {
        return made.name() != "ssh" || made.args().count() == 1;
    }
    let has_nothing = || {
        args.iter().all(|word| {
            matches!(word.text.as_str(), "-" | "-s" | "-x" | "-e" | "-ex" | "-eu" | "/dev/stdin")
        })
    };
    let is_shell = SHELLS.contains(&made.name());
    let runs = is_shell || INTERPRETERS.contains(&made.name());
    runs && !made.has_hidden_args && (has_nothing() || (is_shell && made.has_flag("-s")))
}

/// The commands of a pipe, from that one backwards.
fn upstream(state: &State, from: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut next = Some(from);
    while let Some(at) = next.filter(|_| out.len() < MAX_PIPE) {
        out.push(at);
        next = state.line.commands.get(at).and_then(|made| made.from).filter(|before| *before < at);
    }
    out
}

impl Line {
    /// The text that a command reads, if the line says it.
    pub(crate) fn fed(&self, made: &Simple) -> String {
        if !made.stdin.is_empty() {
            return made.stdin.clone();
        }
        if let Some(outer) = made.outer.and_then(|at| self.commands.get(at)) {
            // One that runs another runs before it, so this ends.
            return self.fed(outer);
        }
        let Some(source) = made.from.and_then(|at| self.commands.get(at)) else {
            return String::new();
        };
        match source.name() {
            "cat" | "tee" => source.stdin.clone(),
            _ => said(source).unwrap_or_default(),
        }
    }
}
