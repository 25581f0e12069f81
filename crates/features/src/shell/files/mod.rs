//! What a line does to files, read from its words alone: which it plainly writes, and which it sweeps away.

mod copies;
mod flags;
pub(crate) mod sweeps;
pub(crate) mod writes;

/// What lines write and sweep away.
#[cfg(test)]
mod tests {
    mod sweeps;
    mod writes;
}

use super::{Line, Word};

/// The files that a word of a command covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathScope {
    /// As seen from the shell's folder.
    pub(crate) path: String,
    pub(crate) extent: Extent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only that file.
    File,
    /// That file, or everything in that folder.
    Below,
    /// What matches a glob in that folder.
    Glob { glob: String, as_git: bool, is_deep: bool },
}

/// The functions that run. A function that is only defined does nothing.
pub(crate) fn called(line: &Line) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    loop {
        let n = out.len();
        for simple in &line.commands {
            let runs = simple.function.as_deref().is_none_or(|name| out.contains(&name));
            let name = simple.name();
            let is_function = line.functions.iter().any(|function| function == name);
            if runs && is_function && !out.contains(&name) {
                out.push(name);
            }
        }
        if out.len() == n {
            return out;
        }
    }
}

/// The files that a word names in the shell. `None` if it is unknown.
pub(crate) fn named(word: &Word, is_deep: bool) -> Option<PathScope> {
    let path = word.path()?;
    if !word.has_glob && !word.has_braces {
        return Some(PathScope {
            path,
            extent: if is_deep { Extent::Below } else { Extent::File },
        });
    }
    let marks: &[char] = if word.has_braces { &['*', '?', '[', '{'] } else { &['*', '?', '['] };
    globbed(&path, marks, false, is_deep)
}

/// A path with glob marks. `None` if it could lead anywhere.
pub(crate) fn globbed(
    path: &str,
    marks: &[char],
    as_git: bool,
    is_deep: bool,
) -> Option<PathScope> {
    let mark = path.find(marks)?;
    let (folder, glob) = path.split_at(path[..mark].rfind('/').map_or(0, |at| at + 1));
    let path = if folder.is_empty() { "." } else { folder };
    // `..` leads out of the folder, or is a range in braces.
    let extent = Extent::Glob { glob: glob.to_owned(), as_git, is_deep };
    (!glob.contains("..")).then(|| PathScope { path: path.to_owned(), extent })
}

/// A path without `.` and, where possible, without `..`.
pub(crate) fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if path.starts_with('/') || parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}
