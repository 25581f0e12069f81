//! Which git commands sweep files of a working tree away, whoever works on them. Pure.

use crate::shell::{self, Git, Word, joined};

/// More paths than this are as good as everything.
const MAX_PATHS: usize = 32;

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
    let line = shell::read(command);
    let calls = line.commands.iter().filter_map(|made| Some((made.git.as_ref()?, made)));
    calls.filter_map(|(call, made)| git(call, made.has_hidden_args)).collect()
}

fn git(call: &Git, has_hidden_args: bool) -> Option<Sweep> {
    let is_unforced = ("clean.requireforce", "false");
    let may_clean = call
        .config
        .iter()
        .any(|(name, value)| name == is_unforced.0 && value.eq_ignore_ascii_case(is_unforced.1));
    let name = call.sub.as_str();
    let mut args: Vec<String> = call.args.iter().map(|word: &Word| word.text.clone()).collect();
    if has_hidden_args {
        args.push(".".to_owned());
    }
    let args = Args::read(&args, name);
    let (what, paths) = match name {
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
    let folder = call.folder.clone();
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
        // `pop` and `apply` are left alone: git itself refuses to overwrite what is changed.
        Some("save" | "branch") => Some(Vec::new()),
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
