//! The commands about leases, and the files and globs that they name.
//!
//! Only the caller's own process can see where links lead. Paths of API callers are taken as they are written.

pub(super) mod acquire;
pub(super) mod look;
pub(super) mod release;

use serde::{Deserialize, Serialize};
use substrate_core::facts::Place;
use substrate_core::{Caller, Local};

use super::shell::plain;
use super::{files, globs};

/// Leases that are compared with a glob, or released at once.
const MAX_COMPARED: i64 = 10_000;

/// Appended to a folder to look it up as if it were a file in it.
const ANY: &str = "-";

/// A file or glob that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) root: String,
    /// The path or glob below `root`.
    pub(crate) relative: String,
    #[serde(default)]
    pub(crate) is_glob: bool,
    /// This and the rest are as in `Place`, if the caller's own process looked.
    #[serde(default)]
    pub(crate) project: String,
    #[serde(default)]
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) changed_ms: Option<i64>,
}

impl Target {
    pub(crate) fn place(&self) -> Place {
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

    /// Outside of git, the project's folder counts as the working tree.
    fn rooted(self, project: &str) -> Self {
        match files::below(&self.path, project).filter(|_| self.root.is_empty()) {
            // A glob without a folder applies to the whole tree, as everywhere.
            Some(below) => Self {
                relative: if self.is_glob { with_escaped(below) } else { below.to_owned() },
                root: project.to_owned(),
                ..self
            },
            None => self,
        }
    }
}

/// Resolves typed paths in the caller's own process.
fn here(typed: &[String], local: &mut dyn Local) -> Vec<Target> {
    typed.iter().map(|typed| target(typed, |path| local.place(path))).collect()
}

/// The targets that the caller's process found, or else the paths as they are written.
fn known(typed: &[String], found: &[Target], caller: &Caller) -> Vec<Target> {
    let targets: Vec<Target> = match found.len() == typed.len() {
        true => found.to_vec(),
        false => typed.iter().map(|typed| target(typed, |path| as_written(path, caller))).collect(),
    };
    targets.into_iter().map(|target| target.rooted(&caller.project)).collect()
}

fn target(typed: &str, mut place: impl FnMut(&str) -> Place) -> Target {
    if !globs::is_glob(typed) {
        let found = place(typed);
        // A folder means everything in it.
        if found.is_folder {
            return target(&format!("{typed}/"), place);
        }
        let Place { path, root, relative, project, file, changed_ms, .. } = found;
        return Target { path, root, relative, is_glob: false, project, file, changed_ms };
    }
    // The folders before the first glob mark are resolved; the rest stays as typed.
    let mark = typed.find(['*', '?', '{']).unwrap_or(typed.len());
    let (folder, glob) = typed.split_at(typed[..mark].rfind('/').map_or(0, |at| at + 1));
    let glob = if glob.is_empty() { "**" } else { glob };
    let at = place(&format!("{folder}{ANY}"));
    let with = |path: &str| format!("{}{glob}", path.strip_suffix(ANY).unwrap_or(path));
    // A bare name applies to the whole tree, as everywhere.
    let relative = if folder.is_empty() && !glob.contains('/') && at.relative == ANY {
        glob.to_owned()
    } else {
        with_escaped(&with(&at.relative))
    };
    Target { path: with(&at.path), root: at.root, relative, is_glob: true, ..Target::default() }
}

/// Folders of a glob are literal names: `app/[id]/**` means the folder `[id]`.
fn with_escaped(glob: &str) -> String {
    let mark = glob.find(['*', '?', '{']).unwrap_or(glob.len());
    let (folder, rest) = glob.split_at(glob[..mark].rfind('/').map_or(0, |at| at + 1));
    format!("{}{rest}", globs::escaped(folder))
}

fn as_written(path: &str, caller: &Caller) -> Place {
    let path = match path.starts_with('/') {
        true => plain(path),
        false => plain(&format!("{}/{path}", caller.cwd)),
    };
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
    fn a_path_is_resolved_as_written(
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
    fn a_folder_means_its_content_and_a_project_without_git_is_its_own_tree() {
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
