//! The words. File names, branches and commits come from outside, so each is one indented line and can't pass for a
//! heading.

use std::fmt::Write as _;

use substrate_core::facts::Tree;
use substrate_core::text::one_line;

const TREE: &str = "Project structure (depth 2):";

/// The characters of the tree and of the status. Together with the commits they leave room for later features.
const MAX_TREE: usize = 4_000;
const MAX_STATUS: usize = 1_500;

/// The lines of the status.
const MAX_STATUS_LINES: usize = 30;

/// The longest line, in characters.
const MAX_LINE: usize = 120;

/// The project's tree; `None` for an empty folder. If not everything fits, upper levels come first, and folders before
/// files.
pub(super) fn tree(tree: &Tree) -> Option<String> {
    let depth = |entry: &str| entry.trim_end_matches('/').matches('/').count();
    let line = |entry: &String| {
        let name = entry.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let end = if entry.ends_with('/') { "/" } else { "" };
        format!("{:width$}{}{end}", "", one_line(name, MAX_LINE), width = 2 * depth(entry) + 2)
    };
    let lines: Vec<String> = tree.entries.iter().map(line).collect();
    let mut told: Vec<usize> = (0..lines.len()).collect();
    told.sort_by_key(|&at| (depth(&tree.entries[at]), !tree.entries[at].ends_with('/')));
    let mut n_chars = TREE.chars().count();
    let fits = |at: &&usize| {
        n_chars += lines[**at].chars().count() + 1;
        n_chars <= MAX_TREE
    };
    told.truncate(told.iter().take_while(fits).count());
    told.sort_unstable();
    let lines = told.into_iter().map(|at| lines[at].clone());
    listed(TREE, lines, tree.entries.len() + tree.n_more, MAX_TREE)
}

/// The branch and the changed files.
pub(super) fn status(text: &str) -> Option<String> {
    let lines = text.lines().take(MAX_STATUS_LINES).map(indented);
    listed("Git status:", lines, text.lines().count(), MAX_STATUS)
}

/// A line may start with a space, as in ` M src/lib.rs`. It stays visible.
fn indented(line: &str) -> String {
    let gap = if line.starts_with(' ') { "   " } else { "  " };
    format!("{gap}{}", one_line(line, MAX_LINE))
}

/// A heading and as many of the `n` lines as fit. The rest are counted.
fn listed(
    heading: &str,
    lines: impl Iterator<Item = String>,
    n: usize,
    max: usize,
) -> Option<String> {
    let mut out = heading.to_owned();
    let (mut n_chars, mut n_told) = (heading.chars().count(), 0);
    for line in lines {
        n_chars += line.chars().count() + 1;
        if n_chars > max {
            break;
        }
        n_told += 1;
        let _infallible = write!(out, "\n{line}");
    }
    if n > n_told {
        let _infallible = write!(out, "\n  … and {} more", n - n_told);
    }
    (n > 0).then_some(out)
}
