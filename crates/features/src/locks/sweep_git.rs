//! Which commands of git sweep, and what. Where git itself refuses to lose what is not committed (`stash pop`, `reset --keep`,
//! `switch`, `pull`), nothing is said.

use super::sweep::{Reach, Taken, Takes, globbed, moved, plain};
use super::sweep_args::{Args, Spec};
use crate::shell::{Git, Line, Simple, Word, joined};

/// A pipe with more commands is not followed.
const MAX_PIPE: usize = 16;

/// The flags of a subcommand, as far as they matter here, and those from which a shortened one must be told apart.
fn spec(sub: &str) -> Spec {
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
    Spec { values, glued: "", longs }
}

/// What merges, and what it can be told halfway.
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

/// What a call of git sweeps away.
pub(super) fn sweep(line: &Line, simple: &Simple) -> Option<(&'static str, Takes)> {
    let call = simple.git.as_ref()?;
    let mut args = Args::read(&call.args, spec(&call.sub));
    args.is_open = simple.has_hidden_args;
    if args.is_help {
        return None;
    }
    Some(match call.sub.as_str() {
        "stash" => ("git stash", stash(&args)?),
        "checkout" => ("git checkout", checkout(line, simple, &args)?),
        "restore" => ("git restore", restore(&args)?),
        "reset" => ("git reset", args.has(&["hard", "merge"]).then_some(Takes::Tree)?),
        "clean" => ("git clean", clean(&args, call)?),
        "switch" => {
            let is_forced = args.has(&["f", "force", "discard-changes"]);
            ("git switch", is_forced.then_some(Takes::Tree)?)
        }
        "rm" => ("git rm", rm(&args)?),
        "mv" => {
            let is_dry = args.has(&["n", "dry-run"]);
            ("git mv", (!is_dry).then(|| Takes::These(moved(&args, args.has(&["f", "force"]))))?)
        }
        "checkout-index" => ("git checkout-index", checkout_index(&args)?),
        "read-tree" => {
            let is_swept = args.has(&["reset"]) && args.has(&["u"]) && !args.has(&["n", "dry-run"]);
            ("git read-tree", is_swept.then_some(Takes::Tree)?)
        }
        "merge" | "pull" | "rebase" | "cherry-pick" | "revert" | "am" => merging(&args, call)?,
        "worktree" => ("git worktree remove", worktree(&args)?),
        _ => return None,
    })
}

/// The folder that a command makes a working tree of, by its words.
pub(super) fn makes_tree(simple: &Simple) -> Option<String> {
    let call = simple.git.as_ref()?;
    let args = Args::read(&call.args, spec(&call.sub));
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
    // What is made where the shell begins was there before.
    Some(plain(&joined(&call.folder, &path))).filter(|path| !path.is_empty())
}

fn stash(args: &Args<'_>) -> Option<Takes> {
    let mut words = args.words.clone();
    match words.first().map(|word| word.text.as_str()) {
        None => {}
        Some("push") => {
            words.remove(0);
        }
        Some("save") => return Some(Takes::Tree),
        Some(_) => return None,
    }
    words.extend(args.paths.iter().flatten());
    let is_whole = words.is_empty() || args.is_open || args.has(&["pathspec-from-file"]);
    Some(if is_whole { Takes::Tree } else { specs(&words) })
}

fn checkout(line: &Line, simple: &Simple, args: &Args<'_>) -> Option<Takes> {
    if args.has(&["f", "force", "pathspec-from-file"]) {
        return Some(Takes::Tree);
    }
    if let Some(paths) = &args.paths {
        let is_whole = args.is_open || (paths.is_empty() && args.has(&["p", "patch"]));
        return match is_whole {
            true => Some(Takes::Tree),
            false => (!paths.is_empty()).then(|| specs(paths)),
        };
    }
    if args.has(&["b", "B", "orphan", "d", "detach", "t", "track"]) {
        return None;
    }
    match (args.words.as_slice(), args.is_open) {
        ([], false) => args.has(&["p", "patch"]).then_some(Takes::Tree),
        // One word that nobody knows is a branch, unless it comes from what lists files.
        ([], true) => simple.from.is_none_or(|at| lists_files(line, at)).then_some(Takes::Tree),
        ([word], false) if word.path().is_none() => {
            word.runs.iter().any(|at| lists_files(line, *at)).then_some(Takes::Tree)
        }
        ([first, others @ ..], is_open) => {
            let words = if first.path().is_none() { others } else { &args.words[..] };
            Some(if is_open { Takes::Tree } else { specs(words) })
        }
    }
}

