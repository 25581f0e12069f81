//! Programs that copy, link or patch: which files they write.

use super::flags::{CommandArgs, FlagSpec};
use super::writes::{Manner, Written, file, one, removed};
use crate::shell::{Line, Simple, Word, joined};

const CP: FlagSpec = FlagSpec {
    values: "tS",
    glued: "",
    longs: &[
        "target-directory=",
        "suffix=",
        "no-clobber",
        "no-target-directory",
        "update",
        "force",
        "recursive",
        "attributes-only",
    ],
};

const INSTALL: FlagSpec = FlagSpec {
    values: "mogtS",
    glued: "",
    longs: &[
        "target-directory=",
        "suffix=",
        "mode=",
        "owner=",
        "group=",
        "strip-program=",
        "directory",
        "no-target-directory",
    ],
};

const LN: FlagSpec = FlagSpec {
    values: "tS",
    glued: "",
    longs: &[
        "target-directory=",
        "suffix=",
        "force",
        "symbolic",
        "no-dereference",
        "no-target-directory",
    ],
};

const RSYNC: FlagSpec = FlagSpec {
    values: "efTBM",
    glued: "",
    longs: &[
        "exclude=",
        "include=",
        "filter=",
        "exclude-from=",
        "include-from=",
        "files-from=",
        "rsh=",
        "rsync-path=",
        "temp-dir=",
        "compare-dest=",
        "copy-dest=",
        "link-dest=",
        "log-file=",
        "max-size=",
        "min-size=",
        "backup-dir=",
        "suffix=",
        "chmod=",
        "chown=",
        "timeout=",
        "port=",
        "bwlimit=",
        "out-format=",
        "password-file=",
        "partial-dir=",
        "info=",
        "dry-run",
        "list-only",
        "ignore-existing",
    ],
};

/// Flags with which no existing file is written.
const KEEPS: &[(&str, &[&str])] = &[
    ("cp", &["n", "no-clobber", "attributes-only"]),
    ("install", &["d", "directory"]),
    ("rsync", &["n", "dry-run", "list-only", "ignore-existing"]),
];

/// What `cp`, `install`, `rsync` or `ln` writes.
pub(crate) fn copied(simple: &Simple) -> Vec<Written> {
    let name = simple.name();
    let spec = match name {
        "cp" => CP,
        "install" => INSTALL,
        "rsync" => RSYNC,
        _ => LN,
    };
    let args = CommandArgs::read(simple.words.get(1..).unwrap_or_default(), spec);
    let keeps = KEEPS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, flags)| flags);
    let is_link = name == "ln";
    // A link replaces no existing name unless forced.
    if args.is_help || args.has(keeps) || (is_link && !args.has(&["f", "force"])) {
        return Vec::new();
    }
    let mut from = args.all();
    let folder = args.value(&["t", "target-directory"]).cloned();
    let (to, is_folder) = match (folder, from.as_slice()) {
        (Some(folder), _) => (folder, true),
        // The hidden arguments come last, and so hide the destination.
        _ if simple.has_hidden_args => return Vec::new(),
        (None, [_]) if is_link => (Word::plain("."), true),
        (None, [_, .., last]) => {
            let last = (*last).clone();
            from.pop();
            let is_folder = from.len() > 1 || is_folder_by_name(&last.text);
            (last, is_folder)
        }
        (None, _) => return Vec::new(),
    };
    let is_remote = name == "rsync" && is_remote(&to.text);
    let Some(path) = to.path().filter(|_| !to.has_glob && !to.has_braces && !is_remote) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if !is_folder {
        out.push(file(path.clone(), Manner::Writes));
    }
    let is_itself = args.has(&["T", "no-target-directory"])
        || (is_link && args.has(&["n", "no-dereference"]) && !is_folder);
    let manner = if is_folder { Manner::Writes } else { Manner::Perhaps };
    for source in from.into_iter().filter(|_| !is_itself) {
        if let Some(name) = name_of(source) {
            out.push(file(format!("{}/{name}", path.trim_end_matches('/')), manner));
        }
    }
    if is_link { removed_unless_perhaps(out) } else { out }
}

