//! Which git commands sweep files of a working tree away, whoever works on them. Pure.

use super::shell;

/// More paths than this are as good as everything.
const MAX_PATHS: usize = 32;

/// How deep a shell inside a shell is looked into.
const MAX_DEPTH: u8 = 3;

/// A git command that throws away, hides or overwrites what is in the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    /// As people say it: `git stash`.
    pub(super) what: &'static str,
    /// Where it runs, seen from where the shell is.
    pub(super) folder: String,
    /// What it takes; empty: everything.
    pub(super) paths: Vec<String>,
}

impl Sweep {
    /// A path as it is seen from where the shell is.
    pub(super) fn inside(&self, path: &str) -> String {
        joined(&self.folder, path)
    }
}

/// The sweeping commands of a line. A line that can't be read has none.
pub(super) fn sweeps(command: &str) -> Vec<Sweep> {
    // Most commands have nothing to do with git, and are not read.
    if !command.contains("git") {
        return Vec::new();
    }
    let mut out = Vec::new();
    look(command, String::new(), 0, &mut out);
    out
}

fn look(command: &str, mut folder: String, depth: u8, out: &mut Vec<Sweep>) {
    for words in shell::commands(command) {
        let (words, has_hidden_args) = program(&words);
        let Some((name, args)) = words.split_first() else { continue };
        match name.rsplit('/').next().unwrap_or_default() {
            "cd" | "pushd" => {
                let to = args.iter().find(|arg| !arg.starts_with('-'));
                folder = joined(&folder, to.map_or("", String::as_str));
            }
            "git" => out.extend(git(args, &folder, has_hidden_args)),
            "sh" | "bash" | "zsh" | "dash" if depth < MAX_DEPTH => {
                let flag = args.iter().position(|arg| {
                    arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('c')
                });
                if let Some(inner) = flag.and_then(|flag| args.get(flag + 1)) {
                    look(inner, folder.clone(), depth + 1, out);
                }
            }
            "eval" if depth < MAX_DEPTH => look(&args.join(" "), folder.clone(), depth + 1, out),
            _ => {}
        }
    }
}

/// The words from the program that is really run; whether it gets arguments that are not seen here.
fn program(words: &[String]) -> (&[String], bool) {
    let mut rest = words;
    let mut has_hidden_args = false;
    while let Some((word, after)) = rest.split_first() {
        let skipped = match word.as_str() {
            "env" | "command" | "exec" | "nohup" | "time" | "nice" | "then" | "do" | "else"
            | "if" | "while" | "until" | "!" | "{" | "builtin" | "stdbuf" | "setsid" => {
                flags(after, &["-u", "-n", "-S", "-C"])
            }
            "sudo" | "doas" => flags(after, &["-u", "-g", "-h", "-p", "-C", "-D"]),
            "timeout" => flags(after, &["-k", "-s", "--signal", "--kill-after"]) + 1,
            "xargs" => {
                has_hidden_args = true;
                flags(after, &["-n", "-P", "-I", "-L", "-d", "-a", "-s"])
            }
            word if is_assignment(word) => 0,
            _ => break,
        };
        rest = after.get(skipped..).unwrap_or_default();
    }
    (rest, has_hidden_args)
}

