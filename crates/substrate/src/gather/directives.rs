//! The files with directions for work on a file: those of its folder and of the folders above it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::places::place;

/// How many folders are read, how many files of one folder are named, and how many in all. The caller knows which of
/// them are news, and takes a few.
const MAX_LEVELS: usize = 16;
const MAX_HERE: usize = 64;
const MAX_FILES: usize = 128;

/// How many entries of a folder are listed.
const MAX_ENTRIES: usize = 4_096;

/// The file name with a meaning in any folder, beside those that clients read themselves; and the folder whose files
/// all count.
const SHARED: &str = "AGENTS.md";
const FOLDER: &str = ".directives";

/// Their paths, links resolved, uppermost first. Empty for a file outside of any project.
pub(super) fn directives(
    file: &str,
    cwd: &str,
    project: Option<&str>,
    deadline: Instant,
) -> Vec<String> {
    let place = place(file, cwd);
    let root = if place.root.is_empty() {
        project.and_then(|dir| Path::new(dir).canonicalize().ok())
    } else {
        Some(PathBuf::from(&place.root))
    };
    let Some(root) = root else { return Vec::new() };
    let folders = Path::new(&place.path).ancestors().skip(1).take(MAX_LEVELS);
    let folders: Vec<&Path> = folders.take_while(|folder| folder.starts_with(&root)).collect();
    // From the nearest folder up: nearer ones are more likely to fit. The fixed names come first, however many other
    // files there are.
    let named = folders.iter().map(|folder| (*folder, named(folder)));
    let listed = folders.iter().map(|folder| (*folder, listed(folder)));
    let mut found: Vec<(&Path, String)> = Vec::new();
    for (folder, paths) in named.chain(listed) {
        if Instant::now() >= deadline {
            break;
        }
        for path in paths {
            // A link is resolved, and only followed inside the project.
            let Ok(path) = path.canonicalize() else { continue };
            let is_inside = path.strip_prefix(&root).is_ok_and(|below| !below.starts_with(".git"));
            let Some(text) = path.to_str().filter(|_| is_inside) else { continue };
            let is_new = found.iter().all(|(_, other)| other != text);
            if path.is_file() && found.len() < MAX_FILES && is_new {
                found.push((folder, text.to_owned()));
            }
        }
    }
    // A stable sort, so that the order within each folder stays.
    found.sort_by_key(|(folder, _)| folder.as_os_str().len());
    found.into_iter().map(|(_, path)| path).collect()
}

fn named(folder: &Path) -> Vec<PathBuf> {
    let own = substrate_clients::ALL.iter().flat_map(|client| client.dialect.own_directions);
    [SHARED].iter().chain(own).map(|name| folder.join(name)).filter(|path| path.exists()).collect()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join(FOLDER)) else { return Vec::new() };
    let mut out: Vec<PathBuf> = entries
        .flatten()
        .take(MAX_ENTRIES)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    // Sorted, because a folder lists its entries in any order and the same ones must be kept each time.
    out.sort();
    out.truncate(MAX_HERE);
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::gather::put;

    fn look(root: &Path, file: &str, project: Option<&Path>) -> Vec<String> {
        let root = root.canonicalize().unwrap();
        let project = project.map(|dir| dir.display().to_string());
        let deadline = Instant::now() + Duration::from_secs(20);
        let found = directives(file, &root.display().to_string(), project.as_deref(), deadline);
        let relative =
            |path: &String| Path::new(path).strip_prefix(&root).unwrap().display().to_string();
        found.iter().map(relative).collect()
    }

    #[test]
    fn those_above_a_file_are_found_the_uppermost_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, &["AGENTS.md", ".directives/b.md", ".directives/a.md", ".directives/x.txt"]);
        put(root, &["src/CLAUDE.md", "src/api/AGENTS.md", "src/other/AGENTS.md", "src/api/x.rs"]);
        std::fs::create_dir(root.join(".git")).unwrap();
        let expected = [
            "AGENTS.md",
            ".directives/a.md",
            ".directives/b.md",
            "src/CLAUDE.md",
            "src/api/AGENTS.md",
        ];
        assert_eq!(look(root, "src/api/x.rs", None), expected);
        assert_eq!(look(root, "src/api/new/there.rs", None), expected, "also for a new file");
        assert_eq!(look(root, "x.rs", None), expected[..3]);
        assert!(look(root, "/etc/hosts", None).is_empty());
    }

    #[test]
    fn many_in_one_folder_hide_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, &["AGENTS.md", "m/AGENTS.md", "m/x.rs"]);
        let names: Vec<String> = (0..200).map(|n| format!("m/.directives/r{n:03}.md")).collect();
        put(root, &names.iter().map(String::as_str).collect::<Vec<_>>());
        std::fs::create_dir(root.join(".git")).unwrap();
        let found = look(root, "m/x.rs", None);
        assert_eq!(found[..3], ["AGENTS.md", "m/AGENTS.md", "m/.directives/r000.md"]);
        assert_eq!((found.len(), found[65].as_str()), (66, "m/.directives/r063.md"));
    }

    #[test]
    fn without_git_the_project_is_the_limit_and_links_lead_nowhere_else() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path();
        put(root, &["AGENTS.md", "app/CLAUDE.md", "app/x.rs"]);
        put(other.path(), &["secret"]);
        std::os::unix::fs::symlink(other.path().join("secret"), root.join("app/AGENTS.md"))
            .unwrap();
        assert_eq!(look(root, "app/x.rs", Some(&root.join("app"))), ["app/CLAUDE.md"]);
        std::fs::remove_file(root.join("app/AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("CLAUDE.md", root.join("app/AGENTS.md")).unwrap();
        assert_eq!(look(root, "app/x.rs", Some(&root.join("app"))), ["app/CLAUDE.md"], "one file");
        assert!(look(root, "app/x.rs", None).is_empty());
    }
}
