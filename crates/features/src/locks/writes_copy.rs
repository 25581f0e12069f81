//! Programs that copy or link: the last argument, or the folder after `-t`, is what they write.

use super::sweep_args::{Args, Spec};
use super::writes::{Found, Manner, file, removed};
use crate::shell::{Simple, Word};

const CP: Spec = Spec {
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

const INSTALL: Spec = Spec {
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

const LN: Spec = Spec {
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

const RSYNC: Spec = Spec {
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

/// The flags with which nothing that is there is written.
const KEEPS: &[(&str, &[&str])] = &[
    ("cp", &["n", "no-clobber", "attributes-only"]),
    ("install", &["d", "directory"]),
    ("rsync", &["n", "dry-run", "list-only", "ignore-existing"]),
];

/// What `cp`, `install`, `rsync` or `ln` writes.
pub(super) fn copied(simple: &Simple) -> Found {
    let name = simple.name();
    let spec = match name {
        "cp" => CP,
        "install" => INSTALL,
        "rsync" => RSYNC,
        _ => LN,
    };
    let args = Args::read(simple.words.get(1..).unwrap_or_default(), spec);
    let keeps = KEEPS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, flags)| flags);
    let is_link = name == "ln";
    // A link takes no name that is there, unless it is told to.
    if args.is_help || args.has(keeps) || (is_link && !args.has(&["f", "force"])) {
        return Vec::new();
    }
    let mut from = args.all();
    let folder = args.value(&["t", "target-directory"]).cloned();
    let (to, is_folder) = match (folder, from.as_slice()) {
        (Some(folder), _) => (folder, true),
        // What is not seen here comes last.
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

fn removed_unless_perhaps(found: Found) -> Found {
    let (perhaps, sure): (Found, Found) =
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

/// The name that a file keeps in a folder; `None` where that is not known, or it is a folder whose content is meant.
fn name_of(source: &Word) -> Option<String> {
    let path = source.path().filter(|_| !source.has_glob && !source.has_braces)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}
