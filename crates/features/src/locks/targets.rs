//! The files and globs that a command names. Only the caller's own process can see where links lead; for callers of the
//! API paths are taken by their words.

use serde::{Deserialize, Serialize};
use substrate_core::facts::Place;
use substrate_core::{Caller, Local};

use super::{files, globs};

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
    /// As in `Place`, where the caller's own process looked.
    #[serde(default)]
    pub(super) project: String,
    #[serde(default)]
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) changed_ms: Option<i64>,
}

impl Target {
    pub(super) fn place(&self) -> Place {
        Place {
            path: self.path.clone(),
            root: self.root.clone(),
            relative: self.relative.clone(),
            project: self.project.clone(),
            file: self.file.clone(),
            changed_ms: self.changed_ms,
            ..Place::default()
        }
    }

    /// Where there is no working tree of git, the folder of the project stands for it.
    fn rooted(self, project: &str) -> Self {
        match files::below(&self.path, project).filter(|_| self.root.is_empty()) {
            // A glob that names no folder is one for the whole tree, as everywhere else.
            Some(below) => Self {
                relative: if self.is_glob { with_escaped(below) } else { below.to_owned() },
                root: project.to_owned(),
                ..self
            },
            None => self,
        }
    }
}

/// What the typed paths mean, in the caller's own process.
pub(super) fn here(typed: &[String], local: &mut dyn Local) -> Vec<Target> {
    typed.iter().map(|typed| target(typed, |path| local.place(path))).collect()
}

/// What was found in the caller's process, or else what the words say.
pub(super) fn known(typed: &[String], found: &[Target], caller: &Caller) -> Vec<Target> {
    let targets: Vec<Target> = match found.len() == typed.len() {
        true => found.to_vec(),
        false => typed.iter().map(|typed| target(typed, |path| by_words(path, caller))).collect(),
    };
    targets.into_iter().map(|target| target.rooted(&caller.project)).collect()
}

fn target(typed: &str, mut place: impl FnMut(&str) -> Place) -> Target {
    if !globs::is_glob(typed) {
        let found = place(typed);
        // Whoever names a folder means what is in it.
        if found.is_folder {
            return target(&format!("{typed}/"), place);
        }
        let Place { path, root, relative, project, file, changed_ms, .. } = found;
        return Target { path, root, relative, is_glob: false, project, file, changed_ms };
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
        with_escaped(&with(&at.relative))
    };
    Target { path: with(&at.path), root: at.root, relative, is_glob: true, ..Target::default() }
}

/// The folders of a glob are names: `app/[id]/**` is about the folder `[id]`.
fn with_escaped(glob: &str) -> String {
    let mark = glob.find(['*', '?', '{']).unwrap_or(glob.len());
    let (folder, rest) = glob.split_at(glob[..mark].rfind('/').map_or(0, |at| at + 1));
    format!("{}{rest}", globs::escaped(folder))
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
            ..Place::default()
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
    #[case("app/[id]/", "/repo/app/[id]/**", "app/[[]id[]]/**", true)]
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

    #[test]
    fn a_folder_is_what_is_in_it_and_a_project_without_git_is_its_own_tree() {
        struct Plain;
        impl Local for Plain {
            fn read(&mut self, _: &str) -> Result<String, substrate_core::VerbError> {
                Ok(String::new())
            }
            fn place(&mut self, path: &str) -> Place {
                let path = path.trim_end_matches('/').trim_start_matches("./");
                let is_folder = matches!(path, "" | "." | "src");
                let path = format!("/plain/{path}");
                Place { relative: path.clone(), path, is_folder, ..Place::default() }
            }
        }
        let typed = ["src", ".", "a.rs", "*.rs", "src/*.rs"].map(str::to_owned);
        let found = here(&typed, &mut Plain);
        let caller = Caller { project: "/plain".to_owned(), ..Caller::default() };
        let known = known(&typed, &found, &caller);
        let relative: Vec<&str> = known.iter().map(|target| target.relative.as_str()).collect();
        assert_eq!(relative, ["src/**", "**", "a.rs", "*.rs", "src/*.rs"]);
        assert!(known.iter().all(|target| target.root == "/plain"));
    }
}
