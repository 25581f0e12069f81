//! Commands inside commands: `sh -c`, `eval`, `find -exec`.

use std::rc::Rc;

use super::piped::said;
use super::quote::as_script;
use super::{MAX_DEPTH, Simple, State, Word, lex, wrap};

pub(super) const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Programs that run their input if they get no arguments.
pub(super) const INTERPRETERS: &[&str] = &["python", "python3", "perl", "ruby", "node", "php"];

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

/// At most this many arguments are read one by one.
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

/// Reads the program that a command was given in its arguments.
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

/// Whether a program may have another one among its arguments. Only then they are read.
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

/// Reads a program that runs on another machine or in a container.
fn read_elsewhere(state: &mut State, text: &str, depth: u8) {
    let at = state.at.clone();
    Rc::make_mut(&mut state.at).folder = ELSEWHERE.to_owned();
    read_script(state, text, depth);
    state.at = at;
}

/// `git submodule foreach 'git reset --hard'`: in unknown folders. `git bisect run`, `git rebase --exec`.
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

/// Reads the output of `echo` and the like as a program.
fn read_said(state: &mut State, runs: &[usize], depth: u8) {
    for at in runs {
        if let Some(text) = state.line.commands.get(*at).and_then(said) {
            read_script(state, &text, depth);
        }
    }
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
        // A few are read one by one. Many are read together, which is less exact.
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

pub(super) fn executes(state: &mut State, at: usize, runs: &[usize]) {
    if let Some(made) = state.line.commands.get_mut(at) {
        made.executes.extend(runs);
    }
}
