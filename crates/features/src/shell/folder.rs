//! Where a line's commands run: `cd`, `pushd`, `popd`, and what a subshell forgets.
//!
//! A folder is written relative to the shell's own folder. Empty means that folder, `~` and `~/…` mean home, and what
//! begins with `$` is unknown.

use super::{Simple, Word};

/// Folders on the stack of `pushd` that are remembered.
const MAX_STACK: usize = 64;

/// The part of a path that stands for the top of the working tree around what precedes it.
pub(crate) const TOP: &str = ":top";

/// The same, seen from where the shell is, in a word.
pub(super) const TOP_HERE: &str = "$PWD/:top";

/// A folder that the line does not name.
const UNKNOWN: &str = "$?";

#[derive(Clone, Debug, Default)]
pub(super) struct Whereabouts {
    pub(super) folder: String,
    /// Where `cd -` leads to.
    before: Option<String>,
    stack: Vec<String>,
}

impl Whereabouts {
    /// What follows from a command that was read.
    pub(super) fn follow(&mut self, made: &Simple, before: &[Simple]) {
        match made.name() {
            "cd" | "chdir" => {
                let to = made.args().next();
                self.go(match to {
                    None => "~".to_owned(),
                    Some(word) if word.text == "-" => self.back(),
                    Some(word) => into(&self.folder, word, before),
                });
            }
            "pushd" => {
                let only_notes = made.words.iter().any(|word| word.text == "-n");
                let to = made.words.iter().skip(1).find(|word| !word.is_flag());
                let to = match to {
                    _ if only_notes => return self.stack.clear(),
                    None => self.stack.pop().unwrap_or_else(|| UNKNOWN.to_owned()),
                    Some(word) if word.text == "-" => self.back(),
                    Some(word) if word.text.starts_with('+') => UNKNOWN.to_owned(),
                    Some(word) => into(&self.folder, word, before),
                };
                if self.stack.len() >= MAX_STACK {
                    self.stack.clear();
                }
                self.stack.push(self.folder.clone());
                self.go(to);
            }
            "popd" => {
                let is_plain = made.words.len() == 1;
                let to = self.stack.pop().filter(|_| is_plain);
                self.go(to.unwrap_or_else(|| UNKNOWN.to_owned()));
            }
            _ => {}
        }
    }

    fn go(&mut self, to: String) {
        self.before = Some(std::mem::replace(&mut self.folder, to));
    }

    fn back(&self) -> String {
        self.before.clone().unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

/// The folder that a word means, from another one. `before`: the commands of the line so far.
pub(super) fn into(folder: &str, word: &Word, before: &[Simple]) -> String {
    let is_one = !word.has_glob && !word.has_braces;
    if let Some(after) = word.text.strip_prefix(TOP_HERE).filter(|rest| is_end(rest))
        && word.has_unknown
    {
        let is_below = is_one && !after.contains("..") && !after.contains('$');
        return if is_below { format!("{TOP}{after}") } else { format!("{UNKNOWN}{after}") };
    }
    let after = word.text.strip_prefix("$(…)").filter(|rest| is_end(rest));
    if let (Some(after), [at]) = (after, word.runs.as_slice())
        && !after.contains('$')
        && !after.contains("..")
        && let Some(git) = before.get(*at).and_then(|made| made.git.as_ref())
        && git.sub == "rev-parse"
        && git.args.iter().any(|arg| arg.text == "--show-toplevel")
    {
        return format!("{}{after}", joined(&git.folder, TOP));
    }
    match word.path().filter(|_| is_one) {
        Some(path) => joined(folder, &path),
        None if word.text.starts_with('$') => word.text.clone(),
        None => format!("{UNKNOWN}{}", word.text),
    }
}

/// A path as it is seen from where the shell is.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~', '$']) {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

/// Whether it is known which folder or file that is.
pub(crate) fn is_known(path: &str) -> bool {
    !path.starts_with('$') && path.strip_prefix('~').is_none_or(is_end)
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

impl Word {
    /// The path that it says: home is `~`, and a name that only looks so begins with `./`. `None` where a variable or a
    /// substitution in it is not known, or it is another user's home.
    pub(crate) fn path(&self) -> Option<String> {
        let text = self.text.as_str();
        if self.has_unknown {
            let known = |(name, stands): &(&str, &str)| {
                let rest = text.strip_prefix(name).filter(|rest| is_end(rest))?;
                (!rest.contains(['$', '(', '<'])).then(|| format!("{stands}{rest}"))
            };
            return [("$HOME", "~"), ("$PWD", ".")].iter().find_map(known);
        }
        match text.starts_with(['~', '$']) {
            true if self.has_tilde => is_known(text).then(|| text.to_owned()),
            true => Some(format!("./{text}")),
            false => Some(text.to_owned()),
        }
    }
}
