//! Commands inside of commands: `sh -c`, `eval`, `find -exec`, and shells that are fed their program.

use std::rc::Rc;

use super::folder::TOP_HERE;
use super::{Line, MAX_DEPTH, Simple, State, Word, is_known, lex, wrap};

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Programs that run what they read, where they are given nothing else.
const INTERPRETERS: &[&str] = &["python", "python3", "perl", "ruby", "node", "php"];

/// Programs that run another one in a container or on another machine.
const CONTAINERS: &[&str] = &[
    "docker",
    "podman",
    "nerdctl",
    "docker-compose",
    "podman-compose",
    "kubectl",
    "oc",
    "lxc",
    "crictl",
    "incus",
];

/// A pipe with more commands is not followed.
const MAX_PIPE: usize = 16;

/// So many things that a program is run for are looked at one by one.
const MAX_EACH: usize = 8;

/// A folder on another machine or in a container.
const ELSEWHERE: &str = "$elsewhere";

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
    let Some(made) = state.line.commands.get(at) else { return };
    if !has_inside(made.name()) {
        return;
    }
    let made = made.clone();
    let args = made.words.get(1..).unwrap_or_default();
    match made.name() {
        name if SHELLS.contains(&name) || matches!(name, "su" | "script" | "sg" | "runuser") => {
            if let Some(script) = after_flag_c(args) {
                executes(state, at, &script.runs);
                // `sh -c 'rm "$1"' name FILE`
                let n = args.iter().position(|word| std::ptr::eq(word, script)).unwrap_or_default();
                let before = super::args::give(state, args.get(n + 2..).unwrap_or_default());
                read_script(state, &script.text, depth);
                super::args::take_back(state, before);
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
            let is_said = args.iter().all(|word| word.text != super::words::SAID);
            read_script(state, &text.join(" "), depth);
            if !is_said {
                read_said(state, &runs, depth);
            }
        }
        name if INTERPRETERS.contains(&name) => {
            let file = args.iter().find(|word| !word.is_flag());
            let runs =
                file.filter(|word| word.text.starts_with("<(")).map_or(&[][..], |word| &word.runs);
            executes(state, at, runs);
        }
        "source" | "." => {
            let runs = args.first().map_or(&[][..], |word| &word.runs);
            executes(state, at, runs);
            read_said(state, runs, depth);
        }
        "ssh" => {
            let with_value = &[
                "-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-e", "-m", "-O",
                "-S", "-W", "-w", "-E", "-B",
            ];
            let from = wrap::flags(args, with_value) + 1;
            let words: Vec<&str> = args.iter().skip(from).map(|word| word.text.as_str()).collect();
            let n_before = state.line.commands.len();
            read_elsewhere(state, &words.join(" "), depth);
            // The first of them has the input of the whole.
            if let Some(inner) = state.line.commands.get_mut(n_before) {
                inner.from = inner.from.or(made.from);
                inner.outer = Some(at);
            }
        }
        "tmux" => in_tmux(state, args, depth),
        "parallel" => in_parallel(state, &made, depth),
        "find" => {
            let from = state.line.commands.len();
            find(state, args, depth);
            let inner = from..state.line.commands.len();
            if let Some(made) = state.line.commands.get_mut(at) {
                made.inner = inner.collect();
            }
        }
        "git" => in_git(state, &made, depth),
        name if CONTAINERS.contains(&name) => in_container(state, at, args, depth),
        name => {
            for text in scripts(name, args) {
                read_script(state, &text, depth);
            }
        }
    }
}

