//! The detail of a row as lines that fit.

use ratatui::text::Span;
use substrate_core::Timestamp;
use substrate_core::time::Ago;

use super::rows::{Cell, Row};

/// The width of the names of facts.
const NAME: usize = 10;

/// One line of the detail. `is_fact`: a name and its value; otherwise a line of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_fact: bool,
}

/// All lines of a row's detail, for that width.
pub(super) fn lines(row: &Row, width: u16, now: Timestamp, tz_offset_s: i32) -> Vec<Line> {
    let width = usize::from(width);
    let mut out = Vec::new();
    for (name, cell) in &row.facts {
        let value = words(cell, now, tz_offset_s);
        if !value.is_empty() {
            let all = format!("{name:<NAME$} {value}");
            out.extend(wrapped(&all, width).into_iter().map(|text| Line { text, is_fact: true }));
        }
    }
    if !row.text.trim().is_empty() {
        if !out.is_empty() {
            out.push(Line { text: String::new(), is_fact: false });
        }
        let text = row.text.trim_end_matches('\n');
        let all = text.split('\n').flat_map(|line| wrapped(line, width));
        out.extend(all.map(|text| Line { text, is_fact: false }));
    }
    out
}

/// What a cell says.
pub(super) fn words(cell: &Cell, now: Timestamp, tz_offset_s: i32) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::State(tone, word) => format!("{} {word}", tone.sign()),
        Cell::Since(at) => Ago(now.0 - at).to_string(),
        Cell::Until(at) => Ago(at - now.0).to_string(),
        Cell::Clock(at) => {
            let s = (at / 1_000 + i64::from(tz_offset_s)).rem_euclid(86_400);
            format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60)
        }
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A line in pieces of at most that width, broken at spaces where there are some. No character is lost.
pub(super) fn wrapped(line: &str, max: usize) -> Vec<String> {
    let max = max.max(2);
    let (mut out, mut now, mut used, mut space) = (Vec::new(), String::new(), 0, None);
    for c in line.chars() {
        let wide = width(c.encode_utf8(&mut [0; 4]));
        if used + wide > max {
            let rest = match space {
                Some(at) if c != ' ' => now.split_off(at),
                _ => String::new(),
            };
            out.push(std::mem::replace(&mut now, rest));
            used = width(&now);
            space = None;
        }
        now.push(c);
        used += wide;
        if c == ' ' {
            space = Some(now.len());
        }
    }
    out.push(now);
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::short("abc", 5, &["abc"])]
    #[case::words("rm -rf build now", 8, &["rm -rf ", "build ", "now"])]
    #[case::one_word("abcdefgh", 3, &["abc", "def", "gh"])]
    #[case::wide("漢字漢字", 5, &["漢字", "漢字"])]
    #[case::empty("", 5, &[""])]
    #[case::spaces_at_the_end("abcd efgh", 4, &["abcd", " ", "efgh"])]
    fn a_line_is_broken_and_nothing_is_lost(
        #[case] line: &str,
        #[case] max: usize,
        #[case] expected: &[&str],
    ) {
        let pieces = wrapped(line, max);
        assert_eq!(pieces, expected);
        assert_eq!(pieces.concat(), line);
        assert!(pieces.iter().all(|piece| width(piece) <= max));
    }
}
