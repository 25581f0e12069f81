//! The arguments of a command, told apart as the command itself does: shortened flags, values that are glued to theirs.

use crate::shell::Word;

/// The flags of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    /// Letters whose flag has a value.
    pub(super) values: &'static str,
    /// Letters that take what is glued to them, and nothing else: `-i.bak`.
    pub(super) glued: &'static str,
    /// The long ones; those that end in `=` have a value.
    pub(super) longs: &'static [&'static str],
}

/// What a command was given.
#[derive(Debug, Default)]
pub(super) struct Args<'w> {
    shorts: String,
    longs: Vec<&'static str>,
    /// Which flag has which value.
    values: Vec<(&'static str, Word)>,
    /// What is neither a flag nor the value of one, before `--`.
    pub(super) words: Vec<&'w Word>,
    /// What comes after `--`, if that is there.
    pub(super) paths: Option<Vec<&'w Word>>,
    /// It also gets what is not seen here.
    pub(super) is_open: bool,
    /// It only prints how it is used.
    pub(super) is_help: bool,
}

impl<'w> Args<'w> {
    pub(super) fn read(words: &'w [Word], spec: Spec) -> Self {
        let mut out = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if let Some(paths) = &mut out.paths {
                paths.push(word);
            } else if text == "--" {
                out.paths = Some(Vec::new());
            } else if let Some(long) = text.strip_prefix("--") {
                out.is_help |= matches!(text, "--help" | "--version");
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let Some(found) = known(name, spec.longs) else { continue };
                let bare = found.trim_end_matches('=');
                out.longs.push(bare);
                if let Some(value) = value {
                    out.values.push((bare, Word { text: value.to_owned(), ..word.clone() }));
                } else if found.ends_with('=') {
                    out.values.extend(rest.next().map(|value| (bare, value.clone())));
                }
            } else if let Some(letters) = text.strip_prefix('-').filter(|text| !text.is_empty()) {
                out.is_help |= letters == "h";
                for (at, letter) in letters.char_indices() {
                    out.shorts.push(letter);
                    let glued = &letters[at + letter.len_utf8()..];
                    if let Some(n) = spec.glued.find(letter) {
                        let name = &spec.glued[n..n + letter.len_utf8()];
                        let value = Word { text: glued.to_owned(), ..word.clone() };
                        out.values.push((name, value));
                        break;
                    }
                    let Some(n) = spec.values.find(letter) else { continue };
                    let value = match glued.is_empty() {
                        true => rest.next().cloned(),
                        false => Some(Word { text: glued.to_owned(), ..word.clone() }),
                    };
                    let name = &spec.values[n..n + letter.len_utf8()];
                    out.values.extend(value.map(|value| (name, value)));
                    break;
                }
            } else {
                out.words.push(word);
            }
        }
        out
    }

    /// Whether one of these is there: `f` for `-f`, `force` for `--force`.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| match name.len() {
            1 => self.shorts.contains(name),
            _ => self.longs.contains(name),
        })
    }

    /// Which of these was said last.
    pub(super) fn last(&self, names: &[&str]) -> Option<&'static str> {
        self.longs.iter().rev().find(|name| names.contains(name)).copied()
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Word> {
        self.values.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| value)
    }

    /// Everything that is no flag, whatever is before or after `--`.
    pub(super) fn all(&self) -> Vec<&'w Word> {
        self.words.iter().chain(self.paths.iter().flatten()).copied().collect()
    }
}

/// The flag that is meant: its beginning is enough where no other begins so.
fn known(name: &str, longs: &'static [&'static str]) -> Option<&'static str> {
    let bare = |long: &&&str| long.trim_end_matches('=') == name;
    if let Some(exact) = longs.iter().find(bare) {
        return Some(exact);
    }
    let mut begun = longs.iter().filter(|long| !name.is_empty() && long.starts_with(name));
    let first = begun.next()?;
    begun.next().is_none().then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SPEC: Spec = Spec {
        values: "be",
        glued: "i",
        longs: &["force", "force-create=", "hard", "exclude=", "help"],
    };

    fn words(line: &str) -> Vec<Word> {
        line.split(' ').map(Word::plain).collect()
    }

    #[rstest]
    #[case("-bfix", "f", false)]
    #[case("-qf", "f", true)]
    #[case("-enode_modules -f", "f", true)]
    #[case("-e -f", "f", false)]
    #[case("--har", "hard", true)]
    #[case("--forc", "force", false)]
    #[case("--force", "force", true)]
    #[case("--exclude --hard", "hard", false)]
    #[case("--exclude=x --hard", "hard", true)]
    #[case("-- --hard", "hard", false)]
    #[case("--no-hard", "hard", false)]
    #[case("-i.hf -q", "f", false)]
    #[case("-ifq", "q", false)]
    #[case("-i -f", "f", true)]
    fn a_flag_is_there(#[case] line: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(Args::read(&words(line), SPEC).has(&[name]), expected);
    }

    #[test]
    fn what_is_no_flag_is_a_word() {
        let line = words("a -b c d --exclude e f -- -g");
        let args = Args::read(&line, SPEC);
        let texts: Vec<&str> = args.all().iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["a", "d", "f", "-g"]);
        assert_eq!(args.value(&["exclude"]).map(|word| word.text.as_str()), Some("e"));
        assert_eq!(args.value(&["b"]).map(|word| word.text.as_str()), Some("c"));
    }
}
