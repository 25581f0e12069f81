//! Which files a line plainly writes. Pure: paths are looked up later.
//!
//! Plain means that the line itself shows it: redirections, and the arguments of programs that write to them. Unknown
//! names (`$f`, the input of `xargs`, the content of a patch file) are not plain. `locks` notices afterwards what such lines do
//! to files that others hold.

use super::flags::{CommandArgs, FlagSpec};
use super::{Extent, PathScope, called, copies, named};
use crate::shell::{Line, Simple, Word, is_known, joined};

/// Files of one line that are looked at.
const MAX_WRITTEN: usize = 64;

/// What a word of a line writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) scope: PathScope,
    pub(crate) manner: Manner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The file's content changes.
    Writes,
    /// Only if the destination is a folder: `cp a b` writes `b` or `b/a`.
    Perhaps,
    /// Only the name is removed or reused. The file may have other names.
    Removes,
}

/// Whether a line may write at all. Most don't, and are not parsed.
pub(crate) fn may_write(command: &str) -> bool {
    let sends = |at: usize| !is_harmless_target(&command[at + 1..]);
    command.match_indices('>').any(|(at, _)| sends(at))
        || command.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()).any(is_writer)
}

/// `>&1`, `>&-` and `>/dev/null`, without the first `>`.
fn is_harmless_target(rest: &str) -> bool {
    if let Some(number) = rest.strip_prefix('&') {
        return number.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    }
    let target = rest.trim_start_matches(['>', ' ']);
    target.strip_prefix("/dev/null").is_some_and(|after| {
        !after.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_'))
    })
}

/// Whether a word belongs to a program that writes. Compares lengths first, because every word of every line is
/// checked.
fn is_writer(word: &[u8]) -> bool {
    match word.len() {
        2 => matches!(word, b"cp" | b"ln" | b"dd"),
        3 => matches!(word, b"sed" | b"tee" | b"fls"),
        4 => matches!(word, b"gsed" | b"perl" | b"ruby" | b"sort" | b"curl" | b"wget" | b"exec"),
        5 => matches!(word, b"rsync" | b"patch" | b"apply" | b"shred" | b"gofmt" | b"black"),
        6 => matches!(word, b"sponge" | b"unlink" | b"delete" | b"fprint" | b"format"),
        7 => matches!(word, b"inplace" | b"install" | b"fprintf" | b"rustfmt" | b"execdir"),
        8 => matches!(word, b"truncate" | b"prettier"),
        9 => matches!(word, b"goimports"),
        _ => false,
    }
}

/// What a line plainly writes, in order.
pub(crate) fn writes(line: &Line) -> Vec<Written> {
    let called = called(line);
    let runs = |simple: &&Simple| simple.function.as_deref().is_none_or(|f| called.contains(&f));
    let mut out: Vec<Written> = Vec::new();
    for simple in line.commands.iter().filter(runs) {
        // `[[ a > b ]]` compares.
        if simple.name() != "[[" {
            // The shell opens these in its own folder.
            add(&mut out, &simple.folder, files(&simple.writes));
        }
        let folder = simple.git.as_ref().map_or(&simple.folder, |git| &git.folder);
        add(&mut out, folder, program(line, simple));
        if out.len() >= MAX_WRITTEN {
            break;
        }
    }
    out.truncate(MAX_WRITTEN);
    out
}

/// The paths that a line plainly writes, relative to the shell's folder, some of them globs.
pub(crate) fn written(line: &Line) -> impl Iterator<Item = String> {
    writes(line).into_iter().map(|one| match one.scope.extent {
        Extent::File | Extent::Below => one.scope.path,
        Extent::Glob { glob, .. } => format!("{}/{glob}", one.scope.path),
    })
}

/// Adds the known files, each once.
fn add(out: &mut Vec<Written>, folder: &str, found: Vec<Written>) {
    for mut one in found {
        one.scope.path = joined(folder, &one.scope.path);
        let path = one.scope.path.as_str();
        let is_file = is_known(path) && !path.starts_with("/dev/") && !path.starts_with("/proc/");
        if is_file && !out.contains(&one) {
            out.push(one);
        }
    }
}

/// What a program writes.
fn program(line: &Line, simple: &Simple) -> Vec<Written> {
    let words = simple.words.get(1..).unwrap_or_default();
    match simple.name() {
        "cp" | "install" | "rsync" | "ln" => copies::copied(simple),
        "patch" | "git" => copies::patched(line, simple),
        "find" => find(line, simple),
        "dd" => words.iter().flat_map(of_dd).collect(),
        "sort" => output(words, SORT, &["o", "output"]),
        "curl" => output(words, CURL, &["o", "output"]),
        "wget" => output(words, WGET, &["O", "output-document"]),
        "unlink" => removed(files(words)),
        _ => in_place(simple).unwrap_or_default(),
    }
}

