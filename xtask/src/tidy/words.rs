//! Words that we don't use, in code, comments and documents.

use std::path::Path;

use anyhow::Result;

use super::{files, name_of, text};

/// In two parts, so that this file does not find itself. A plural or a genitive counts as well.
const BANNED: [&str; 5] = [
    concat!("who", "ever"),
    concat!("some", "body"),
    concat!("every", "body"),
    concat!("no", "body"),
    concat!("an", "ew"),
];

/// The files that are read.
const READ: &[&str] = &["rs", "md", "toml", "sh", "txt", "snap"];

/// Files that may have them, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/core/src/redact/tests/harmless.txt", "a corpus of other texts"),
    ("crates/features/src/guards/tests/commands.toml", "the name of a system user"),
];

/// Every line with such a word, and every exception that is not needed.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for file in files(root, READ)? {
        let name = name_of(root, &file);
        let found = banned_in(&text(&file)?);
        match ALLOWED.iter().find(|(allowed, _)| *allowed == name) {
            Some(_) if found.is_empty() => {
                out.push(format!("{name}: is allowed to use banned words, but uses none"));
            }
            Some(_) => {}
            None => {
                let line = |(at, word): &(usize, String)| format!("{name}:{at}: says `{word}`");
                out.extend(found.iter().map(line));
            }
        }
    }
    Ok(out)
}

/// The banned words of a text, each with its line. Parts of identifiers count as words.
fn banned_in(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.to_lowercase();
        let words = line.split(|c: char| !c.is_alphabetic());
        let is_banned = |word: &&str| {
            BANNED.contains(word)
                || word.strip_suffix('s').is_some_and(|word| BANNED.contains(&word))
        };
        out.extend(words.filter(is_banned).map(|word| (at, word.to_owned())));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_word_is_found_in_prose_and_in_names() {
        let [first, second, ..] = BANNED;
        let text = format!("fine\n{}. fn a_{second}s_b()\nx{first}\n", first.to_uppercase());
        assert_eq!(banned_in(&text), [(2, first.to_owned()), (2, format!("{second}s"))]);
    }
}
