//! `patch` and `git apply`: what they change is known where the line itself names the file or has the patch in it.

use super::sweep_args::{Args, Spec};
use super::writes::{Found, Manner, file, one};
use crate::shell::{Line, Simple, joined};

const PATCH: Spec = Spec {
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

const APPLY: Spec = Spec {
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

pub(super) fn patched(line: &Line, simple: &Simple) -> Found {
    match &simple.git {
        Some(git) if git.sub == "apply" => {
            let args = Args::read(&git.args, APPLY);
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
        None => patch(line, simple),
    }
}

fn patch(line: &Line, simple: &Simple) -> Found {
    let args = Args::read(simple.words.get(1..).unwrap_or_default(), PATCH);
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
            one.taken.path = joined(&folder, &one.taken.path);
        }
        return out;
    }
    if args.has(&["i", "input"]) {
        return Vec::new();
    }
    let strip = args.value(&["p", "strip"]).map(|word| word.text.parse().ok());
    match strip {
        // A number that is not known.
        Some(None) => Vec::new(),
        Some(strip) => in_text(&line.fed(simple), strip, &folder),
        None => in_text(&line.fed(simple), None, &folder),
    }
}

/// The files that a patch is about. `strip`: how many parts of each path are left out; all but the name without it.
fn in_text(text: &str, strip: Option<usize>, folder: &str) -> Found {
    let mut out: Found = Vec::new();
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
