//! Commands inside of commands: `sh -c`, `eval`, `find -exec`, and shells that are fed their program.

use super::{Line, MAX_DEPTH, Simple, State, Word, lex, wrap};

/// Programs that send statements to a database.
const CLIENTS: &[&str] = &["psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb", "dropdb"];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Programs that run what they read, where they are given nothing else.
const INTERPRETERS: &[&str] = &["python", "python3", "perl", "ruby", "node", "php"];

/// A pipe with more commands is not followed.
const MAX_PIPE: usize = 16;

/// Reads a program for a shell of its own.
pub(super) fn read_script(state: &mut State, text: &str, depth: u8) {
    if depth >= MAX_DEPTH {
        state.line.is_cut = true;
        return;
    }
    let (at, n_groups) = (state.at.clone(), state.groups.len());
    lex::read(state, text, depth + 1);
    state.groups.truncate(n_groups);
    state.at = at;
}

/// Reads what the command at that place was given to run as its arguments.
pub(super) fn read_inside(state: &mut State, at: usize, depth: u8) {
    let Some(made) = state.line.commands.get(at).cloned() else { return };
    let args = made.words.get(1..).unwrap_or_default();
    match made.name() {
        name if SHELLS.contains(&name) || matches!(name, "su" | "script") => {
            if let Some(script) = after_flag_c(args) {
                executes(state, at, &script.runs);
                read_script(state, &script.text, depth);
            } else if SHELLS.contains(&name) {
                let file = args.iter().find(|word| !word.is_flag());
                let runs = file.map_or(&[][..], |word| &word.runs);
                executes(state, at, runs);
                read_said(state, runs, depth);
            }
        }
        "eval" | "watch" => {
            let with_value: &[&str] =
                if made.is_called("watch") { &["-n", "--interval"] } else { &[] };
            let from = wrap::flags(args, with_value);
            let text: Vec<&str> = args.iter().skip(from).map(|word| word.text.as_str()).collect();
            let runs: Vec<usize> = args.iter().flat_map(|word| word.runs.clone()).collect();
            executes(state, at, &runs);
            read_said(state, &runs, depth);
            read_script(state, &text.join(" "), depth);
        }
        "source" | "." => {
            let runs = args.first().map_or(&[][..], |word| &word.runs);
            executes(state, at, runs);
            read_said(state, runs, depth);
        }
        "docker" | "podman" | "docker-compose" | "kubectl" => in_container(state, args, depth),
        "flock" => {
            if let Some(script) = after_flag_c(args) {
                read_script(state, &script.text.clone(), depth);
            }
        }
        "trap" => {
            if let Some(script) = args.first() {
                read_script(state, &script.text.clone(), depth);
            }
        }
        "env" => {
            let split =
                args.iter().position(|word| word.text == "-S" || word.text == "--split-string");
            if let Some(script) = split.and_then(|at| args.get(at + 1)) {
                read_script(state, &script.text.clone(), depth);
            }
        }
        "find" => {
            let from = state.line.commands.len();
            find(state, args, depth);
            let inner = from..state.line.commands.len();
            if let Some(made) = state.line.commands.get_mut(at) {
                made.inner = inner.collect();
            }
        }
        "git" => submodules(state, &made, depth),
        _ => {}
    }
}

/// `git submodule foreach 'git reset --hard'`: in folders that nobody knows here.
fn submodules(state: &mut State, made: &Simple, depth: u8) {
    let Some(git) = made.git.as_ref().filter(|git| git.sub == "submodule") else { return };
    let mut args = git.args.iter().skip_while(|word| word.is_flag());
    if args.next().is_some_and(|word| word.text == "foreach") {
        let words = args.skip_while(|word| word.is_flag()).map(|word| word.text.as_str());
        let text = words.collect::<Vec<_>>().join(" ");
        let at = std::mem::take(&mut state.at);
        state.at.folder = "$sm_path".to_owned();
        read_script(state, &text, depth);
        state.at = at;
    }
}

/// The word after `-c`, also among other letters (`-lc`).
fn after_flag_c(args: &[Word]) -> Option<&Word> {
    let is_c =
        |word: &Word| word.is_flag() && !word.text.starts_with("--") && word.text.ends_with('c');
    let flag = args.iter().take_while(|word| word.text != "--").position(is_c)?;
    args[flag + 1..].iter().find(|word| !word.is_flag())
}

/// Reads what `echo` and the like have said as a program.
fn read_said(state: &mut State, runs: &[usize], depth: u8) {
    for at in runs {
        if let Some(text) = state.line.commands.get(*at).and_then(said) {
            read_script(state, &text, depth);
        }
    }
}

/// The words of a program that only says them.
fn said(made: &Simple) -> Option<String> {
    let is_option =
        |word: &&Word| matches!(word.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en" | "--");
    let words = made.words.iter().skip(1).skip_while(is_option);
    let words: Vec<&str> = words.map(|word| word.text.as_str()).collect();
    matches!(made.name(), "echo" | "printf").then(|| words.join(" ").replace("\\n", "\n"))
}

/// `docker exec db psql -c '…'`: a database is one wherever it runs.
fn in_container(state: &mut State, args: &[Word], depth: u8) {
    let mut rest = args.iter();
    if !rest.by_ref().any(|word| word.text == "exec") || depth >= MAX_DEPTH {
        return;
    }
    let words: Vec<Word> =
        rest.skip_while(|word| !CLIENTS.contains(&word.name())).cloned().collect();
    if !words.is_empty() {
        wrap::emit(state, lex::Draft { words, ..lex::Draft::default() }, depth + 1);
    }
}

/// `find … -exec rm {} \;`
fn find(state: &mut State, args: &[Word], depth: u8) {
    let is_exec =
        |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let mut rest = args;
    while let Some(at) = rest.iter().position(is_exec) {
        let inner = &rest[at + 1..];
        let n = inner
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+"))
            .unwrap_or(inner.len());
        let words: Vec<Word> =
            inner[..n].iter().filter(|word| word.text != "{}").cloned().collect();
        if !words.is_empty() && depth < MAX_DEPTH {
            let draft = lex::Draft { words, has_hidden_args: true, ..lex::Draft::default() };
            wrap::emit(state, draft, depth + 1);
        }
        rest = inner.get(n..).unwrap_or_default();
    }
}

fn executes(state: &mut State, at: usize, runs: &[usize]) {
    if let Some(made) = state.line.commands.get_mut(at) {
        made.executes.extend(runs);
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
        if SHELLS.contains(&made.name()) && reads_program(made) {
            let (text, folder) = (state.line.fed(made), made.folder.clone());
            if !text.is_empty() {
                state.at.folder = folder;
                state.groups.clear();
                // Each turn adds at most what fits into the line, so this ends.
                lex::read(state, &text, MAX_DEPTH - 1);
            }
        }
        at += 1;
    }
}

/// Nothing but its input says what to run.
fn reads_program(made: &Simple) -> bool {
    let args = made.words.get(1..).unwrap_or_default();
    let has_nothing = args.iter().all(|word| {
        matches!(word.text.as_str(), "-" | "-s" | "-x" | "-e" | "-ex" | "-eu" | "/dev/stdin")
    });
    let is_shell_with_args = SHELLS.contains(&made.name()) && made.has_flag("-s");
    let runs = SHELLS.contains(&made.name()) || INTERPRETERS.contains(&made.name());
    runs && !made.has_hidden_args && (has_nothing || is_shell_with_args)
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
    /// The text that a command is given to read, where the line says it.
    pub(crate) fn fed(&self, made: &Simple) -> String {
        if !made.stdin.is_empty() {
            return made.stdin.clone();
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