fn removed_unless_perhaps(found: Vec<Written>) -> Vec<Written> {
    let (perhaps, sure): (Vec<Written>, Vec<Written>) =
        found.into_iter().partition(|one| one.manner == Manner::Perhaps);
    removed(sure).into_iter().chain(perhaps).collect()
}

fn is_folder_by_name(text: &str) -> bool {
    text.ends_with('/')
        || matches!(text, "." | "..")
        || text.ends_with("/.")
        || text.ends_with("/..")
}

/// `host:path`
fn is_remote(text: &str) -> bool {
    text.split('/').next().is_some_and(|first| first.contains(':'))
}

/// The name that a file keeps in a folder. `None` if it is unknown, or a folder whose content is copied.
fn name_of(source: &Word) -> Option<String> {
    let path = source.path().filter(|_| !source.has_glob && !source.has_braces)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

const PATCH: FlagSpec = FlagSpec {
    values: "pidorBDFgVxYz",
    glued: "",
    longs: &[
        "directory=",
        "input=",
        "output=",
        "strip=",
        "reject-file=",
        "dry-run",
        "check",
        "reverse",
        "forward",
        "fuzz=",
        "suffix=",
        "prefix=",
    ],
};

const APPLY: FlagSpec = FlagSpec {
    values: "pC",
    glued: "",
    longs: &[
        "check",
        "stat",
        "numstat",
        "summary",
        "cached",
        "index",
        "directory=",
        "exclude=",
        "include=",
        "whitespace=",
        "reverse",
        "reject",
    ],
};

/// Lines of a patch that are read.
const MAX_LINES: usize = 10_000;

pub(crate) fn patched(line: &Line, simple: &Simple) -> Vec<Written> {
    match &simple.git {
        Some(git) if git.sub == "apply" => {
            let args = CommandArgs::read(&git.args, APPLY);
            let only_looks = args.has(&["check", "stat", "numstat", "summary", "cached"]);
            let is_told = args.words.iter().all(|word| word.text == "-");
            if args.is_help || only_looks || !is_told {
                return Vec::new();
            }
            let strip = args.value(&["p"]).map_or(Some(1), |word| word.text.parse().ok());
            let below = args.value(&["directory"]).map(|word| word.text.as_str());
            in_text(&line.fed(simple), strip, below.unwrap_or_default())
        }
        Some(_) => Vec::new(),
        None => patch_program(line, simple),
    }
}

fn patch_program(line: &Line, simple: &Simple) -> Vec<Written> {
    let args = CommandArgs::read(simple.words.get(1..).unwrap_or_default(), PATCH);
    if args.is_help || args.has(&["dry-run", "C", "check"]) {
        return Vec::new();
    }
    let folder = match args.value(&["d", "directory"]) {
        None => String::new(),
        Some(word) => match word.path() {
            Some(path) => path,
            None => return Vec::new(),
        },
    };
    let target = args.value(&["o", "output"]).or_else(|| args.words.first().copied());
    if let Some(target) = target {
        let mut out = if target.text == "-" { Vec::new() } else { one(target) };
        for one in &mut out {
            one.scope.path = joined(&folder, &one.scope.path);
        }
        return out;
    }
    if args.has(&["i", "input"]) {
        return Vec::new();
    }
    let strip = args.value(&["p", "strip"]).map(|word| word.text.parse().ok());
    match strip {
        // An unknown number.
        Some(None) => Vec::new(),
        Some(strip) => in_text(&line.fed(simple), strip, &folder),
        None => in_text(&line.fed(simple), None, &folder),
    }
}

/// The files that a patch changes. `strip` is how many leading parts of each path are dropped; by default all but the name.
fn in_text(text: &str, strip: Option<usize>, folder: &str) -> Vec<Written> {
    let mut out: Vec<Written> = Vec::new();
    for line in text.lines().take(MAX_LINES) {
        let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) else {
            continue;
        };
        let path = path.split('\t').next().unwrap_or_default().trim_end();
        let n = strip.unwrap_or_else(|| path.matches('/').count());
        let rest = (0..n).try_fold(path, |rest, _| rest.split_once('/').map(|(_, rest)| rest));
        let Some(rest) = rest.filter(|rest| !rest.is_empty() && path != "/dev/null") else {
            continue;
        };
        let found = file(joined(folder, rest), Manner::Writes);
        if !out.contains(&found) {
            out.push(found);
        }
    }
    out
}
