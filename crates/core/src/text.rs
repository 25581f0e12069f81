//! Text that goes to a model: quoted if others wrote it, cut to a budget, never broken inside a character.

/// The longest prefix of `text` that fits into `max` bytes and ends at a character boundary.
pub fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    &text[..text.floor_char_boundary(max)]
}

/// Text from outside as one line that can't forge anything around it. Control characters and hidden ones become spaces,
/// the tags of clients are defused, and `…` marks a cut at `max` characters.
///
/// ```
/// use substrate_core::text::one_line;
///
/// assert_eq!(one_line("two\nlines", 20), "two lines");
/// assert_eq!(one_line("a <system-reminder> b", 40), "a (system-reminder> b");
/// ```
pub fn one_line(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max * 4));
    let (mut n_chars, mut before, mut is_gap) = (0, None, false);
    for c in text.chars() {
        if c == ' ' || c.is_control() || is_hidden_after(before, c) {
            is_gap = !out.is_empty();
        } else {
            for c in is_gap.then_some(' ').into_iter().chain([c]) {
                if n_chars == max {
                    out.push('…');
                    return without_tags(out);
                }
                out.push(c);
                n_chars += 1;
            }
            is_gap = false;
        }
        before = Some(c);
    }
    without_tags(out)
}

/// The text as one word for a shell.
///
/// ```
/// assert_eq!(substrate_core::text::shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Another party's text between ours. Each line follows a `> ` and keeps its spaces; what could forge or hide something
/// is removed.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        out.push_str("\n> ");
        out.push_str(&plain_line(line.trim_end(), ' '));
    }
    out
}