fn restore(args: &Args<'_>) -> Option<Takes> {
    if args.has(&["S", "staged"]) && !args.has(&["W", "worktree"]) {
        return None;
    }
    let paths = args.all();
    let is_whole = args.is_open || args.has(&["pathspec-from-file"]);
    let is_whole = is_whole || (paths.is_empty() && args.has(&["p", "patch"]));
    match is_whole {
        true => Some(Takes::Tree),
        false => (!paths.is_empty()).then(|| specs(&paths)),
    }
}

fn clean(args: &Args<'_>, call: &Git) -> Option<Takes> {
    let is_forced = args.has(&["f", "force"]) || is_set(call, "clean.requireforce", false);
    // Ignored files are nobody's.
    if !is_forced || args.has(&["n", "dry-run", "X", "i", "interactive"]) {
        return None;
    }
    let paths = args.all();
    Some(match paths.is_empty() {
        true => Takes::These(vec![Taken { path: ".".to_owned(), reach: Reach::Below }]),
        false => specs(&paths),
    })
}

/// Without force git keeps what is not committed, so that only what is named is looked at.
fn rm(args: &Args<'_>) -> Option<Takes> {
    if args.has(&["cached", "n", "dry-run"]) {
        return None;
    }
    let is_forced = args.has(&["f", "force"]);
    if is_forced && (args.is_open || args.has(&["pathspec-from-file"])) {
        return Some(Takes::Tree);
    }
    let mut words = args.all();
    words.retain(|word| is_forced || word.path().is_some());
    Some(specs(&words))
}

fn checkout_index(args: &Args<'_>) -> Option<Takes> {
    if !args.has(&["f", "force"]) || args.has(&["prefix", "temp"]) {
        return None;
    }
    let is_whole = args.is_open || args.has(&["a", "all", "stdin"]);
    let paths = args.all();
    Some(if is_whole { Takes::Tree } else { specs(&paths) })
}

fn worktree(args: &Args<'_>) -> Option<Takes> {
    let words = args.all();
    let [remove, path] = words.as_slice() else { return None };
    // Without force git keeps a tree in which something is changed.
    let is_swept = remove.text == "remove" && args.has(&["f", "force"]);
    let path = path.path().filter(|_| is_swept)?;
    Some(Takes::These(vec![Taken { path, reach: Reach::Below }]))
}

/// What is given up halfway resets the tree; `--autostash` takes everything out of it for a while.
fn merging(args: &Args<'_>, call: &Git) -> Option<(&'static str, Takes)> {
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
        return Some((what, Takes::Tree));
    }
    let is_stashing = match args.last(&["autostash", "no-autostash"]) {
        Some(last) => last == "autostash",
        None => is_set(call, setting, true) && !args.has(&["continue", "quit"]),
    };
    (is_stashing && !stashing.is_empty()).then_some((stashing, Takes::Tree))
}

/// Whether `-c` says so.
fn is_set(call: &Git, name: &str, wanted: bool) -> bool {
    let means = |value: &str| match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" | "" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    };
    let last = call.config.iter().rev().find(|(key, _)| key == name);
    last.and_then(|(_, value)| means(value)) == Some(wanted)
}

/// What the pathspecs take; one that nobody knows takes everything.
fn specs(words: &[&Word]) -> Takes {
    let mut out = Vec::new();
    for word in words {
        let Some(path) = word.path().filter(|path| !path.starts_with(':')) else {
            return Takes::Tree;
        };
        let marks: &[char] = if word.has_braces { &['*', '?', '[', '{'] } else { &['*', '?', '['] };
        let is_glob = path.contains(marks);
        if is_glob {
            let Some(taken) = globbed(&path, marks, true, true) else { return Takes::Tree };
            out.push(taken);
        }
        // A name with brackets in it is a name as well.
        if !is_glob || path.contains('[') {
            out.push(Taken { path, reach: Reach::Below });
        }
    }
    Takes::These(out)
}

/// Whether what comes out of that pipe are names of files.
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