/// The texts among the arguments of a program that it gives to a shell.
fn scripts(name: &str, args: &[Word]) -> Vec<String> {
    let after = |flags: &[&str]| {
        let at = args.iter().position(|word| flags.contains(&word.text.as_str()));
        at.and_then(|at| args.get(at + 1)).map(|word| word.text.clone()).into_iter().collect()
    };
    match name {
        "flock" | "npx" | "npm" | "repo" | "nix" => {
            after_flag_c(args).map(|word| word.text.clone()).into_iter().collect()
        }
        "nix-shell" => after(&["--run", "--command"]),
        "env" => after(&["-S", "--split-string"]),
        "entr" => after(&["-s"]),
        "trap" => args.first().map(|word| word.text.clone()).into_iter().collect(),
        "hyperfine" | "concurrently" => {
            let texts = args.iter().filter(|word| !word.is_flag() && word.text.contains(' '));
            texts.map(|word| word.text.clone()).collect()
        }
        "screen" => {
            let stuff = args.iter().skip_while(|word| word.text != "stuff").nth(1);
            let text = stuff.map(|word| word.text.replace("\\n", "\n").replace("^M", "\n"));
            text.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a program of that name may have another one among its arguments: only then it is looked at.
fn has_inside(name: &str) -> bool {
    SHELLS.contains(&name)
        || INTERPRETERS.contains(&name)
        || CONTAINERS.contains(&name)
        || matches!(
            name,
            "su" | "script"
                | "sg"
                | "runuser"
                | "eval"
                | "watch"
                | "source"
                | "."
                | "ssh"
                | "flock"
                | "npx"
                | "npm"
                | "repo"
                | "nix"
                | "nix-shell"
                | "hyperfine"
                | "concurrently"
                | "trap"
                | "entr"
                | "env"
                | "screen"
                | "tmux"
                | "parallel"
                | "find"
                | "git"
        )
}

/// Reads a program that runs where no folder is one of here.
fn read_elsewhere(state: &mut State, text: &str, depth: u8) {
    let at = state.at.clone();
    Rc::make_mut(&mut state.at).folder = ELSEWHERE.to_owned();
    read_script(state, text, depth);
    state.at = at;
}

/// `git submodule foreach 'git reset --hard'`: in folders that nobody knows here. `git bisect run`, `git rebase --exec`.
fn in_git(state: &mut State, made: &Simple, depth: u8) {
    let Some(git) = made.git.as_ref() else { return };
    let text =
        |words: &[Word]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let n_flags = git.args.iter().take_while(|word| word.is_flag()).count();
    match (git.sub.as_str(), git.args.get(n_flags).map(|word| word.text.as_str())) {
        ("submodule", Some("foreach")) => {
            let rest = &git.args[n_flags + 1..];
            let rest = &rest[rest.iter().take_while(|word| word.is_flag()).count()..];
            let at = std::mem::take(&mut state.at);
            Rc::make_mut(&mut state.at).folder = "$sm_path".to_owned();
            read_script(state, &text(rest), depth);
            state.at = at;
        }
        ("bisect", Some("run")) => read_script(state, &as_script(&git.args[n_flags + 1..]), depth),
        ("rebase", _) => {
            let is_exec = |word: &&Word| matches!(word.text.as_str(), "-x" | "--exec");
            let at = git.args.iter().position(|word| is_exec(&word));
            if let Some(script) = at.and_then(|at| git.args.get(at + 1)) {
                read_script(state, &script.text, depth);
            }
        }
        _ => {}
    }
}

/// The word after `-c`, also among other letters (`-lc`).
fn after_flag_c(args: &[Word]) -> Option<&Word> {
    let is_c = |word: &Word| {
        word.is_flag()
            && (word.text == "--command"
                || (!word.text.starts_with("--") && word.text.ends_with('c')))
    };
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
    let words: Vec<&str> = echoed(made)?.iter().map(|word| word.text.as_str()).collect();
    let text = formatted(made).unwrap_or_else(|| words.join(" "));
    Some(text.replace("\\n", "\n"))
}

/// What `printf` says, where its format has more than a place for each word.
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
            // What `%s` stands for is said, and a format without it says itself.
            let has_place = words.first().is_some_and(|word| word.text.contains('%'));
            Some(if has_place { &words[1..] } else { words })
        }
        _ => None,
    }
}

/// What a command says, where that is known, as one word.
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
        // Several words are split again where they are not quoted, which one word can't say.
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
        // Where a program is: it has the same name.
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

