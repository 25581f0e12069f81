//! What git ignores. An ignore file is compiled once per change, within limits: a project may have one of any length,
//! and every edit asks.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use crate::config::common_dir;
use crate::inside;

/// A file that is longer, or has more rules, is not used. What it names counts as not ignored.
pub(crate) const MAX_BYTES: u64 = 64 << 10;
pub(crate) const MAX_RULES: usize = 1_000;

/// A rule that is longer is skipped.
const MAX_RULE: usize = 1_024;

/// How many files are cached, and how many bytes in all. A path may have an ignore file in each of its folders. One
/// that exceeds the total is not used either.
const MAX_LISTS: usize = 256;
const MAX_BYTES_OF_ALL: u64 = 2 * MAX_BYTES;

/// Whether a path is ignored, and which file was too long to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_ignored: bool,
    pub(crate) too_long: Option<PathBuf>,
}

/// A compiled ignore file. `None` if it is too long.
type Rules = Option<Gitignore>;

/// Changes when the file does.
type Stamp = (u64, u64, i64, i64, u64);

/// A cached ignore file. The first caller compiles it, and the others wait for that.
type CachedList = (Stamp, Arc<OnceLock<Rules>>);

/// An ignore file, and its length in bytes.
type LoadedList = Option<(u64, Arc<OnceLock<Rules>>)>;

static LISTS: LazyLock<Mutex<HashMap<PathBuf, CachedList>>> = LazyLock::new(Mutex::default);

/// Finds the ignore files of one tree, each once.
#[derive(Debug)]
pub(crate) struct Lists {
    root: PathBuf,
    /// The repository's own file, and the user's.
    beside: Vec<PathBuf>,
    seen: Mutex<HashMap<PathBuf, LoadedList>>,
}

impl Lists {
    /// For the tree at that root, a path without links.
    pub(crate) fn of(root: &Path) -> Self {
        let of_repository = common_dir(&root.join(".git")).map(|git| git.join("info/exclude"));
        let beside = of_repository.into_iter().chain(gitconfig_excludes_path()).collect();
        Self { root: root.to_owned(), beside, seen: Mutex::default() }
    }

    /// Applies the rules of the tree, of its folders down to the file, of the repository's own file, and of the user's.
    /// The nearest rule wins. A tracked file that a rule ignores counts as ignored: the index is too long to read here.
    pub(crate) fn judge(&self, relative: &Path, is_folder: bool) -> Verdict {
        let mut out = Verdict::default();
        if relative.starts_with(".git") {
            return Verdict { is_ignored: true, ..out };
        }
        let folders = relative.parent().into_iter().flat_map(Path::ancestors);
        let nested =
            folders.map(|folder| (self.root.join(folder).join(".gitignore"), folder, true));
        let beside = self.beside.iter().map(|file| (file.clone(), Path::new(""), false));
        let mut n_left = MAX_BYTES_OF_ALL;
        for (file, base, is_inside) in nested.chain(beside) {
            let Some((n_bytes, list)) = self.list(&file, is_inside) else { continue };
            let left = n_left.checked_sub(n_bytes.min(MAX_BYTES));
            n_left = left.unwrap_or(n_left);
            let rules = left.and_then(|_| list.get_or_init(|| compiled(&file, is_inside)).as_ref());
            let Some(rules) = rules else {
                out.too_long.get_or_insert(file);
                continue;
            };
            let below = relative.strip_prefix(base).unwrap_or(relative);
            match rules.matched_path_or_any_parents(below, is_folder) {
                Match::Ignore(_) => return Verdict { is_ignored: true, ..out },
                Match::Whitelist(_) => return out,
                Match::None => {}
            }
        }
        out
    }

    fn list(&self, file: &Path, is_inside: bool) -> LoadedList {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(file.to_owned()).or_insert_with(|| kept(file, is_inside)).clone()
    }
}

/// The current file at that path. `None` if it does not exist. As in git, a link in the tree is not followed.
fn kept(file: &Path, is_inside: bool) -> LoadedList {
    let found = if is_inside { file.symlink_metadata() } else { file.metadata() };
    let found = found.ok().filter(Metadata::is_file)?;
    let (stamp, n_bytes) = (stamp(&found), found.len());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, list)) = lists.get(file)
        && *at == stamp
    {
        return Some((n_bytes, Arc::clone(list)));
    }
    lists.remove(file);
    // A file that is too long is not compiled.
    let size = |n_bytes: u64| if n_bytes > MAX_BYTES { 0 } else { n_bytes };
    let n_kept: u64 = lists.values().map(|((.., n_bytes), _)| size(*n_bytes)).sum();
    if lists.len() >= MAX_LISTS || n_kept + size(n_bytes) > MAX_BYTES_OF_ALL {
        lists.clear();
    }
    let list = Arc::default();
    lists.insert(file.to_owned(), (stamp, Arc::clone(&list)));
    Some((n_bytes, list))
}

fn stamp(found: &Metadata) -> Stamp {
    (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.len())
}

/// The rules of a file. An unreadable one has none.
fn compiled(file: &Path, is_inside: bool) -> Rules {
    let opened = match (is_inside, file.parent()) {
        (true, Some(folder)) => inside::open(folder, ".gitignore"),
        _ => super::open(file),
    };
    let Ok((opened, n_bytes)) = opened else { return Some(Gitignore::empty()) };
    if n_bytes > MAX_BYTES { None } else { read(opened) }
}

