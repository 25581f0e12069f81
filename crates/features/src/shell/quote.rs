//! Words as text: quoted for a shell, and split as a shell splits them.

use substrate_core::text::shell_word;

use super::Word;

/// Words as they could be written: what a shell would replace stays so.
pub(super) fn as_script(words: &[Word]) -> String {
    let one = |word: &Word| {
        let is_raw = word.has_unknown || word.has_tilde || word.has_glob;
        if is_raw {
            return word.text.clone();
        }
        shell_word(&word.text)
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Words with quotes and backslashes, without anything that a shell would replace. `None`: a quote does not end.
pub(crate) fn split(text: &str) -> Option<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut is_in_word = false;
    let mut chars = text.chars();
    let mut push = |is_in_word: &mut bool, more: &str| {
        if !*is_in_word {
            out.push(String::new());
            *is_in_word = true;
        }
        if let Some(word) = out.last_mut() {
            word.push_str(more);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => is_in_word = false,
            '\'' => {
                let (inner, rest) = chars.as_str().split_once('\'')?;
                push(&mut is_in_word, inner);
                chars = rest.chars();
            }
            '"' => {
                push(&mut is_in_word, "");
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            '\n' => {}
                            c @ ('"' | '\\' | '$' | '`') => {
                                push(&mut is_in_word, c.encode_utf8(&mut [0; 4]));
                            }
                            c => push(&mut is_in_word, &format!("\\{c}")),
                        },
                        c => push(&mut is_in_word, c.encode_utf8(&mut [0; 4])),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                c => push(&mut is_in_word, c.encode_utf8(&mut [0; 4])),
            },
            c => push(&mut is_in_word, c.encode_utf8(&mut [0; 4])),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("src/lib.rs", "src/lib.rs")]
    #[case::empty("", "''")]
    #[case::blank("a b", "'a b'")]
    #[case::quote("it's", r"'it'\''s'")]
    #[case::substitution("$(x)", "'$(x)'")]
    #[case::history("^a", "'^a'")]
    fn a_word_is_quoted_where_a_shell_needs_it(#[case] word: &str, #[case] expected: &str) {
        assert_eq!(as_script(&[Word::plain(word)]), expected);
        assert_eq!(split(expected), Some(vec![word.to_owned()]), "and read back");
    }

    #[rstest]
    #[case::words("reset  --hard\tHEAD", Some(&["reset", "--hard", "HEAD"][..]))]
    #[case::joined(r#"a'b c'"d e"\ f"#, Some(&["ab cd e f"][..]))]
    #[case::escapes(r#""\$x \" \n""#, Some(&[r#"$x " \n"#][..]))]
    #[case::empty("''", Some(&[""][..]))]
    #[case::nothing(" ", Some(&[][..]))]
    #[case::single_open("a 'b", None)]
    #[case::double_open("a \"b", None)]
    #[case::escape_at_the_end("a\\", None)]
    fn text_is_split_into_words(#[case] text: &str, #[case] expected: Option<&[&str]>) {
        let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(split(text), expected);
    }
}