/// How many words are flags, some of which have a value as the next word.
fn flags(words: &[String], with_value: &[&str]) -> usize {
    let mut n = 0;
    while let Some(word) = words.get(n).filter(|word| word.starts_with('-') && word.len() > 1) {
        n += if with_value.contains(&word.as_str()) { 2 } else { 1 };
    }
    n
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn git(args: &[String], folder: &str, has_hidden_args: bool) -> Option<Sweep> {
    let mut folder = folder.to_owned();
    let mut may_clean = false;
    let mut rest = args;
    loop {
        let (word, after) = rest.split_first()?;
        let value = || after.first().map_or("", String::as_str);
        let skipped = match word.as_str() {
            "-C" | "--work-tree" => {
                folder = joined(&folder, value());
                1
            }
            "-c" => {
                may_clean |= value().eq_ignore_ascii_case("clean.requireforce=false");
                1
            }
            "--git-dir" | "--namespace" | "--exec-path" | "--config-env" | "--super-prefix" => 1,
            word if word.starts_with("--work-tree=") => {
                folder = joined(&folder, &word["--work-tree=".len()..]);
                0
            }
            word if word.starts_with('-') => 0,
            _ => break,
        };
        rest = after.get(skipped..)?;
    }
    let (name, args) = rest.split_first()?;
    let mut args = args.to_vec();
    if has_hidden_args {
        args.push(".".to_owned());
    }
    let args = Args::read(&args, name);
    let (what, paths) = match name.as_str() {
        "stash" => ("git stash", stash(&args)?),
        "checkout" => ("git checkout", checkout(&args)?),
        "restore" => ("git restore", restore(&args)?),
        "reset" => {
            args.has(&["--hard", "--merge", "--keep"]).then_some(("git reset", Vec::new()))?
        }
        "clean" => ("git clean", clean(&args, may_clean)?),
        "switch" => args
            .has(&["-f", "--force", "--discard-changes"])
            .then_some(("git switch", Vec::new()))?,
        _ => return None,
    };
    let is_everything =
        has_hidden_args || paths.len() > MAX_PATHS || paths.iter().any(|p| is_magic(p));
    Some(Sweep { what, folder, paths: if is_everything { Vec::new() } else { paths } })
}

/// A pathspec that is more than a path.
fn is_magic(path: &str) -> bool {
    path.starts_with(':') || path.contains(['*', '?', '['])
}

/// The arguments of a git command.
struct Args {
    flags: Vec<String>,
    /// What is neither a flag nor the value of one, before `--`.
    words: Vec<String>,
    /// What comes after `--`, if that is there.
    paths: Option<Vec<String>>,
}

impl Args {
    fn read(args: &[String], command: &str) -> Self {
        let with_value: &[&str] = match command {
            "stash" => &["-m", "--message", "--pathspec-from-file"],
            "checkout" => &["-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"],
            "restore" => &["-s", "--source", "--conflict", "--pathspec-from-file"],
            "clean" => &["-e", "--exclude"],
            _ => &[],
        };
        let (mut flags, mut words) = (Vec::new(), Vec::new());
        let mut paths: Option<Vec<String>> = None;
        let mut skips = false;
        for arg in args {
            if let Some(paths) = &mut paths {
                paths.push(arg.clone());
            } else if std::mem::take(&mut skips) {
            } else if arg == "--" {
                paths = Some(Vec::new());
            } else if arg.starts_with('-') && arg.len() > 1 {
                skips = with_value.contains(&arg.as_str());
                flags.push(arg.clone());
            } else {
                words.push(arg.clone());
            }
        }
        Self { flags, words, paths }
    }

    /// Whether one of these flags is there; short ones also among others, as in `-xdf`.
    fn has(&self, names: &[&str]) -> bool {
        let is = |flag: &str, name: &str| match name.strip_prefix("--") {
            Some(_) => flag == name || flag.strip_prefix(name).is_some_and(|r| r.starts_with('=')),
            None => !flag.starts_with("--") && flag.contains(&name[1..]),
        };
        self.flags.iter().any(|flag| names.iter().any(|name| is(flag, name)))
    }

    /// What may be a path: after `--` surely, before it perhaps (a branch is a path where nobody holds anything).
    fn all_paths(&self) -> Vec<String> {
        self.paths.clone().unwrap_or_else(|| self.words.clone())
    }

    fn has_paths_elsewhere(&self) -> bool {
        self.has(&["--pathspec-from-file"])
    }
}

fn stash(args: &Args) -> Option<Vec<String>> {
    let paths = |from: usize| {
        let mut out: Vec<String> = args.words.iter().skip(from).cloned().collect();
        out.extend(args.paths.clone().unwrap_or_default());
        if args.has_paths_elsewhere() { Vec::new() } else { out }
    };
    match args.words.first().map(String::as_str) {
        None => Some(paths(0)),
        Some("push") => Some(paths(1)),
        Some("save" | "pop" | "apply" | "branch") => Some(Vec::new()),
        Some(_) => None,
    }
}

fn checkout(args: &Args) -> Option<Vec<String>> {
    if args.has(&["-f", "--force"]) || args.has_paths_elsewhere() {
        return Some(Vec::new());
    }
    let paths = args.all_paths();
    let is_new_branch = args.has(&["-b", "-B", "--orphan", "--detach", "-t", "--track"]);
    if is_new_branch && args.paths.is_none() {
        return None;
    }
    if paths.is_empty() && args.has(&["-p", "--patch"]) {
        return Some(paths);
    }
    (!paths.is_empty()).then_some(paths)
}

fn restore(args: &Args) -> Option<Vec<String>> {
    if args.has(&["-S", "--staged"]) && !args.has(&["-W", "--worktree"]) {
        return None;
    }
    let mut paths = args.words.clone();
    paths.extend(args.paths.clone().unwrap_or_default());
    let is_everything = args.has(&["-p", "--patch"]) || args.has_paths_elsewhere();
    (is_everything || !paths.is_empty()).then_some(paths)
}

fn clean(args: &Args, is_unforced: bool) -> Option<Vec<String>> {
    if args.has(&["-n", "--dry-run"]) || !(is_unforced || args.has(&["-f", "--force"])) {
        return None;
    }
    let mut paths = args.words.clone();
    paths.extend(args.paths.clone().unwrap_or_default());
    Some(paths)
}

fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') || path.starts_with('~') {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}
