//! Which commands sweep files away, whoever works on them. Pure: what a path means is looked up later.
//!
//! Where nobody can say in which folder a command runs (`cd $D`), it sweeps only what it names by a whole path: most such
//! folders are somewhere else (`D=$(mktemp -d)`), and a refusal there would be wrong.

use super::sweep_args::{Args, Spec};
use super::sweep_git;
use crate::shell::{self, Line, Simple, Word, is_known, joined};

/// More paths than this are as good as everything; of a command that is not git's the others are not looked at.
const MAX_PATHS: usize = 48;

const RM: Spec = Spec {
    values: "",
    glued: "",
    longs: &["recursive", "force", "interactive", "dir", "verbose", "one-file-system"],
};

const MV: Spec = Spec {
    values: "tS",
    glued: "",
    longs: &["target-directory=", "suffix=", "no-clobber", "force", "interactive", "verbose"],
};

/// A command that throws away, hides or overwrites files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    /// As people say it: `git stash`.
    pub(super) what: &'static str,
    /// Where it runs, seen from where the shell is.
    pub(super) folder: String,
    pub(super) takes: Takes,
    /// The line itself makes this folder a working tree of its own before the command runs in it.
    pub(super) made: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Everything in the working tree.
    Tree,
    These(Vec<Taken>),
}

/// What a word of a command takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Seen from where the shell is.
    pub(super) path: String,
    pub(super) reach: Reach,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// That file.
    File,
    /// That file, or all that is in that folder.
    Below,
    /// What matches in that folder.
    Glob { glob: String, as_git: bool, is_deep: bool },
}

impl Sweep {
    /// A path as it is seen from where the shell is.
    pub(super) fn inside(&self, path: &str) -> String {
        joined(&self.folder, path)
    }
}

/// The sweeping commands of a line. A line that can't be read has none.
pub(super) fn sweeps(command: &str) -> Vec<Sweep> {
    if may_sweep(command) { of_line(&shell::read(command)) } else { Vec::new() }
}

/// Most commands are others, and are not read.
pub(super) fn may_sweep(command: &str) -> bool {
    ["git", "rm", "mv"].iter().any(|name| command.contains(name))
}

/// The same of a line that was read.
pub(super) fn of_line(line: &Line) -> Vec<Sweep> {
    let called = called(line);
    let runs = |simple: &&Simple| simple.function.as_deref().is_none_or(|f| called.contains(&f));
    let mut made: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for simple in line.commands.iter().filter(runs) {
        let found = match simple.name() {
            "git" => sweep_git::sweep(line, simple),
            "rm" => rm(simple),
            "mv" => mv(simple),
            _ => None,
        };
        if let Some((what, takes)) = found {
            out.extend(sweep(simple, what, takes, &made));
        }
        made.extend(sweep_git::makes_tree(simple).filter(|path| is_known(path)));
    }
    out
}

/// The functions that run; one that is only defined does nothing.
pub(super) fn called(line: &Line) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    loop {
        let n = out.len();
        for simple in &line.commands {
            let runs = simple.function.as_deref().is_none_or(|name| out.contains(&name));
            let name = simple.name();
            let is_function = line.functions.iter().any(|function| function == name);
            if runs && is_function && !out.contains(&name) {
                out.push(name);
            }
        }
        if out.len() == n {
            return out;
        }
    }
}

/// `None` where nothing is left that is known.
fn sweep(simple: &Simple, what: &'static str, takes: Takes, made: &[String]) -> Option<Sweep> {
    let folder = simple.git.as_ref().map_or(&simple.folder, |git| &git.folder).clone();
    let takes = match takes {
        Takes::These(paths) if paths.len() > MAX_PATHS && simple.git.is_some() => Takes::Tree,
        Takes::These(mut paths) => {
            paths.truncate(MAX_PATHS);
            for taken in &mut paths {
                taken.path = joined(&folder, &taken.path);
            }
            paths.retain(|taken| is_known(&taken.path));
            Takes::These(paths)
        }
        Takes::Tree => Takes::Tree,
    };
    let is_something = match &takes {
        Takes::Tree => is_known(&folder),
        Takes::These(paths) => !paths.is_empty(),
    };
    let here = plain(&folder);
    let is_around = |made: &&String| {
        here.strip_prefix(made.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let made = made.iter().find(is_around).cloned();
    is_something.then_some(Sweep { what, folder, takes, made })
}

/// Only what is named: whoever removes `"$dir"` mostly removes what they made.
fn rm(simple: &Simple) -> Option<(&'static str, Takes)> {
    let args = Args::read(simple.words.get(1..)?, RM);
    let is_deep = args.has(&["r", "R", "recursive"]);
    let paths = args.all().into_iter().filter_map(|word| named(word, is_deep)).collect();
    (!args.is_help).then_some(("rm", Takes::These(paths)))
}

fn mv(simple: &Simple) -> Option<(&'static str, Takes)> {
    let args = Args::read(simple.words.get(1..)?, MV);
    let paths = moved(&args, !args.has(&["n", "no-clobber"]));
    (!args.is_help).then_some(("mv", Takes::These(paths)))
}

/// What is moved away, and what is overwritten where it comes to.
pub(super) fn moved(args: &Args<'_>, overwrites: bool) -> Vec<Taken> {
    let mut from = args.all();
    let to = match args.value(&["t", "target-directory"]) {
        Some(folder) => Some(folder.clone()),
        None => from.pop().cloned(),
    };
    let mut out: Vec<Taken> = from.iter().filter_map(|word| named(word, true)).collect();
    let to = to.filter(|to| overwrites && !to.has_glob && !to.has_braces);
    if let Some(to) = to.and_then(|to| to.path()) {
        let file = |path: String| Taken { path, reach: Reach::File };
        for taken in out.clone().iter().filter(|taken| taken.reach == Reach::Below) {
            // Into a folder it keeps its name.
            let name = taken.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if !matches!(name, "" | "." | "..") {
                out.push(file(format!("{}/{name}", to.trim_end_matches('/'))));
            }
        }
        out.push(file(to));
    }
    out
}

/// What a word names in the shell; nothing where it is not known.
pub(super) fn named(word: &Word, is_deep: bool) -> Option<Taken> {
    let path = word.path()?;
    if !word.has_glob && !word.has_braces {
        return Some(Taken { path, reach: if is_deep { Reach::Below } else { Reach::File } });
    }
    let marks: &[char] = if word.has_braces { &['*', '?', '[', '{'] } else { &['*', '?', '['] };
    globbed(&path, marks, false, is_deep)
}

/// A path with marks in it. `None` where that could lead anywhere.
pub(super) fn globbed(path: &str, marks: &[char], as_git: bool, is_deep: bool) -> Option<Taken> {
    let mark = path.find(marks)?;
    let (folder, glob) = path.split_at(path[..mark].rfind('/').map_or(0, |at| at + 1));
    let path = if folder.is_empty() { "." } else { folder };
    // `..` is a way out, or a row of numbers in braces.
    let reach = Reach::Glob { glob: glob.to_owned(), as_git, is_deep };
    (!glob.contains("..")).then(|| Taken { path: path.to_owned(), reach })
}

/// A path by its words, without `.` and, where that is possible, `..`.
pub(super) fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}