/// Words as they could be written: what a shell would replace stays so.
pub(super) fn as_script(words: &[Word]) -> String {
    let one = |word: &Word| {
        let is_raw = word.has_unknown || word.has_tilde || word.has_glob;
        if is_raw {
            return word.text.clone();
        }
        shlex::try_quote(&word.text).map_or_else(|_| word.text.clone(), |text| text.into_owned())
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// `docker exec db psql -c '…'`, `kubectl exec pod -- rm …`.
fn in_container(state: &mut State, at: usize, args: &[Word], depth: u8) {
    let with_value = &[
        "-e",
        "-u",
        "-w",
        "-c",
        "-n",
        "--env",
        "--user",
        "--workdir",
        "--container",
        "--namespace",
        "--index",
        "--detach-keys",
        "--env-file",
        "--context",
        "--kubeconfig",
    ];
    let place = |name: &str| args.iter().take(16).position(|word| word.text == name);
    // `kubectl debug node/a -- rm …`
    let to_its_own = || place("debug").and_then(|_| args.iter().position(|word| word.text == "--"));
    let (rest, mut from) = match (place("exec"), to_its_own()) {
        (Some(exec), _) => {
            let rest = &args[exec + 1..];
            (rest, wrap::flags(rest, with_value) + 1)
        }
        (None, Some(at)) => (&args[at..], 0),
        (None, None) => return,
    };
    from += wrap::flags(rest.get(from..).unwrap_or_default(), with_value);
    let words = rest.get(from..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return;
    }
    if depth >= MAX_DEPTH {
        state.line.is_cut = true;
        return;
    }
    let here = state.at.clone();
    Rc::make_mut(&mut state.at).folder = ELSEWHERE.to_owned();
    wrap::emit(state, lex::Draft { words, outer: Some(at), ..lex::Draft::default() }, depth + 1);
    state.at = here;
}

/// `tmux new -d 'rm …'`, `tmux send-keys 'rm …' Enter`.
fn in_tmux(state: &mut State, args: &[Word], depth: u8) {
    let with_value =
        &["-L", "-S", "-f", "-s", "-n", "-t", "-c", "-x", "-y", "-e", "-F", "-l", "-w", "-h", "-p"];
    let from = wrap::flags(args, &["-L", "-S", "-f"]);
    let Some(sub) = args.get(from) else { return };
    let rest = &args[from + 1..];
    // `tmux COMMAND \; COMMAND`
    let n = rest.iter().position(|word| word.text == ";").unwrap_or(rest.len());
    let (rest, more) = (&rest[..n], rest.get(n + 1..).unwrap_or_default());
    if !more.is_empty() && depth < MAX_DEPTH {
        in_tmux(state, more, depth + 1);
    } else {
        state.line.is_cut |= !more.is_empty();
    }
    match sub.text.as_str() {
        "send-keys" | "send" => {
            let is_key = |word: &&Word| matches!(word.text.as_str(), "Enter" | "C-m" | "KPEnter");
            let n = wrap::flags(rest, &["-t", "-N"]);
            let text = rest.iter().skip(n).filter(|word| !is_key(word));
            let text = text.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            read_script(state, &text, depth);
        }
        "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw" | "run-shell"
        | "run" | "respawn-pane" | "respawnp" | "respawn-window" | "display-popup" | "popup" => {
            let words = &rest[wrap::flags(rest, with_value).min(rest.len())..];
            let text = match words {
                [one] => one.text.clone(),
                many => as_script(many),
            };
            read_script(state, &text, depth);
        }
        _ => {}
    }
}

/// `parallel rm -rf ::: a b`, `find | parallel rm`.
fn in_parallel(state: &mut State, made: &Simple, depth: u8) {
    let args = made.words.get(1..).unwrap_or_default();
    let with_value = &[
        "-j",
        "-n",
        "-N",
        "-a",
        "-I",
        "-d",
        "-S",
        "-C",
        "--jobs",
        "--delay",
        "--timeout",
        "--arg-file",
    ];
    let from = wrap::flags(args, with_value);
    let rest = args.get(from..).unwrap_or_default();
    let n = rest.iter().position(|word| word.text.starts_with(":::")).unwrap_or(rest.len());
    let (command, given) = rest.split_at(n);
    // What comes through a pipe, or behind `:::`.
    let piped = super::args::piped(state, made.from);
    let given = if given.is_empty() { &piped } else { given.get(1..).unwrap_or_default() };
    let text = match command {
        [one] => one.text.clone(),
        many => as_script(many).replace("'{}'", "{}"),
    };
    let n_before = state.line.commands.len();
    match (text.contains("{}"), given) {
        (true, []) => read_script(state, &text.replace("{}", ""), depth),
        // Each of a few; many at once, which is a rougher picture.
        (true, few) if few.len() <= MAX_EACH => {
            for one in few {
                let one = as_script(std::slice::from_ref(one));
                read_script(state, &text.replace("{}", &one), depth);
            }
        }
        (true, many) => {
            if state.pay(text.matches("{}").count().saturating_mul(size(many))).is_ok() {
                read_script(state, &text.replace("{}", &as_script(many)), depth);
            }
        }
        (false, _) => read_script(state, &format!("{text} {}", as_script(given)), depth),
    }
    let from = made.from;
    for at in n_before..state.line.commands.len() {
        let Some(inner) = state.line.commands.get_mut(at) else { break };
        inner.has_hidden_args |= given.is_empty();
        for source in super::args::sources(state, &[], from) {
            if let Some(source) = state.line.commands.get_mut(source) {
                source.inner.push(at);
            }
        }
    }
}

fn size(words: &[Word]) -> usize {
    words.iter().map(|word| word.text.len() + 3).sum()
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
        if depth >= MAX_DEPTH {
            state.line.is_cut = true;
            return;
        }
        if !words.is_empty() {
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

/// Nothing but its input says what to run.
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
    /// The text that a command is given to read, where the line says it.
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
