//! One skill or command by its name, with all its files: the working tree's own, or else the user's.

use std::path::Path;

use substrate_core::facts::SkillFolder;
use substrate_core::seed;

use super::beginning;
use crate::config::root_of;
use crate::inside::{self, Folder};

/// How many files of a skill are read, how much of each, and how much in all.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 64 << 10;
const MAX_TOTAL: usize = 512 << 10;

/// How many entries of a folder are listed.
const MAX_ENTRIES: usize = 4_096;

/// The file that makes a folder a skill, and the one that describes its efforts.
const NAMES: [&str; 2] = ["SKILL.md", "effort.toml"];

/// Looks in the working tree of `dir`, then in `own`. The caller has checked that the name has no `/`.
pub(super) fn skill_folder(name: &str, dir: &str, own: Option<&str>) -> SkillFolder {
    let root = root_of(Path::new(dir));
    let root = root.canonicalize().unwrap_or(root);
    let text = |path: &Path| path.display().to_string();
    let of_tree = Folder::root(&root).ok();
    let tree = of_tree.as_ref();
    // A command in a folder of its own is named `folder:command`.
    let command = format!("{}.md", name.replace(':', "/"));
    let found = tree
        .and_then(|tree| skill(&tree.at(format!("{}/{name}", seed::SKILLS)).ok()?, None))
        .map(|files| (root.join(seed::SKILLS).join(name), files))
        .or_else(|| own.and_then(|own| users(&Path::new(own).join("skills").join(name))))
        .map(|(folder, files)| (text(&folder), files));
    let (folder, files) = match found {
        Some(found) => found,
        None => {
            let of_tree =
                inside::text(&root, format!("{}/{command}", seed::COMMANDS), MAX_BYTES).ok();
            let of_user = || beginning(Path::new(own?).join("commands").join(&command), MAX_BYTES);
            let one = of_tree.or_else(of_user).map(|text| (NAMES[0].to_owned(), text));
            (String::new(), one.into_iter().collect())
        }
    };
    SkillFolder { root: text(&root), folder, is_missing: files.is_empty(), files }
}

/// The user's own folder may be a link, and so may the two known files.
fn users(folder: &Path) -> Option<(std::path::PathBuf, Vec<(String, String)>)> {
    let real = folder.canonicalize().ok()?;
    let files = skill(&Folder::root(&real).ok()?, Some(&real))?;
    Some((real, files))
}

/// Its files, and those of its folders. `None` if neither of the two files is there that make it a skill.
fn skill(folder: &Folder, links: Option<&Path>) -> Option<Vec<(String, String)>> {
    let linked = |name: &str| beginning(links?.join(name), MAX_BYTES);
    let own =
        |name: &str| read(folder, name).or_else(|| linked(name)).map(|t| (name.to_owned(), t));
    let mut files: Vec<(String, String)> = NAMES.into_iter().filter_map(own).collect();
    if files.is_empty() {
        return None;
    }
    let mut n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    for path in paths(folder) {
        if files.len() >= MAX_FILES || n_bytes >= MAX_TOTAL {
            break;
        }
        let at = match path.rsplit_once('/') {
            Some((below, name)) => folder.below(below).ok().and_then(|below| read(&below, name)),
            None => read(folder, &path),
        };
        if let Some(text) = at.filter(|_| !NAMES.contains(&path.as_str())) {
            n_bytes += text.len();
            files.push((path, text));
        }
    }
    Some(files)
}

/// The candidates, sorted by name, this folder's own entries first.
fn paths(folder: &Folder) -> Vec<String> {
    let sorted = |folder: &Folder| {
        let mut names = folder.names(MAX_ENTRIES).unwrap_or_default();
        names.sort();
        names
    };
    let here = sorted(folder);
    let below = here.iter().filter_map(|name| Some((name, folder.below(name).ok()?)));
    let below: Vec<String> = below
        .flat_map(|(name, below)| {
            sorted(&below).into_iter().map(move |file| format!("{name}/{file}")).collect::<Vec<_>>()
        })
        .collect();
    here.into_iter().chain(below).collect()
}

fn read(folder: &Folder, name: &str) -> Option<String> {
    inside::beginning(folder.read(name).ok()?.0, MAX_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// A repository `p` and a user's folder `u`.
    fn house() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        put(&folder, "p/.git/HEAD", "x");
        put(&folder, "p/sub/a", "x");
        put(&folder, "outside/SKILL.md", "PRIVATE");
        folder
    }

    fn put(folder: &tempfile::TempDir, path: &str, text: &str) {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        crate::fsx::replace(&file, text.as_bytes(), 0o600).unwrap();
    }

    fn find(folder: &tempfile::TempDir, name: &str) -> SkillFolder {
        let at = |path: &str| folder.path().join(path).display().to_string();
        skill_folder(name, &at("p/sub"), Some(&at("u")))
    }

    fn names(found: &SkillFolder) -> Vec<&str> {
        found.files.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn the_trees_own_comes_first_with_all_its_files() {
        let folder = house();
        put(&folder, "u/skills/fix/SKILL.md", "the user's");
        put(&folder, "u/commands/fix.md", "a command");
        let found = find(&folder, "fix");
        assert_eq!((found.is_missing, found.files[0].1.as_str()), (false, "the user's"));
        put(&folder, "p/.claude/skills/fix/templates/plan.md", "# Plan");
        put(&folder, "p/.claude/skills/fix/effort.toml", "phases = []");
        let found = find(&folder, "fix");
        assert_eq!(names(&found), ["effort.toml", "templates/plan.md"]);
        let root = folder.path().canonicalize().unwrap().join("p");
        assert_eq!(found.root, root.display().to_string(), "the tree, not the folder in it");
        assert_eq!(found.folder, root.join(".claude/skills/fix").display().to_string());
    }

    #[rstest]
    #[case::of_the_project("p/.claude/commands/fix.md", "fix")]
    #[case::of_the_user("u/commands/fix.md", "fix")]
    #[case::in_a_folder("p/.claude/commands/door/fix.md", "door:fix")]
    fn a_command_is_one_file(#[case] path: &str, #[case] name: &str) {
        let folder = house();
        assert!(find(&folder, name).is_missing);
        put(&folder, path, "Mend it.");
        let found = find(&folder, name);
        assert_eq!((names(&found), found.folder.as_str()), (vec!["SKILL.md"], ""));
    }

    #[rstest]
    #[case::the_file("outside/SKILL.md", "p/.claude/skills/fix/SKILL.md")]
    #[case::the_folder("outside", "p/.claude/skills/fix")]
    #[case::a_command("outside/SKILL.md", "p/.claude/commands/fix.md")]
    fn nothing_of_a_tree_is_read_through_a_link(#[case] to: &str, #[case] from: &str) {
        let folder = house();
        let from = folder.path().join(from);
        std::fs::create_dir_all(from.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(folder.path().join(to), from).unwrap();
        assert!(find(&folder, "fix").is_missing);
    }

    #[test]
    fn the_users_own_may_be_links_and_files_are_bounded() {
        let folder = house();
        std::fs::create_dir_all(folder.path().join("u/skills")).unwrap();
        let (to, from) = (folder.path().join("outside"), folder.path().join("u/skills/fix"));
        std::os::unix::fs::symlink(to, from).unwrap();
        for n in 0..100 {
            put(&folder, &format!("outside/{n:03}.md"), "x");
        }
        let found = find(&folder, "fix");
        assert_eq!((found.files.len(), found.files[0].1.as_str()), (MAX_FILES, "PRIVATE"));
        assert!(found.folder.ends_with("/outside"), "{}", found.folder);
    }
}
