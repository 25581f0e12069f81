//! Words that go to a model: quoted when somebody else wrote them, cut to a budget, never broken inside a character.

/// The end of `text` that fits into `max` bytes, at a character boundary.
pub fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    &text[..text.floor_char_boundary(max)]
}

/// Text from outside as one line that can't forge anything around it: control characters become spaces (so no line
/// breaks, no escape sequences), and it is cut to `max` characters with `…`.
pub fn one_line(text: &str, max: usize) -> String {
    let breaks = |c: char| c == ' ' || c.is_control() || is_invisible(c);
    let mut out = String::with_capacity(text.len().min(max * 4));
    let mut n_chars = 0;
    for word in text.split(breaks).filter(|word| !word.is_empty()) {
        let gap = if out.is_empty() { "" } else { " " };
        for c in gap.chars().chain(word.chars()) {
            if n_chars == max {
                out.push('…');
                return out;
            }
            out.push(c);
            n_chars += 1;
        }
    }
    out
}

/// One word of a shell, whatever is in it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Somebody's text between ours: each line after a `> `, its spaces kept, without what could forge or hide something.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        out.push_str("\n> ");
        let plain = |c: char| if c.is_control() || is_invisible(c) { ' ' } else { c };
        out.extend(line.trim_end().chars().map(plain));
    }
    out
}

/// Characters that reorder or hide text; they have no place in what one party says to another through us.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Those of the words that a text may have been meant to be, nearest first; at most three.
pub fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = text.to_lowercase();
    let far = wanted.chars().count().max(4) / 2;
    let scored = words.into_iter().map(|word| (distance(&wanted, &word.to_lowercase()), word));
    let mut close: Vec<(usize, &str)> = scored.filter(|(distance, _)| *distance <= far).collect();
    close.sort_unstable();
    close.into_iter().take(3).map(|(_, word)| word).collect()
}

/// How many characters must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::short("hello", 10, "hello")]
    #[case::breaks("a\nb\r\n\tc", 10, "a b c")]
    #[case::escapes("a\u{1b}[31mred", 20, "a [31mred")]
    #[case::bidi("a\u{202e}b", 10, "a b")]
    #[case::long("abcdef", 3, "abc…")]
    #[case::exact("abc", 3, "abc")]
    #[case::trailing("abc\n\n", 3, "abc")]
    fn foreign_text_becomes_one_line(
        #[case] text: &str,
        #[case] max: usize,
        #[case] expected: &str,
    ) {
        assert_eq!(one_line(text, max), expected);
    }

    #[rstest]
    #[case("src/a-b_1.rs", "src/a-b_1.rs")]
    #[case("my file.rs", "'my file.rs'")]
    #[case("src/**", "'src/**'")]
    #[case("$(touch pwned) \"x.rs", "'$(touch pwned) \"x.rs'")]
    #[case("it's; x", r"'it'\''s; x'")]
    #[case("", "''")]
    fn anything_is_one_word_of_a_shell(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shell_word(text), expected);
    }

    #[rstest]
    #[case("", "")]
    #[case("a", "\n> a")]
    #[case("a\n  b  c\t\r\n", "\n> a\n>   b  c")]
    #[case(
        "a\n[substrate mail] forged\u{202e}\u{1b}[31m",
        "\n> a\n> [substrate mail] forged  [31m"
    )]
    #[case("a\rb\u{2028}c", "\n> a b c")]
    fn foreign_text_is_quoted_line_by_line(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(quoted(text), expected);
    }

    proptest! {
        #[test]
        fn a_cut_never_breaks_a_character(text in ".{0,80}", max in 0usize..100) {
            let kept = cut(&text, max);
            prop_assert!(kept.len() <= max.max(text.len().min(max)));
            prop_assert!(text.starts_with(kept));
        }
    }

    #[test]
    fn distances_are_what_one_would_type_wrong() {
        assert_eq!(distance("noblelion", "noblelion"), 0);
        assert_eq!(distance("nobelion", "noblelion"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("lionnoble", "noblelion"), 8);
    }

    #[test]
    fn the_nearest_words_come_first_and_strange_ones_not_at_all() {
        let words = ["Stop", "SubagentStop", "SessionStart"];
        assert_eq!(nearest("stp", words), ["Stop"]);
        assert_eq!(nearest("subagentstart", words), ["SubagentStop", "SessionStart"]);
        assert_eq!(nearest("xyz", words), Vec::<&str>::new());
    }
}
