//! Whether a command names a file, and whether it only reads. Both are asked afterwards, about a file that has changed.

use super::writes;
use crate::shell::{self, Simple};

/// Programs that change no file that they are given.
const READERS: &[&str] = &[
    "[",
    "[[",
    "ag",
    "awk",
    "basename",
    "bat",
    "cat",
    "cd",
    "cmp",
    "column",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "false",
    "fd",
    "fgrep",
    "file",
    "find",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uniq",
    "wc",
    "which",
    "xxd",
];

/// Subcommands of git that change no file of the working tree.
const GIT_READERS: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "commit",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// What ends a word of a command, or of the JSON that it is in.
const ENDS: &[char] = &[
    ' ', '\t', '\n', '\r', '\'', '"', '`', '\\', '=', ',', ';', ':', '(', ')', '{', '}', '[', ']',
    '<', '>', '|', '&', '$',
];

/// Whether a word of the text is that path, or its end: `a.rs`, `src/a.rs` and `../src/a.rs` name `/repo/src/a.rs`.
pub(super) fn names(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    // Most texts don't have the name at all.
    if name.is_empty() || !text.contains(name) {
        return false;
    }
    // A name that has such a mark in it is not told apart, and counts wherever it stands.
    if name.contains(ENDS) {
        return true;
    }
    text.split(ENDS).any(|word| is_end_of(word, path))
}

fn is_end_of(word: &str, path: &str) -> bool {
    let mut rest = word;
    while let Some(inner) = rest.strip_prefix("./").or_else(|| rest.strip_prefix("../")) {
        rest = inner;
    }
    if rest.starts_with('/') {
        return rest == path;
    }
    let before = path.strip_suffix(rest).filter(|_| !rest.is_empty());
    before.is_some_and(|before| before.ends_with('/'))
}

/// Whether a line is made of programs that only read. One that can't be read as a whole may do anything.
pub(super) fn only_reads(command: &str) -> bool {
    let line = shell::read(command);
    let reads = |simple: &Simple| match &simple.git {
        Some(git) => GIT_READERS.contains(&git.sub.as_str()),
        None => simple.words.is_empty() || READERS.contains(&simple.name()),
    };
    !line.is_broken
        && !line.is_cut
        && line.commands.iter().all(reads)
        && writes::writes(&line).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("python3 fix.py a.rs", true)]
    #[case("python3 fix.py src/a.rs", true)]
    #[case("python3 fix.py ./src/a.rs", true)]
    #[case("cd x; python3 fix.py ../src/a.rs", true)]
    #[case("python3 fix.py /repo/src/a.rs", true)]
    #[case("python3 -c \"open('src/a.rs', 'w')\"", true)]
    #[case("fix --file=src/a.rs", true)]
    #[case("{\"command\":\"fix 'src/a.rs'\\nls\"}", true)]
    #[case("{\"file_path\":\"/repo/src/a.rs\"}", true)]
    #[case("python3 fix.py lib/a.rs", false)]
    #[case("python3 fix.py /other/src/a.rs", false)]
    #[case("python3 fix.py aa.rs", false)]
    #[case("python3 fix.py a.rs.bak", false)]
    #[case("python3 fix.py rs", false)]
    #[case("make fmt", false)]
    #[case("", false)]
    fn a_text_names_a_file(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(names(text, "/repo/src/a.rs"), expected);
    }

    #[test]
    fn a_name_with_marks_is_found() {
        assert!(names("fix 'app/[id].tsx'", "/repo/app/[id].tsx"));
        assert!(!names("fix app/id.tsx", "/repo/app/[id].tsx"));
    }

    #[rstest]
    #[case("cat a.rs", true)]
    #[case("cd src && grep -n x a.rs | head -3 2>&1", true)]
    #[case("git diff a.rs && git log -3 -- a.rs", true)]
    #[case("sed -n 1,5p a.rs", true)]
    #[case("find . -name a.rs", true)]
    #[case("sed -i s/a/b/ a.rs", false)]
    #[case("cat a.rs > b.rs", false)]
    #[case("python3 fix.py a.rs", false)]
    #[case("cat a.rs; python3 fix.py", false)]
    #[case("find . -name a.rs -exec fix {} +", false)]
    #[case("git checkout a.rs", false)]
    #[case("cat $(fix a.rs)", false)]
    #[case("cat 'a.rs", false)]
    fn a_line_only_reads(#[case] line: &str, #[case] expected: bool) {
        assert_eq!(only_reads(line), expected);
    }
}
