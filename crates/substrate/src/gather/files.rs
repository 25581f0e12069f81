//! Reads the beginning or the end of a file, never more than asked for.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use substrate_core::facts::Lines;

use crate::inside;

pub(crate) fn beginning(path: impl AsRef<Path>, max: usize) -> Option<String> {
    inside::beginning(open(path).ok()?.0, max).ok()
}

/// How far back the beginning of a long line is searched for.
const MAX_LINE: u64 = 12 << 20;

/// The end of a file, starting with a whole line: half a line is useless. If the first line is so long that little else
/// fits, it is skipped, and the lines before it are included.
pub(super) fn tail(path: &str, max: usize) -> Option<String> {
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    let (mut file, len) = open(path).ok()?;
    let (begin, mut text) = lines_before(&mut file, len, max)?;
    let n_left_out = begin.saturating_sub(len.saturating_sub(max));
    if n_left_out > max / 2
        && let Some(line) = line_begin(&mut file, begin.saturating_sub(1), max)
    {
        let (_, before) = lines_before(&mut file, line, max)?;
        text.splice(0..0, before);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The lines from a byte on that have `with` in them; see `Need::Lines`. A line that is longer than `max` is passed over.
pub(super) fn lines(path: &str, from: u64, with: &str, max: usize) -> Option<Lines> {
    let (mut file, len) = open(path).ok()?;
    // A file that has become shorter is another one.
    let from = if from > len { 0 } else { from };
    let end = len.min(from.saturating_add(u64::try_from(max).unwrap_or(u64::MAX)));
    let bytes = part(&mut file, from, end)?;
    let is_full = end < len;
    let n_whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None if is_full => bytes.len(),
        None => 0,
    };
    let has = |line: &&[u8]| line.windows(with.len().max(1)).any(|part| part == with.as_bytes());
    let lines = bytes[..n_whole].split(|byte| *byte == b'\n').filter(has);
    Some(Lines {
        lines: lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect(),
        next: from + u64::try_from(n_whole).unwrap_or(0),
        is_more: is_full,
    })
}

/// The whole lines in the `max` bytes before a position, and where they begin.
fn lines_before(file: &mut File, end: u64, max: u64) -> Option<(u64, Vec<u8>)> {
    let skipped = end.saturating_sub(max);
    let mut bytes = part(file, skipped, end)?;
    let begin = match skipped {
        0 => 0,
        _ => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1),
    };
    bytes.drain(..begin);
    Some((skipped + u64::try_from(begin).unwrap_or(0), bytes))
}

/// Where the line begins that ends at that position.
fn line_begin(file: &mut File, end: u64, step: u64) -> Option<u64> {
    let mut at = end;
    while at > 0 && end - at < MAX_LINE {
        let from = at.saturating_sub(step.max(1));
        let bytes = part(file, from, at)?;
        if let Some(found) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Some(from + u64::try_from(found).unwrap_or(0) + 1);
        }
        at = from;
    }
    (at == 0).then_some(0)
}

/// The bytes between two positions.
pub(crate) fn part(file: &mut File, from: u64, to: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Opens a regular file. Returns its length too.
pub(crate) fn open(path: impl AsRef<Path>) -> std::io::Result<(File, u64)> {
    // Opening a pipe would block until its other end is opened.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((file, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_longer_than_the_end_is_left_out_and_not_what_is_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let ends = |text: &str, max: usize| {
            crate::fsx::replace(&file, text.as_bytes(), 0o600).unwrap();
            tail(file.to_str().unwrap(), max).unwrap()
        };
        let long = "x".repeat(1_000);
        assert_eq!(ends(&format!("zero\none\n{long}\n"), 100), "zero\none\n");
        assert_eq!(ends(&format!("zero\none\n{long}\ntwo\n"), 100), "zero\none\ntwo\n");
        assert_eq!(ends(&format!("zero\none\n{long}"), 100), "zero\none\n");
        assert_eq!(ends(&format!("{long}\ntwo\n"), 100), "two\n");
        assert_eq!(ends(&long, 100), "");
        assert_eq!(ends(&format!("{long}\none\n{long}\ntwo\n"), 100), "one\ntwo\n");
        assert_eq!(ends(&format!("zero\n{}", "one line\n".repeat(20)), 20), "one line\none line\n");
        assert_eq!(ends("a\nb\n", 100), "a\nb\n");
        assert_eq!(ends("", 100), "");
    }

    #[test]
    fn lines_are_read_from_a_byte_on_and_an_unfinished_one_is_left_for_later() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let write = |text: &str| crate::fsx::replace(&file, text.as_bytes(), 0o600).unwrap();
        let read = |from, max| lines(file.to_str().unwrap(), from, "use", max).unwrap();
        let of = |lines: &[&str], next, is_more| Lines {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            next,
            is_more,
        };
        write("use a\nother\nuse b\nuse c");
        assert_eq!(read(0, 100), of(&["use a", "use b"], 18, false));
        assert_eq!(read(18, 100), of(&[], 18, false), "unfinished");
        write("use a\nother\nuse b\nuse c\n");
        assert_eq!(read(18, 100), of(&["use c"], 24, false));
        assert_eq!(read(0, 8), of(&["use a"], 6, true), "as much as fits");
        assert_eq!(read(6, 3), of(&[], 9, true), "a line that is too long is passed over");
        assert_eq!(read(99, 100).next, 24, "another file");
        assert_eq!(lines("/nonexistent", 0, "use", 9), None);
    }

    #[test]
    fn the_end_of_a_file_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log").display().to_string();
        crate::fsx::replace(&folder.path().join("log"), b"one\ntwo\nthree\n", 0o600).unwrap();
        let end = |max: usize| tail(&path, max);
        assert_eq!(end(100).as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(end(14).as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(end(9).as_deref(), Some("three\n"), "a line is all there or not at all");
        assert_eq!(end(3).as_deref(), Some(""));
        assert_eq!(tail(&folder.path().display().to_string(), 9), None);
    }
}
