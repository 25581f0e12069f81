//! The command line of a client that is started once more.

use std::ffi::OsString;
use std::path::Path;

/// The line for a fresh conversation of a client whose flags take up an earlier one: `with` may be followed by a session,
/// `alone` never is. What starts another program stays as it is.
pub(crate) fn without_resume(
    program: &str,
    with: &[&str],
    alone: &[&str],
    line: &[OsString],
) -> Vec<OsString> {
    if !starts(program, line) {
        return line.to_vec();
    }
    let mut out = Vec::new();
    let mut words = line.iter().peekable();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        let flag = text.split_once('=').map_or(text, |(flag, _)| flag);
        if with.contains(&flag) {
            if flag == text {
                words.next_if(|next| !next.as_encoded_bytes().starts_with(b"-"));
            }
        } else if !alone.contains(&text) {
            out.push(word.clone());
        }
    }
    out
}

/// Whether a line starts that program.
pub(crate) fn starts(program: &str, line: &[OsString]) -> bool {
    let name = line.first().and_then(|first| Path::new(first).file_name());
    name.is_some_and(|name| name == program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("oak", "oak")]
    #[case("oak --resume s1", "oak")]
    #[case("oak --resume=s1 -m x", "oak -m x")]
    #[case("oak -c --yolo", "oak --yolo")]
    #[case("/opt/oak --resume -m x", "/opt/oak -m x")]
    #[case("other --resume s1", "other --resume s1")]
    #[case("", "")]
    fn a_fresh_line(#[case] line: &str, #[case] expected: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(without_resume("oak", &["--resume"], &["-c"], &words(line)), words(expected));
    }
}