fn read(file: File) -> Rules {
    let max = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let Ok(text) = inside::beginning(file, max) else { return Some(Gitignore::empty()) };
    let text = text.trim_start_matches('\u{feff}');
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    if text.lines().filter(is_rule).count() > MAX_RULES {
        return None;
    }
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines().filter(is_rule).filter(|line| line.len() <= MAX_RULE) {
        let _no_rule = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// Whether the file at that path is too long, for the doctor.
pub(crate) fn is_too_long(file: &Path) -> bool {
    let list = kept(file, false);
    list.is_some_and(|(_, list)| list.get_or_init(|| compiled(file, false)).is_none())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::fsx;

    fn tree(rules: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fsx::replace(&root.join(".gitignore"), rules.as_bytes(), 0o600).unwrap();
        (folder, root)
    }

    fn judge(root: &Path, path: &str) -> Verdict {
        Lists::of(root).judge(Path::new(path), false)
    }

    #[test]
    fn a_list_is_compiled_once_per_change() {
        let (_folder, root) = tree("*.log\n");
        let file = root.join(".gitignore");
        assert!(judge(&root, "a.log").is_ignored && !judge(&root, "a.tmp").is_ignored);
        let (_, first) = kept(&file, true).unwrap();
        assert!(first.get().is_some() && Arc::ptr_eq(&first, &kept(&file, true).unwrap().1));
        fsx::replace(&file, b"*.tmp\n", 0o600).unwrap();
        assert!(!judge(&root, "a.log").is_ignored && judge(&root, "a.tmp").is_ignored);
        assert!(!Arc::ptr_eq(&first, &kept(&file, true).unwrap().1));
    }

    #[test]
    fn a_list_that_is_too_long_is_not_used_and_that_is_said() {
        let lines = |n: usize| "*.log\n".repeat(n);
        for (name, text, is_used) in [
            ("many", lines(MAX_RULES), true),
            ("one more", lines(MAX_RULES + 1), false),
            ("only comments", format!("{}*.log\n", "# x\n".repeat(5_000)), true),
            ("200 KB", (0..20_000).map(|n| format!("a{n}*b\n")).collect(), false),
            ("200 KB in one rule", "a*".repeat(100_000), false),
            ("a long rule", format!("{}\n*.log\n", "a*".repeat(5_000)), true),
        ] {
            let (_folder, root) = tree(&text);
            let verdict = judge(&root, "a.log");
            assert_eq!(verdict.is_ignored, is_used, "{name}");
            assert_eq!(verdict.too_long.is_none(), is_used, "{name}");
            assert_eq!(is_too_long(&root.join(".gitignore")), !is_used, "{name}");
        }
    }

    /// The hardest files within the limits. Without limits such files took seconds and hundreds of megabytes.
    #[test]
    fn whatever_is_used_is_compiled_soon() {
        let numbered = |n: usize, rule: fn(usize) -> String| -> String {
            (0..n).map(|n| rule(n) + "\n").collect()
        };
        for (name, text) in [
            ("stars", numbered(MAX_RULES, |n| format!("**/a{n}*b*c*d*e/**/x*"))),
            ("sets", numbered(MAX_RULES, |n| format!("[!a-z]{n}[^x-z]?*[[:alpha:]]*"))),
            ("choices", numbered(MAX_RULES, |n| format!("{{a,b,c}}{n}{{d,e}}*/**"))),
            ("long ones", numbered(60, |n| format!("{n}{}", "*a".repeat(500)))),
            ("unicode", numbered(MAX_RULES, |n| format!("?{n}?ä?ö?ü*[!ß-ÿ]"))),
        ] {
            let (_folder, root) = tree(&text);
            let begun = Instant::now();
            let verdict = judge(&root, "src/deep/x.rs");
            eprintln!("{name}: {:?} {verdict:?}", begun.elapsed());
            assert!(begun.elapsed() < Duration::from_secs(10), "{name}: {:?}", begun.elapsed());
            let begun = Instant::now();
            for n in 0..100 {
                judge(&root, &format!("src/deep/x{n}.rs"));
            }
            eprintln!("{name}: 100 more {:?}", begun.elapsed());
            assert!(begun.elapsed() < Duration::from_secs(10), "{name}: {:?}", begun.elapsed());
        }
    }

    /// An ignore file in each folder on the way, each of which would be used alone.
    #[test]
    fn lists_that_are_too_long_together_are_not_used_and_that_is_said() {
        let (_folder, root) = tree("*.log\n");
        let (mut folder, mut below) = (root.clone(), PathBuf::new());
        let long = format!("*.tmp\n{}", "# x\n".repeat(15_000));
        for _ in 0..3 {
            (folder, below) = (folder.join("a"), below.join("a"));
            std::fs::create_dir(&folder).unwrap();
            fsx::replace(&folder.join(".gitignore"), long.as_bytes(), 0o600).unwrap();
        }
        let of = |path: &str| Lists::of(&root).judge(&below.join(path), false);
        assert_eq!(of("x.tmp"), Verdict { is_ignored: true, too_long: None });
        let too_long = Some(root.join("a/.gitignore"));
        assert_eq!(of("x.rs"), Verdict { is_ignored: false, too_long: too_long.clone() });
        // A short one still fits beside them.
        assert_eq!(of("x.log"), Verdict { is_ignored: true, too_long });
    }

    #[test]
    fn a_link_in_the_tree_is_no_list() {
        let (folder, root) = tree("");
        fsx::replace(&root.join("elsewhere"), b"*\n", 0o600).unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        let link = root.join("src/.gitignore");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), link).unwrap();
        assert!(!judge(&root, "src/a").is_ignored);
    }
}