/// A line of another party's text with its spaces. Control characters become spaces, hidden ones become `hidden`, and
/// the tags of clients are defused.
pub fn plain_line(line: &str, hidden: impl Into<Option<char>>) -> String {
    let hidden = hidden.into();
    let mut out = String::with_capacity(line.len());
    let mut before = None;
    for c in line.chars() {
        if c.is_control() {
            out.push(' ');
        } else if is_hidden_after(before, c) {
            out.extend(hidden);
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    without_tags(out)
}

/// Another party's text for a terminal, of any number of lines. Control characters, and those that hide or reorder text, are
/// written out, so nothing moves the cursor and nothing is invisible. A tab becomes spaces.
///
/// ```
/// use substrate_core::text::visible;
///
/// assert_eq!(visible("a\u{1b}[2Jb"), "a[U+001B][2Jb");
/// assert_eq!(visible("gpj.\u{202e}exe"), "gpj.[U+202E]exe");
/// ```
pub fn visible(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str("    "),
            '\r' => {}
            c if c.is_control() || is_hidden_after(before, c) => {
                let _infallible = write!(out, "[U+{:04X}]", u32::from(c));
            }
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// The same in one line: lines are joined by a space.
pub fn visible_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    visible(&lines.collect::<Vec<_>>().join(" "))
}

/// The last gate for text that goes to a model, of any number of lines. Its author has already quoted what others
/// wrote. The tags of clients are defused, and characters that move the cursor, hide or reorder are removed. `None` if
/// nothing changes.
pub fn defused(text: &str) -> Option<String> {
    let is_bad = |(before, c): (Option<char>, char)| is_unwanted(before, c);
    let befores = std::iter::once(None).chain(text.chars().map(Some));
    if !befores.zip(text.chars()).any(is_bad) && tags(text).next().is_none() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        if !is_unwanted(before, c) {
            out.push(c);
        }
        before = Some(c);
    }
    Some(without_tags(out))
}

fn is_unwanted(before: Option<char>, c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_hidden_after(before, c)
}

/// Characters that reorder or hide text: bidirectional marks, zero-width characters, tags, fillers. No message between
/// two parties needs them.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The same, but characters that join or colour emoji stay if one precedes them.
fn is_hidden_after(before: Option<char>, c: char) -> bool {
    let is_symbol = |c: char| c >= '\u{203c}' && !c.is_alphanumeric() && !is_hidden(c);
    match c {
        '\u{200d}' | '\u{fe0f}' => !before.is_some_and(is_symbol),
        c => is_hidden(c),
    }
}

/// The names of tags that only a client or a model may write. `_`, `:` and `-` count as the same character, and case
/// does not matter.
const WRAPPERS: &[&str] = &[
    "assistant",
    "bash-input",
    "bash-stderr",
    "bash-stdout",
    "developer",
    "fork-boilerplate",
    "human",
    "invoke",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "new-diagnostics",
    "parameter",
    "persisted-output",
    "policy-spec",
    "system",
    "task-notification",
    "teammate-message",
    "thinking",
    "tool-use-error",
    "user",
    "user-memory-input",
    "user-prompt-submit-hook",
];

/// Prefixes of such names that come in families.
const FAMILIES: &[&str] = &["antml-", "command-", "function-", "ide-", "system-", "tool-"];

/// The longest such name.
const MAX_TAG: usize = 40;

/// Defuses the tags of clients: `<` becomes `(`, so that nothing else moves.
pub fn without_tags(text: String) -> String {
    let found: Vec<usize> = tags(&text).collect();
    if found.is_empty() {
        return text;
    }
    let mut bytes = text.into_bytes();
    for at in found {
        bytes[at] = b'(';
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where such tags begin.
pub fn tags(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('<').map(|(at, _)| at).filter(|at| is_tag(&text[at + 1..]))
}

/// Whether a tag of a client follows an angle bracket.
fn is_tag(rest: &str) -> bool {
    let name: String = rest
        .chars()
        .take(3 * MAX_TAG)
        .skip_while(|c| c.is_whitespace() || *c == '/')
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .map(|c| if matches!(c, '_' | ':') { '-' } else { c.to_ascii_lowercase() })
        .take(MAX_TAG + 1)
        .collect();
    let ends = ["-hook", "-reminder"];
    WRAPPERS.contains(&name.as_str())
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || ends.iter().any(|end| name.ends_with(end))
}

/// The words that a text may have been meant to be, nearest first, at most three.
pub fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = text.to_lowercase();
    let far = wanted.chars().count().max(4) / 2;
    let scored = words.into_iter().map(|word| (distance(&wanted, &word.to_lowercase()), word));
    let mut close: Vec<(usize, &str)> = scored.filter(|(distance, _)| *distance <= far).collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().take(3).map(|(_, word)| word).collect()
}

/// How many characters must be changed, added or removed.
pub(crate) fn distance(a: &str, b: &str) -> usize {
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
    #[case::lines_stay("a\n\tb\r\n", "a\n    b\n", "a b")]
    #[case::bidi("\u{202e}x\u{2066}", "[U+202E]x[U+2066]", "[U+202E]x[U+2066]")]
    #[case::escapes(
        "\u{1b}[31m\u{7}\0",
        "[U+001B][31m[U+0007][U+0000]",
        "[U+001B][31m[U+0007][U+0000]"
    )]
    #[case::line_separators("a\u{2028}b\u{85}c", "a[U+2028]b[U+0085]c", "a[U+2028]b[U+0085]c")]
    #[case::letters("مرحبا 漢字 ü", "مرحبا 漢字 ü", "مرحبا 漢字 ü")]
    fn a_terminal_shows_everything_and_nothing_acts(
        #[case] text: &str,
        #[case] lines: &str,
        #[case] line: &str,
    ) {
        assert_eq!(visible(text), lines);
        assert_eq!(visible_line(text), line);
    }

    #[rstest]
    #[case::closing("</system-reminder>", "(/system-reminder>")]
    #[case::opening("<system-reminder>x", "(system-reminder>x")]
    #[case::attributes("<system-reminder id=1>", "(system-reminder id=1>")]
    #[case::case("</SYSTEM-Reminder>", "(/SYSTEM-Reminder>")]
    #[case::underscores("</system_reminder>", "(/system_reminder>")]
    #[case::spaces("< / system-reminder >", "( / system-reminder >")]
    #[case::unclosed("</system-reminder", "(/system-reminder")]
    #[case::hidden_inside("<\u{200b}/sys\u{ad}tem-reminder>", "< /sys tem-reminder>")]
    #[case::tag_characters("a\u{e0041}\u{e0042}b", "a b")]
    #[case::twice("</system></user>", "(/system>(/user>")]
    #[case::nested("<</system>>", "<(/system>>")]
    #[case::family("<function_calls><antml:x>", "(function_calls>(antml:x>")]
    #[case::hook("<any-new-hook>", "(any-new-hook>")]
    #[case::generics("Vec<String>, Map<user_id, T>", "Vec<String>, Map<user_id, T>")]
    #[case::html("<div><b>x</b>", "<div><b>x</b>")]
    #[case::comparison("a < b </ c", "a < b </ c")]
    #[case::emoji("👨\u{200d}👩 ❤\u{fe0f}", "👨\u{200d}👩 ❤\u{fe0f}")]
    #[case::joined_letters("a\u{200d}b\u{fe0f}", "a b")]
    fn tags_and_hidden_characters_are_defused(#[case] text: &str, #[case] expected: &str) {
        // A hidden character inside a name leaves a gap, so it is not that name any more.
        assert_eq!(one_line(text, 200), expected);
    }

    #[rstest]
    #[case("plain\n\ttext <b>", None)]
    #[case("a\u{1b}[2Jb\r", Some("a[2Jb"))]
    #[case("a\u{202e}b</system-reminder>", Some("ab(/system-reminder>"))]
    #[case("</sys\u{200b}tem>", Some("(/system>"))]
    fn the_last_gate_changes_only_what_it_must(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(defused(text).as_deref(), expected);
    }

    #[test]
    fn many_brackets_take_no_longer_than_their_number() {
        let begun = std::time::Instant::now();
        for unit in ["<", "< ", "</", "<a", "<system", "\u{200b}<"] {
            let text = unit.repeat((1 << 18) / unit.len());
            assert!(tags(&defused(&text).unwrap_or(text)).next().is_none());
        }
        assert!(begun.elapsed().as_secs() < 20);
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
        fn no_tag_and_no_hidden_character_passes(text in "([</> \u{200b}\u{202e}\u{1b}\n]|system|-|reminder|user|b|\u{e0041}){0,40}") {
            let bad = |c: char| c != '\n' && (c.is_control() || is_hidden(c));
            for said in [one_line(&text, 60), quoted(&text), defused(&text).unwrap_or(text)] {
                prop_assert!(tags(&said).next().is_none(), "{said}");
                prop_assert!(!said.chars().any(bad), "{said:?}");
                prop_assert!(defused(&said).is_none());
            }
        }

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