/// `of=FILE`
fn of_dd(word: &Word) -> Vec<Written> {
    let text = word.text.strip_prefix("of=").map(str::to_owned);
    text.map_or_else(Vec::new, |text| one(&Word { text, ..word.clone() }))
}

const SORT: FlagSpec = FlagSpec {
    values: "kotST",
    glued: "",
    longs: &["output=", "key=", "field-separator=", "buffer-size=", "temporary-directory="],
};

const CURL: FlagSpec = FlagSpec {
    values: "AbcCdDeEFHKmoPQrTtuUwxXyYz",
    glued: "",
    longs: &["output=", "output-dir=", "header=", "data=", "user-agent="],
};

const WGET: FlagSpec = FlagSpec {
    values: "aABDeFiIlnoOPQRStTUwX",
    glued: "",
    longs: &["output-document=", "output-file=", "directory-prefix="],
};

/// The file after `-o`; `-` is standard output.
fn output(words: &[Word], spec: FlagSpec, names: &[&str]) -> Vec<Written> {
    let args = CommandArgs::read(words, spec);
    args.value(names).filter(|word| word.text != "-").map(one).unwrap_or_default()
}

/// A program that edits its arguments in place, if certain flags are given.
struct InPlace {
    names: &'static [&'static str],
    spec: FlagSpec,
    /// It writes only with one of these flags; always if empty.
    when: &'static [&'static str],
    /// The first argument is a script, unless one of these flags is given.
    script: &'static [&'static str],
}

const PLAIN: FlagSpec = FlagSpec { values: "", glued: "", longs: &[] };

const IN_PLACE: &[InPlace] = &[
    InPlace {
        names: &["sed", "gsed"],
        spec: FlagSpec {
            values: "efl",
            glued: "i",
            longs: &["in-place", "expression=", "file=", "line-length=", "follow-symlinks"],
        },
        when: &["i", "in-place"],
        script: &["e", "expression", "f", "file"],
    },
    InPlace {
        names: &["perl", "ruby"],
        spec: FlagSpec { values: "eEI", glued: "iMmFxCD", longs: &[] },
        when: &["i"],
        script: &["e", "E"],
    },
    InPlace { names: &["tee", "sponge"], spec: PLAIN, when: &[], script: &[] },
    InPlace {
        names: &["truncate"],
        spec: FlagSpec { values: "sr", glued: "", longs: &["size=", "reference=", "no-create"] },
        when: &[],
        script: &[],
    },
    InPlace {
        names: &["shred"],
        spec: FlagSpec {
            values: "ns",
            glued: "",
            longs: &["iterations=", "size=", "random-source=", "remove"],
        },
        when: &[],
        script: &[],
    },
];

/// What formats files in place: the flags of which one must be there, and those of which none may be.
const FORMATTERS: &[(&str, &[&str], &[&str])] = &[
    ("gofmt", &["-w"], &["-d", "-l"]),
    ("goimports", &["-w"], &["-d", "-l"]),
    ("clang-format", &["-i"], &["-n", "--dry-run"]),
    ("prettier", &["--write", "-w"], &[]),
    ("rustfmt", &[], &["--check", "--emit=stdout", "--help", "--version", "-V"]),
    ("black", &[], &["--check", "--diff", "--help", "--version"]),
];

/// Flags of formatters that take the next word as value.
const WITH_VALUE: &[&str] =
    &["--config", "--config-path", "--edition", "--parser", "--plugin", "--ignore-path", "-l"];

/// What an in-place program writes. `None` if it only reads its arguments.
fn in_place(simple: &Simple) -> Option<Vec<Written>> {
    let words = simple.words.get(1..)?;
    let name = simple.name();
    if let Some((_, when, unless)) = FORMATTERS.iter().find(|(known, ..)| *known == name) {
        let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.text.as_str()));
        let is_let = (when.is_empty() || has(when)) && !has(unless);
        let with_value: Vec<String> = WITH_VALUE.iter().map(|&flag| flag.to_owned()).collect();
        return is_let.then(|| files(simple.plain(&with_value)));
    }
    if matches!(name, "awk" | "gawk") {
        return inplace_of_awk(words);
    }
    let known = IN_PLACE.iter().find(|known| known.names.contains(&name))?;
    let args = CommandArgs::read(words, known.spec);
    if args.is_help || !(known.when.is_empty() || args.has(known.when)) {
        return None;
    }
    let mut given = args.all();
    // An empty word is not a file: `sed -i '' …`.
    given.retain(|word| !word.text.is_empty() && word.text != "-");
    if !known.script.is_empty() && !args.has(known.script) && !given.is_empty() {
        given.remove(0);
    }
    let mut out = files(given);
    // The backup of each file: `-i.bak`.
    let suffix = args.value(&["i", "in-place"]).map(|word| word.text.as_str());
    if let Some(suffix) = suffix.filter(|suffix| !suffix.contains(['*', '/', '$'])) {
        let kept = |one: &Written| {
            let path = format!("{}{suffix}", one.scope.path);
            let scope = PathScope { path, extent: Extent::File };
            (one.scope.extent == Extent::File).then_some(Written { scope, manner: one.manner })
        };
        let copies: Vec<Written> = out.iter().filter_map(kept).collect();
        out.extend(copies);
    }
    Some(out)
}

