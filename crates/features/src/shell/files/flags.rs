//! The arguments of a command, parsed as the command does it: abbreviated flags, values glued to their flags.

use crate::shell::Word;

/// The flags of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlagSpec {
    /// Letters whose flag takes a value.
    pub(crate) values: &'static str,
    /// Letters whose value must be glued to them: `-i.bak`.
    pub(crate) glued: &'static str,
    /// Long flags. Those that end in `=` take a value.
    pub(crate) longs: &'static [&'static str],
}

/// The arguments that a command was given.
#[derive(Debug, Default)]
pub(crate) struct CommandArgs<'w> {
    shorts: String,
    longs: Vec<&'static str>,
    /// The values, each with its flag.
    values: Vec<(&'static str, Word)>,
    /// Words before `--` that are neither flags nor their values.
    pub(crate) words: Vec<&'w Word>,
    /// The words after `--`, if there is one.
    pub(crate) paths: Option<Vec<&'w Word>>,
    /// It gets further arguments that the line does not show.
    pub(crate) is_open: bool,
    /// It only prints its help.
    pub(crate) is_help: bool,
}

impl<'w> CommandArgs<'w> {
    pub(crate) fn read(words: &'w [Word], spec: FlagSpec) -> Self {
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

    /// Whether one of these flags is given: `f` for `-f`, `force` for `--force`.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| match name.len() {
            1 => self.shorts.contains(name),
            _ => self.longs.contains(name),
        })
    }

    /// The last of these flags.
    pub(crate) fn last(&self, names: &[&str]) -> Option<&'static str> {
        self.longs.iter().rev().find(|name| names.contains(name)).copied()
    }

    pub(crate) fn value(&self, names: &[&str]) -> Option<&Word> {
        self.values.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| value)
    }

    /// All words that are not flags, before and after `--`.
    pub(crate) fn all(&self) -> Vec<&'w Word> {
        self.words.iter().chain(self.paths.iter().flatten()).copied().collect()
    }
}

/// The long flag that is meant. An unambiguous prefix is enough.
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

    const SPEC: FlagSpec = FlagSpec {
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
        assert_eq!(CommandArgs::read(&words(line), SPEC).has(&[name]), expected);
    }

    #[test]
    fn what_is_not_a_flag_is_a_word() {
        let line = words("a -b c d --exclude e f -- -g");
        let args = CommandArgs::read(&line, SPEC);
        let texts: Vec<&str> = args.all().iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["a", "d", "f", "-g"]);
        assert_eq!(args.value(&["exclude"]).map(|word| word.text.as_str()), Some("e"));
        assert_eq!(args.value(&["b"]).map(|word| word.text.as_str()), Some("c"));
    }
}
