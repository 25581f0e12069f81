//! The files and globs that a command names. Only the caller's own process can see where links lead; for callers of the
//! API paths are taken by their words.

use serde::{Deserialize, Serialize};
use substrate_core::facts::Place;
use substrate_core::{Caller, Local};

use super::globs;

/// The end of a path whose folder is meant.
const ANY: &str = "-";

/// One file or glob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) root: String,
    /// The path or glob below `root`.
    pub(super) relative: String,
    #[serde(default)]
    pub(super) is_glob: bool,
}

impl Target {
    pub(super) fn place(&self) -> Place {
        Place {
            path: self.path.clone(),
            root: self.root.clone(),
            relative: self.relative.clone(),
            is_ignored: false,
        }
    }
}

/// What the typed paths mean, in the caller's own process.
pub(super) fn here(typed: &[String], local: &mut dyn Local) -> Vec<Target> {
    typed.iter().map(|typed| target(typed, |path| local.place(path))).collect()
}

/// What was found in the caller's process, or else what the words say.
pub(super) fn known(typed: &[String], found: &[Target], caller: &Caller) -> Vec<Target> {
    if found.len() == typed.len() {
        return found.to_vec();
    }
    typed.iter().map(|typed| target(typed, |path| by_words(path, caller))).collect()
}

fn target(typed: &str, mut place: impl FnMut(&str) -> Place) -> Target {
    if !globs::is_glob(typed) {
        let Place { path, root, relative, .. } = place(typed);
        return Target { path, root, relative, is_glob: false };
    }
    // The folders before the first mark are resolved, the rest stays as it is.
    let mark = typed.find(['*', '?', '{']).unwrap_or(typed.len());
    let (folder, glob) = typed.split_at(typed[..mark].rfind('/').map_or(0, |at| at + 1));
    let glob = if glob.is_empty() { "**" } else { glob };
    let at = place(&format!("{folder}{ANY}"));
    let with = |path: &str| format!("{}{glob}", path.strip_suffix(ANY).unwrap_or(path));
    // A bare name is meant in the whole tree, as everywhere else.
    let relative = if folder.is_empty() && !glob.contains('/') && at.relative == ANY {
        glob.to_owned()
    } else {
        with(&at.relative)
    };
    Target { path: with(&at.path), root: at.root, relative, is_glob: true }
}

fn by_words(path: &str, caller: &Caller) -> Place {
    let joined =
        if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", caller.cwd) };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let path = format!("/{}", parts.join("/"));
    let root = caller.project_dir.as_deref().unwrap_or(&caller.cwd).trim_end_matches('/');
    let relative = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    match relative {
        Some(relative) => Place {
            relative: relative.to_owned(),
            root: root.to_owned(),
            path: path.clone(),
            is_ignored: false,
        },
        None => Place { relative: path.clone(), path, ..Place::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("src/lib.rs", "/repo/src/lib.rs", "src/lib.rs", false)]
    #[case("./src/../a", "/repo/a", "a", false)]
    #[case("/repo/a", "/repo/a", "a", false)]
    #[case("/else/a", "/else/a", "/else/a", false)]
    #[case("src/api/**", "/repo/src/api/**", "src/api/**", true)]
    #[case("src/api/", "/repo/src/api/**", "src/api/**", true)]
    #[case("*.rs", "/repo/*.rs", "*.rs", true)]
    #[case("src/a*/b.rs", "/repo/src/a*/b.rs", "src/a*/b.rs", true)]
    fn a_path_is_known_by_its_words(
        #[case] typed: &str,
        #[case] path: &str,
        #[case] relative: &str,
        #[case] is_glob: bool,
    ) {
        let caller = Caller { cwd: "/repo".to_owned(), ..Caller::default() };
        let found = known(&[typed.to_owned()], &[], &caller).remove(0);
        assert_eq!(
            (found.path.as_str(), found.relative.as_str(), found.is_glob),
            (path, relative, is_glob)
        );
    }
}
