//! From what was written to the program that is really run: assignments, keywords and wrappers are taken off.

use super::folder::into;
use super::lex::Draft;
use super::{Git, MAX_COMMANDS, MAX_WORDS, Simple, State, Word, git, nested};

/// Programs that run another one: which of their flags have a value, and how many words stand before the other's name.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("env", &["-u", "-C", "--unset", "--chdir"], 0),
    (
        "sudo",
        &[
            "-u",
            "-g",
            "-h",
            "-p",
            "-C",
            "-D",
            "-R",
            "-T",
            "-U",
            "-r",
            "-t",
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--close-from",
            "--chdir",
            "--chroot",
            "--command-timeout",
            "--other-user",
            "--role",
            "--type",
        ],
        0,
    ),
    ("doas", &["-u", "-C"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    ("time", &["-f", "-o", "--format", "--output"], 0),
    ("timeout", &["-k", "-s", "--signal", "--kill-after"], 1),
    ("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    ("taskset", &[], 1),
    ("unbuffer", &[], 0),
    ("busybox", &[], 0),
    ("unshare", &[], 0),
    ("chroot", &[], 1),
    ("flock", &["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
    ("strace", &["-e", "-o", "-p", "-s", "-u", "-E", "-a", "-b", "-I", "-O", "-S", "-X", "-P"], 0),
    (
        "systemd-run",
        &["-p", "-u", "-E", "-M", "-H", "--property", "--unit", "--slice", "--setenv"],
        0,
    ),
    (
        "xargs",
        &[
            "-n",
            "-P",
            "-I",
            "-L",
            "-d",
            "-a",
            "-s",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--max-chars",
        ],
        0,
    ),
];

const KEYWORDS: &[&str] =
    &["then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "coproc"];

/// Notes a command, and what is inside of it. Its place.
pub(super) fn emit(state: &mut State, draft: Draft, depth: u8) -> Option<usize> {
    if state.n_words > MAX_WORDS {
        state.line.is_cut = true;
        return None;
    }
    let words = expanded(state, &draft.words);
    state.n_words += words.len() + draft.writes.len();
    if state.line.commands.len() >= MAX_COMMANDS || state.n_words > MAX_WORDS {
        state.line.is_cut = true;
        return None;
    }
    let Program { words, has_hidden_args, folder } = program(state, &words);
    let made = Simple {
        words: words.to_vec(),
        folder: folder.unwrap_or_else(|| state.at.folder.clone()),
        function: state.groups.iter().flatten().next().cloned(),
        writes: draft.writes,
        from: draft.from,
        stdin: draft.stdin,
        has_hidden_args: has_hidden_args || draft.has_hidden_args,
        ..Simple::default()
    };
    if made.words.is_empty() && made.writes.is_empty() {
        return None;
    }
    Some(push(state, made, depth))
}

fn push(state: &mut State, mut made: Simple, depth: u8) -> usize {
    let mut script = None;
    match made.name() {
        "git" => match git::read(made.words.get(1..).unwrap_or_default(), &made.folder, state) {
            git::Found::Git(found) => made.git = Some(found),
            git::Found::Shell(text) => script = Some(text),
        },
        "cd" | "chdir" | "pushd" | "popd" => state.at.follow(&made, &state.line.commands),
        // From here on it is something else.
        "for" | "select" | "read" | "unset" | "mapfile" => {
            for word in made.words.iter().skip(1) {
                state.vars.remove(&word.text);
                state.lists.remove(&word.text);
            }
            if let [_, name, word_in, items @ ..] = made.words.as_slice()
                && word_in.text == "in"
                && !items.is_empty()
                && state.lists.len() < MAX_COMMANDS
            {
                state.lists.insert(name.text.clone(), items.to_vec());
            }
        }
        "export" | "local" | "declare" | "typeset" | "readonly" => {
            for word in made.words.iter().skip(1) {
                assign(state, word);
            }
        }
        _ => {}
    }
    if let Some(Git { sub, args, .. }) = &made.git
        && sub == "config"
    {
        note_alias(state, args);
    }
    let at = state.line.commands.len();
    state.line.commands.push(made);
    if let Some(text) = script {
        nested::read_script(state, &text, depth);
    }
    nested::read_inside(state, at, depth);
    at
}

/// `git config alias.x 'reset --hard'`
fn note_alias(state: &mut State, args: &[Word]) {
    let mut args = args.iter().filter(|word| !word.is_flag());
    let name = args.find_map(|word| word.text.strip_prefix("alias."));
    if let (Some(name), Some(value)) = (name, args.next()) {
        state.aliases.insert(name.to_owned(), value.text.clone());
    }
}

/// The program that is really run.
#[derive(Default)]
struct Program<'w> {
    /// It and its arguments.
    words: &'w [Word],
    /// It gets arguments that are not seen here.
    has_hidden_args: bool,
    /// Where it runs, if that is not where the shell is.
    folder: Option<String>,
}

fn program<'w>(state: &mut State, words: &'w [Word]) -> Program<'w> {
    let mut rest = words;
    let mut out = Program::default();
    // Variables before a program are the program's own; alone they are the shell's.
    if words.iter().all(is_assignment) {
        words.iter().for_each(|word| assign(state, word));
        return out;
    }
    while let Some((word, after)) = rest.split_first() {
        let name = word.name();
        if is_assignment(word) || KEYWORDS.contains(&name) {
            match name {
                "{" => {
                    let function = state.function.take();
                    state.groups.push(function);
                }
                "}" => {
                    state.groups.pop();
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
            state.line.functions.extend(after.first().map(|word| word.text.clone()));
            state.function = after.first().map(|word| word.text.clone());
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        if name == "substrate" && after.first().is_some_and(|word| word.text == "run") {
            let Some(at) = after.iter().position(|word| word.text == "--") else { break };
            rest = &after[at + 1..];
            continue;
        }
        let Some((_, with_value, n_before)) = WRAPPERS.iter().find(|(known, ..)| *known == name)
        else {
            break;
        };
        // `command -v rm` and `sudo -l` only look, and `env` alone prints.
        let only_looks = matches!(
            after.first().map(|word| word.text.as_str()),
            Some("-v" | "-V" | "-l" | "--version" | "--help")
        );
        let is_split = |word: &Word| matches!(word.text.as_str(), "-S" | "--split-string");
        if name == "env" && after.iter().any(is_split) {
            break;
        }
        let mut skipped = flags(after, with_value) + n_before;
        if name == "flock" && after.get(skipped).is_some_and(|word| word.text == "-c") {
            break;
        }
        skipped += usize::from(after.get(skipped).is_some_and(|word| word.text == "--"));
        if after.get(skipped..).is_none_or(<[Word]>::is_empty) || (only_looks && name != "xargs") {
            break;
        }
        out.has_hidden_args |= name == "xargs";
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
fn expanded(state: &State, words: &[Word]) -> Vec<Word> {
    if state.lists.is_empty() {
        return words.to_vec();
    }
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let name = word.text.strip_prefix('$').filter(|_| word.has_unknown).unwrap_or_default();
        let (name, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
        match state.lists.get(name) {
            Some(items) if out.len() <= MAX_WORDS => out.extend(items.iter().map(|item| Word {
                text: format!("{}{rest}", item.text),
                has_glob: item.has_glob || word.has_glob,
                ..item.clone()
            })),
            _ => out.push(word.clone()),
        }
    }
    out
}

fn is_assignment(word: &Word) -> bool {
    word.text.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn assign(state: &mut State, word: &Word) {
    let Some((name, value)) = word.text.split_once('=') else { return };
    // What is below home is known well enough, however that was written.
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