/// `awk -i inplace '…' FILE`
fn inplace_of_awk(words: &[Word]) -> Option<Vec<Written>> {
    let spec = FlagSpec { values: "fFvi", glued: "", longs: &["file=", "assign=", "include="] };
    let args = CommandArgs::read(words, spec);
    args.value(&["i", "include"]).filter(|word| word.text == "inplace")?;
    let n_script = usize::from(!args.has(&["f", "file"]));
    Some(files(args.all().into_iter().skip(n_script)))
}

/// `find PATH… -name GLOB -delete`, and files that it passes to programs that write.
fn find(line: &Line, simple: &Simple) -> Vec<Written> {
    let words = simple.words.get(1..).unwrap_or_default();
    let mut out = Vec::new();
    for (word, value) in words.iter().zip(words.iter().skip(1)) {
        if matches!(word.text.as_str(), "-fprint" | "-fprintf" | "-fls" | "-fprint0") {
            out.extend(one(value));
        }
    }
    let Some(searched) = searched(words) else { return out };
    if words.iter().any(|word| word.text == "-delete") {
        out.extend(removed(searched.clone()));
    }
    for inner in simple.inner.iter().filter_map(|at| line.commands.get(*at)) {
        let removes = matches!(inner.name(), "rm" | "unlink");
        if inner.has_hidden_args && (removes || in_place(inner).is_some()) {
            out.extend(if removes { removed(searched.clone()) } else { searched.clone() });
        }
    }
    out
}

/// The files that `find` matches. `None` if a test narrows them in an unknown way.
fn searched(words: &[Word]) -> Option<Vec<Written>> {
    let mut rest = words.iter().skip_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P"));
    let (mut roots, mut name, mut is_flat) = (Vec::new(), None, false);
    let mut next = rest.next();
    while let Some(word) = next.filter(|word| !word.text.starts_with(['-', '(', '!'])) {
        roots.push(word);
        next = rest.next();
    }
    while let Some(word) = next {
        match word.text.as_str() {
            "-name" => name = Some(rest.next()?).filter(|name| !name.has_unknown),
            "-type" if rest.next()?.text == "f" => {}
            "-maxdepth" => {
                // Any depth above one counts as unlimited.
                is_flat = rest.next()?.text == "1";
            }
            "-mindepth" => drop(rest.next()?),
            "-delete" | "-print" | "-print0" | "-depth" => {}
            "-exec" | "-execdir" => {
                while rest.next().is_some_and(|word| !matches!(word.text.as_str(), ";" | "+")) {}
            }
            _ => return None,
        }
        next = rest.next();
    }
    let has_name = words.iter().any(|word| word.text == "-name");
    let glob = match name {
        Some(name) if is_flat => Some(name.text.clone()),
        Some(name) => Some(format!("**/{}", name.text)),
        None if has_name => return None,
        None => None,
    };
    let here = Word::plain(".");
    if roots.is_empty() {
        roots.push(&here);
    }
    let within = |root: &Word| {
        let path = root.path().filter(|_| !root.has_glob && !root.has_braces)?;
        let extent = match &glob {
            Some(glob) => Extent::Glob { glob: glob.clone(), as_git: false, is_deep: false },
            None if is_flat => Extent::Glob { glob: "*".to_owned(), as_git: false, is_deep: false },
            None => Extent::Below,
        };
        Some(Written { scope: PathScope { path, extent }, manner: Manner::Writes })
    };
    Some(roots.into_iter().filter_map(within).collect())
}

/// The files that words name. Unknown words name none.
pub(crate) fn files<'w>(words: impl IntoIterator<Item = &'w Word>) -> Vec<Written> {
    words.into_iter().flat_map(one).collect()
}

pub(crate) fn one(word: &Word) -> Vec<Written> {
    let scope = named(word, false).filter(|scope| !scope.path.is_empty());
    scope.into_iter().map(|scope| Written { scope, manner: Manner::Writes }).collect()
}

/// Writing one file.
pub(crate) fn file(path: String, manner: Manner) -> Written {
    Written { scope: PathScope { path, extent: Extent::File }, manner }
}

/// The same files, of which only the names are removed.
pub(crate) fn removed(mut found: Vec<Written>) -> Vec<Written> {
    for one in &mut found {
        one.manner = Manner::Removes;
    }
    found
}
