//! Which commands sweep files away, no matter who works on them. Pure: paths are looked up later.
//!
//! If the folder of a command is unknown (`cd $D`), only absolute paths count: such folders are mostly elsewhere
//! (`D=$(mktemp -d)`), and a refusal would be wrong. Commands where git itself refuses to lose uncommitted work
//! (`stash pop`, `reset --keep`, `switch`, `pull`) don't count either. An unknown pathspec (`$x`) covers the whole tree.

use super::flags::{CommandArgs, FlagSpec};
use super::{Extent, PathScope, called, globbed, named, plain};
use crate::shell::{self, Git, Line, Simple, Word, is_known, joined};

/// More paths than this count as the whole tree for git. For other commands the rest is ignored.
const MAX_PATHS: usize = 48;

const RM: FlagSpec = FlagSpec {
    values: "",
    glued: "",
    longs: &["recursive", "force", "interactive", "dir", "verbose", "one-file-system"],
};

const MV: FlagSpec = FlagSpec {
    values: "tS",
    glued: "",
    longs: &["target-directory=", "suffix=", "no-clobber", "force", "interactive", "verbose"],
};

/// A command that throws away, hides or overwrites files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// As people call it: `git stash`.
    pub(crate) what: &'static str,
    /// Where it runs, as seen from the shell's folder.
    pub(crate) folder: String,
    pub(crate) scope: SweepScope,
    /// A working tree around the command that the line itself creates first.
    pub(crate) made: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SweepScope {
    /// The whole working tree.
    Tree,
    Paths(Vec<PathScope>),
}

impl Sweep {
    /// A path of the command, as seen from the shell's folder.
    pub(crate) fn inside(&self, path: &str) -> String {
        joined(&self.folder, path)
    }
}

/// The sweeping commands of a line. An unreadable line has none.
pub(crate) fn sweeps(command: &str) -> Vec<Sweep> {
    if may_sweep(command) { of_line(&shell::read(command)) } else { Vec::new() }
}

/// Most lines don't sweep, and are not parsed.
fn may_sweep(command: &str) -> bool {
    ["git", "rm", "mv"].iter().any(|name| command.contains(name))
}

fn of_line(line: &Line) -> Vec<Sweep> {
    let called = called(line);
    let runs = |simple: &&Simple| simple.function.as_deref().is_none_or(|f| called.contains(&f));
    let mut made: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for simple in line.commands.iter().filter(runs) {
        let found = match simple.name() {
            "git" => git_sweep(line, simple),
            "rm" => plain_rm(simple),
            "mv" => plain_mv(simple),
            _ => None,
        };
        if let Some((what, scope)) = found {
            out.extend(resolved(simple, what, scope, &made));
        }
        made.extend(makes_tree(simple).filter(|path| is_known(path)));
    }
    out
}

