//! What commands that list rows share: the flag for every project, columns that line up, and a page of lines with their
//! JSON.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::{Caller, Output};

/// The rows of one page.
pub(crate) const MAX_ROWS: i64 = 200;

/// Which projects a list covers.
#[derive(Args, Serialize, Deserialize, Clone, Copy, Debug, Default)]
#[serde(default)]
pub(crate) struct Scope {
    /// List every project, and what has ended or finished too
    #[arg(long)]
    pub(crate) all: bool,
}

impl Scope {
    /// The caller's project, or `None` for all of them. A caller outside any project sees all.
    pub(crate) fn project(self, caller: &Caller) -> Option<&str> {
        (!self.all && !caller.project.is_empty()).then_some(caller.project.as_str())
    }
}

/// Rows as lines for people and as JSON for programs.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    rows: Vec<Value>,
}

impl Page {
    /// Adds a row; the line includes its newline, and a tab between two columns.
    pub(crate) fn push(&mut self, line: &str, row: Value) {
        self.text.push_str(line);
        self.rows.push(row);
    }

    /// The rows under `name`, or the sentence `if_empty`.
    pub(crate) fn output(self, name: &str, if_empty: impl FnOnce() -> String) -> Output {
        let text = if self.text.is_empty() { if_empty() } else { aligned(&self.text) };
        Output::new(text, json!({ name: self.rows }))
    }
}

/// The widest that one cell makes its column. A longer one pushes only its own line.
const MAX_WIDTH: usize = 48;

/// Lines whose cells are separated by tabs, with columns that line up. A column of numbers is aligned to the right.
///
/// Names have any length, so no fixed width fits them all.
pub(crate) fn aligned(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let n_columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let cells =
        |at: usize| lines.iter().filter(move |line| line.len() > at + 1).map(move |line| line[at]);
    let columns: Vec<(usize, bool)> = (0..n_columns)
        .map(|at| {
            let fits = cells(at).map(width).filter(|width| *width <= MAX_WIDTH);
            let is_number = |cell: &str| cell.trim_start_matches('#').parse::<i64>().is_ok();
            // The first line may be a heading.
            let are_numbers = cells(at).count() > 0
                && (cells(at).all(is_number)
                    || (cells(at).count() > 1 && cells(at).skip(1).all(is_number)));
            (fits.max().unwrap_or(0), are_numbers)
        })
        .collect();
    let mut out = String::with_capacity(text.len());
    for line in &lines {
        let Some((last, cells)) = line.split_last() else { continue };
        for (cell, (wide, is_number)) in cells.iter().zip(&columns) {
            let padding = " ".repeat(wide.saturating_sub(width(cell)));
            let (before, after) = if *is_number { (&*padding, "") } else { ("", &*padding) };
            out.extend([before, cell, after, "  "]);
        }
        out.push_str(last);
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("", "")]
    #[case::one_cell("free\n", "free\n")]
    #[case::short_and_long("a\tb\nlonger\tc\n", "a       b\nlonger  c\n")]
    #[case::numbers("#3\tx\n#14\ty\n", " #3  x\n#14  y\n")]
    #[case::numbers_below_a_heading("id\tx\n3\ty\n14\tz\n", "id  x\n 3  y\n14  z\n")]
    #[case::words_and_numbers("a\tx\n3\ty\n14b\tz\n", "a    x\n3    y\n14b  z\n")]
    #[case::an_empty_end("a\t\nlong\tb\n", "a\nlong  b\n")]
    #[case::other_scripts("é\tb\nee\tc\n", "é   b\nee  c\n")]
    #[case::a_sentence_between(
        "a\tb\nAll of them are here.\nccc\td\n",
        "a    b\nAll of them are here.\nccc  d\n"
    )]
    fn columns_line_up(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(aligned(text), expected);
    }

    #[test]
    fn one_very_long_cell_pushes_only_its_own_line() {
        let long = "x".repeat(MAX_WIDTH + 1);
        let text = aligned(&format!("{long}\tb\na\tb\nbbb\tb\n"));
        assert_eq!(text, format!("{long}  b\na    b\nbbb  b\n"));
    }
}