/// The sweep with its paths joined to its folder. `None` if no known path is left.
fn resolved(
    simple: &Simple,
    what: &'static str,
    scope: SweepScope,
    made: &[String],
) -> Option<Sweep> {
    let folder = simple.git.as_ref().map_or(&simple.folder, |git| &git.folder).clone();
    let scope = match scope {
        SweepScope::Paths(paths) if paths.len() > MAX_PATHS && simple.git.is_some() => {
            SweepScope::Tree
        }
        SweepScope::Paths(mut paths) => {
            paths.truncate(MAX_PATHS);
            for one in &mut paths {
                one.path = joined(&folder, &one.path);
            }
            paths.retain(|one| is_known(&one.path));
            SweepScope::Paths(paths)
        }
        SweepScope::Tree => SweepScope::Tree,
    };
    let is_something = match &scope {
        SweepScope::Tree => is_known(&folder),
        SweepScope::Paths(paths) => !paths.is_empty(),
    };
    let here = plain(&folder);
    let is_around = |made: &&String| {
        here.strip_prefix(made.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let made = made.iter().find(is_around).cloned();
    is_something.then_some(Sweep { what, folder, scope, made })
}

/// Only known names count: `rm "$dir"` mostly removes what the line created.
fn plain_rm(simple: &Simple) -> Option<(&'static str, SweepScope)> {
    let args = CommandArgs::read(simple.words.get(1..)?, RM);
    let is_deep = args.has(&["r", "R", "recursive"]);
    let paths = args.all().into_iter().filter_map(|word| named(word, is_deep)).collect();
    (!args.is_help).then_some(("rm", SweepScope::Paths(paths)))
}

fn plain_mv(simple: &Simple) -> Option<(&'static str, SweepScope)> {
    let args = CommandArgs::read(simple.words.get(1..)?, MV);
    let paths = moved(&args, !args.has(&["n", "no-clobber"]));
    (!args.is_help).then_some(("mv", SweepScope::Paths(paths)))
}

/// What is moved away, and what it overwrites at its destination.
fn moved(args: &CommandArgs<'_>, overwrites: bool) -> Vec<PathScope> {
    let mut from = args.all();
    let to = match args.value(&["t", "target-directory"]) {
        Some(folder) => Some(folder.clone()),
        None => from.pop().cloned(),
    };
    let mut out: Vec<PathScope> = from.iter().filter_map(|word| named(word, true)).collect();
    let to = to.filter(|to| overwrites && !to.has_glob && !to.has_braces);
    if let Some(to) = to.and_then(|to| to.path()) {
        let file = |path: String| PathScope { path, extent: Extent::File };
        for taken in out.clone().iter().filter(|taken| taken.extent == Extent::Below) {
            // In a folder it keeps its name.
            let name = taken.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if !matches!(name, "" | "." | "..") {
                out.push(file(format!("{}/{name}", to.trim_end_matches('/'))));
            }
        }
        out.push(file(to));
    }
    out
}

/// Longer pipes are not followed.
const MAX_PIPE: usize = 16;

/// The flags of a subcommand that matter here, and those that an abbreviated flag could be confused with.
fn spec(sub: &str) -> FlagSpec {
    let (values, longs): (_, &[&str]) = match sub {
        "stash" => ("m", &["message=", "pathspec-from-file=", "patch", "staged", "keep-index"]),
        "checkout" => (
            "bB",
            &[
                "force",
                "orphan=",
                "conflict=",
                "pathspec-from-file=",
                "pathspec-file-nul",
                "patch",
                "detach",
                "track",
                "theirs",
                "ours",
                "overlay",
                "overwrite-ignore",
                "progress",
            ],
        ),
        "restore" => (
            "s",
            &[
                "source=",
                "staged",
                "worktree",
                "patch",
                "conflict=",
                "pathspec-from-file=",
                "pathspec-file-nul",
                "progress",
            ],
        ),
        "reset" => ("", &["hard", "merge", "mixed", "soft", "keep", "pathspec-from-file="]),
        "clean" => ("e", &["exclude=", "dry-run", "force", "quiet", "interactive"]),
        "switch" => (
            "cC",
            &[
                "create=",
                "force-create=",
                "force",
                "discard-changes",
                "detach",
                "orphan=",
                "conflict=",
                "track",
                "merge",
                "progress",
            ],
        ),
        "rm" => ("", &["cached", "dry-run", "force", "pathspec-from-file=", "pathspec-file-nul"]),
        "mv" => ("", &["dry-run", "force", "verbose"]),
        "checkout-index" => ("", &["force", "all", "prefix=", "temp", "stdin", "stage="]),
        "read-tree" => ("", &["reset", "prefix=", "dry-run", "recurse-submodules"]),
        "merge" => ("msXF", MERGING),
        "rebase" => ("sXxC", MERGING),
        "pull" | "cherry-pick" | "revert" | "am" => ("msX", MERGING),
        "worktree" => ("bB", &["force", "reason=", "detach", "lock", "orphan"]),
        "clone" => (
            "bocju",
            &[
                "branch=",
                "origin=",
                "config=",
                "jobs=",
                "upload-pack=",
                "depth=",
                "reference=",
                "template=",
                "separate-git-dir=",
                "shallow-since=",
                "server-option=",
            ],
        ),
        "init" => ("b", &["initial-branch=", "template=", "separate-git-dir=", "object-format="]),
        _ => ("", &[]),
    };
    FlagSpec { values, glued: "", longs }
}

/// The flags of commands that merge.
const MERGING: &[&str] = &[
    "abort",
    "allow-empty",
    "allow-unrelated-histories",
    "autostash",
    "autosquash",
    "no-autostash",
    "continue",
    "quit",
    "skip",
    "onto=",
    "exec=",
    "strategy=",
    "strategy-option=",
    "message=",
];

/// What a git command sweeps away.
fn git_sweep(line: &Line, simple: &Simple) -> Option<(&'static str, SweepScope)> {
    let call = simple.git.as_ref()?;
    let mut args = CommandArgs::read(&call.args, spec(&call.sub));
    args.is_open = simple.has_hidden_args;
    if args.is_help {
        return None;
    }
    Some(match call.sub.as_str() {
        "stash" => ("git stash", stash(&args)?),
        "checkout" => ("git checkout", checkout(line, simple, &args)?),
        "restore" => ("git restore", restore(&args)?),
        "reset" => ("git reset", args.has(&["hard", "merge"]).then_some(SweepScope::Tree)?),
        "clean" => ("git clean", clean(&args, call)?),
        "switch" => {
            let is_forced = args.has(&["f", "force", "discard-changes"]);
            ("git switch", is_forced.then_some(SweepScope::Tree)?)
        }
        "rm" => ("git rm", rm(&args)?),
        "mv" => {
            let is_dry = args.has(&["n", "dry-run"]);
            (
                "git mv",
                (!is_dry).then(|| SweepScope::Paths(moved(&args, args.has(&["f", "force"]))))?,
            )
        }
        "checkout-index" => ("git checkout-index", checkout_index(&args)?),
        "read-tree" => {
            let is_swept = args.has(&["reset"]) && args.has(&["u"]) && !args.has(&["n", "dry-run"]);
            ("git read-tree", is_swept.then_some(SweepScope::Tree)?)
        }
        "merge" | "pull" | "rebase" | "cherry-pick" | "revert" | "am" => merging(&args, call)?,
        "worktree" => ("git worktree remove", worktree(&args)?),
        _ => return None,
    })
}

/// The folder in which a command creates a working tree.
fn makes_tree(simple: &Simple) -> Option<String> {
    let call = simple.git.as_ref()?;
    let args = CommandArgs::read(&call.args, spec(&call.sub));
    let words = args.all();
    let path = match (call.sub.as_str(), words.as_slice()) {
        ("worktree", [add, path, ..]) if add.text == "add" => path.path()?,
        ("clone", [_, path]) => path.path()?,
        ("clone", [url]) => {
            let url = url.text.trim_end_matches('/');
            let name = url.rsplit(['/', ':']).next()?;
            name.strip_suffix(".git").unwrap_or(name).to_owned()
        }
        ("init", [path]) => path.path()?,
        ("init", []) => String::new(),
        _ => return None,
    };
    // The shell's own folder existed before.
    Some(plain(&joined(&call.folder, &path))).filter(|path| !path.is_empty())
}

fn stash(args: &CommandArgs<'_>) -> Option<SweepScope> {
    let mut words = args.words.clone();
    match words.first().map(|word| word.text.as_str()) {
        None => {}
        Some("push") => {
            words.remove(0);
        }
        Some("save") => return Some(SweepScope::Tree),
        Some(_) => return None,
    }
    words.extend(args.paths.iter().flatten());
    let is_whole = words.is_empty() || args.is_open || args.has(&["pathspec-from-file"]);
    Some(if is_whole { SweepScope::Tree } else { specs(&words) })
}

fn checkout(line: &Line, simple: &Simple, args: &CommandArgs<'_>) -> Option<SweepScope> {
    if args.has(&["f", "force", "pathspec-from-file"]) {
        return Some(SweepScope::Tree);
    }
    if let Some(paths) = &args.paths {
        let is_whole = args.is_open || (paths.is_empty() && args.has(&["p", "patch"]));
        return match is_whole {
            true => Some(SweepScope::Tree),
            false => (!paths.is_empty()).then(|| specs(paths)),
        };
    }
    if args.has(&["b", "B", "orphan", "d", "detach", "t", "track"]) {
        return None;
    }
    match (args.words.as_slice(), args.is_open) {
        ([], false) => args.has(&["p", "patch"]).then_some(SweepScope::Tree),
        // A single unknown word is a branch, unless a command that lists files produces it.
        ([], true) => {
            simple.from.is_none_or(|at| lists_files(line, at)).then_some(SweepScope::Tree)
        }
        ([word], false) if word.path().is_none() => {
            word.runs.iter().any(|at| lists_files(line, *at)).then_some(SweepScope::Tree)
        }
        ([first, others @ ..], is_open) => {
            let words = if first.path().is_none() { others } else { &args.words[..] };
            Some(if is_open { SweepScope::Tree } else { specs(words) })
        }
    }
}

fn restore(args: &CommandArgs<'_>) -> Option<SweepScope> {
    if args.has(&["S", "staged"]) && !args.has(&["W", "worktree"]) {
        return None;
    }
    let paths = args.all();
    let is_whole = args.is_open || args.has(&["pathspec-from-file"]);
    let is_whole = is_whole || (paths.is_empty() && args.has(&["p", "patch"]));
    match is_whole {
        true => Some(SweepScope::Tree),
        false => (!paths.is_empty()).then(|| specs(&paths)),
    }
}

fn clean(args: &CommandArgs<'_>, call: &Git) -> Option<SweepScope> {
    let is_forced = args.has(&["f", "force"]) || is_set(call, "clean.requireforce", false);
    // Ignored files are never leased.
    if !is_forced || args.has(&["n", "dry-run", "X", "i", "interactive"]) {
        return None;
    }
    let paths = args.all();
    Some(match paths.is_empty() {
        true => SweepScope::Paths(vec![PathScope { path: ".".to_owned(), extent: Extent::Below }]),
        false => specs(&paths),
    })
}

/// Without force git keeps uncommitted files, so only named files count.
fn rm(args: &CommandArgs<'_>) -> Option<SweepScope> {
    if args.has(&["cached", "n", "dry-run"]) {
        return None;
    }
    let is_forced = args.has(&["f", "force"]);
    if is_forced && (args.is_open || args.has(&["pathspec-from-file"])) {
        return Some(SweepScope::Tree);
    }
    let mut words = args.all();
    words.retain(|word| is_forced || word.path().is_some());
    Some(specs(&words))
}

fn checkout_index(args: &CommandArgs<'_>) -> Option<SweepScope> {
    if !args.has(&["f", "force"]) || args.has(&["prefix", "temp"]) {
        return None;
    }
    let is_whole = args.is_open || args.has(&["a", "all", "stdin"]);
    let paths = args.all();
    Some(if is_whole { SweepScope::Tree } else { specs(&paths) })
}

fn worktree(args: &CommandArgs<'_>) -> Option<SweepScope> {
    let words = args.all();
    let [remove, path] = words.as_slice() else { return None };
    // Without force git keeps a tree with changes.
    let is_swept = remove.text == "remove" && args.has(&["f", "force"]);
    let path = path.path().filter(|_| is_swept)?;
    Some(SweepScope::Paths(vec![PathScope { path, extent: Extent::Below }]))
}

/// Aborting halfway resets the tree. `--autostash` removes all changes for a while.
fn merging(args: &CommandArgs<'_>, call: &Git) -> Option<(&'static str, SweepScope)> {
    let (what, stashing, setting) = match call.sub.as_str() {
        "merge" => ("git merge --abort", "git merge --autostash", "merge.autostash"),
        "pull" => ("", "git pull --autostash", "rebase.autostash"),
        "rebase" if args.has(&["skip"]) => ("git rebase --skip", "", ""),
        "rebase" => ("git rebase --abort", "git rebase --autostash", "rebase.autostash"),
        "cherry-pick" => ("git cherry-pick --abort", "", ""),
        "revert" => ("git revert --abort", "", ""),
        _ => ("git am --abort", "", ""),
    };
    if !what.is_empty() && (args.has(&["abort"]) || what.ends_with("--skip")) {
        return Some((what, SweepScope::Tree));
    }
    let is_stashing = match args.last(&["autostash", "no-autostash"]) {
        Some(last) => last == "autostash",
        None => is_set(call, setting, true) && !args.has(&["continue", "quit"]),
    };
    (is_stashing && !stashing.is_empty()).then_some((stashing, SweepScope::Tree))
}

/// Whether `-c NAME=VALUE` sets it to that.
fn is_set(call: &Git, name: &str, wanted: bool) -> bool {
    let means = |value: &str| match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" | "" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    };
    let last = call.config.iter().rev().find(|(key, _)| key == name);
    last.and_then(|(_, value)| means(value)) == Some(wanted)
}

/// What the pathspecs cover. An unknown one covers the whole tree.
fn specs(words: &[&Word]) -> SweepScope {
    let mut out = Vec::new();
    for word in words {
        let Some(path) = word.path().filter(|path| !path.starts_with(':')) else {
            return SweepScope::Tree;
        };
        let marks: &[char] = if word.has_braces { &['*', '?', '[', '{'] } else { &['*', '?', '['] };
        let is_glob = path.contains(marks);
        if is_glob {
            let Some(taken) = globbed(&path, marks, true, true) else { return SweepScope::Tree };
            out.push(taken);
        }
        // A glob with brackets may also be a literal name.
        if !is_glob || path.contains('[') {
            out.push(PathScope { path, extent: Extent::Below });
        }
    }
    SweepScope::Paths(out)
}

/// Whether that pipe outputs file names.
fn lists_files(line: &Line, last: usize) -> bool {
    let mut next = Some(last);
    for _ in 0..MAX_PIPE {
        let Some(made) = next.and_then(|at| line.commands.get(at)) else { return false };
        let lists = match &made.git {
            Some(git) => matches!(
                git.sub.as_str(),
                "diff" | "ls-files" | "status" | "diff-files" | "diff-index" | "grep"
            ),
            None => matches!(made.name(), "find" | "fd" | "ls" | "rg"),
        };
        if lists {
            return true;
        }
        next = made.from.filter(|before| Some(*before) < next);
    }
    false
}
