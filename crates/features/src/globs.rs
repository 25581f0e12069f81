//! Globs over the paths of a working tree. `*` stays inside a folder, `**` crosses folders, and a glob without `/` is a
//! name that matches in any folder.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use globset::{GlobBuilder, GlobMatcher};

/// Longer globs are invalid: compiling them would take too long.
const MAX_GLOB: usize = 1_024;

/// Compiled globs that are kept.
const MAX_COMPILED: usize = 1_024;

thread_local! {
    /// Compiling a glob takes a hundred times as long as matching it, and every edit matches them all.
    static COMPILED: RefCell<HashMap<String, Option<GlobMatcher>>> = RefCell::default();
}

/// Whether a typed text is a glob and not a file name: `[id].tsx` is a name.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '{']) || text.ends_with('/')
}

/// Whether the glob compiles.
pub(crate) fn is_valid(glob: &str) -> bool {
    built(glob).is_some()
}

/// Whether the glob can match any path. No path has an empty part, a `.` or a `..`.
pub(crate) fn is_reachable(glob: &str) -> bool {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = glob.strip_suffix('/').unwrap_or(glob);
    glob.split('/').all(|part| {
        !matches!(part, "" | ".") && part.split(['{', ',', '}']).all(|word| word != "..")
    })
}

pub(crate) fn matches(glob: &str, relative: &str) -> bool {
    // Most globs are about other folders, which their literal prefix shows without a matcher.
    relative.starts_with(prefix(&whole(glob)))
        && COMPILED.with_borrow_mut(|known| {
            if !known.contains_key(glob) {
                if known.len() >= MAX_COMPILED {
                    known.clear();
                }
                let matcher = built(glob).map(|glob| glob.compile_matcher());
                known.insert(glob.to_owned(), matcher);
            }
            known.get(glob).and_then(Option::as_ref).is_some_and(|glob| glob.is_match(relative))
        })
}

/// Runs every function here, for a fuzzer.
pub(crate) fn ask_all(glob: &str, other: &str, path: &str) {
    let _any = (
        is_glob(glob),
        is_valid(glob),
        is_reachable(glob),
        matches(glob, path),
        may_overlap(glob, other),
    );
    let _taken = GlobScope::new(glob, true, true).covers(path)
        || GlobScope::new(glob, false, false).covers(path);
}

/// Whether any of the globs matches. An invalid glob matches nothing.
pub(crate) fn any_matches(globs: &[String], relative: &str) -> bool {
    globs.iter().any(|glob| matches(glob, relative))
}

/// A glob that matches only this name.
pub(crate) fn escaped(name: &str) -> String {
    globset::escape(name)
}

/// Whether some path may match both. Errs on the side of yes.
pub(crate) fn may_overlap(a: &str, b: &str) -> bool {
    let (a, b) = (whole(a), whole(b));
    if let (Some(x), Some(y)) = (extension(&a), extension(&b))
        && x != y
    {
        return false;
    }
    let (x, y) = (prefix(&a), prefix(&b));
    x.starts_with(y) || y.starts_with(x)
}

/// A glob on a command line, and which files below its folder it covers.
pub(crate) struct GlobScope {
    /// `None`: unknown, so it covers everything.
    matcher: Option<GlobMatcher>,
    /// A folder that matches is covered with its content.
    is_deep: bool,
}

impl GlobScope {
    /// In git (`as_git`) `*` also matches `/`; in a shell it does not.
    pub(crate) fn new(glob: &str, as_git: bool, is_deep: bool) -> Self {
        let glob = GlobBuilder::new(glob.trim_end_matches('/')).literal_separator(!as_git).build();
        Self { matcher: glob.ok().map(|glob| glob.compile_matcher()), is_deep }
    }

    pub(crate) fn covers(&self, below: &str) -> bool {
        let Some(matcher) = &self.matcher else { return true };
        let ends = below.match_indices('/').map(|(at, _)| at).filter(|_| self.is_deep);
        matcher.is_match(below) || ends.into_iter().any(|at| matcher.is_match(&below[..at]))
    }
}

fn built(glob: &str) -> Option<globset::Glob> {
    if glob.is_empty() || glob.len() > MAX_GLOB {
        return None;
    }
    GlobBuilder::new(&whole(glob)).literal_separator(true).build().ok()
}

/// The form that the matcher gets. `./name` is a file directly in the root.
fn whole(glob: &str) -> Cow<'_, str> {
    match (glob.strip_prefix("./"), glob.contains('/'), glob.ends_with('/')) {
        (_, _, true) => Cow::Owned(format!("{}**", glob.trim_start_matches("./"))),
        (Some(rooted), _, false) => Cow::Borrowed(rooted),
        (None, true, false) => Cow::Borrowed(glob),
        (None, false, false) => Cow::Owned(format!("**/{glob}")),
    }
}

/// The literal prefix of every match.
fn prefix(glob: &str) -> &str {
    let end = glob.find(['*', '?', '{', '[', '\\']).unwrap_or(glob.len());
    &glob[..end]
}

/// The literal extension of every match, e.g. `rs` for `src/**/*.rs`.
fn extension(glob: &str) -> Option<&str> {
    let (_, ending) = glob.rsplit_once("*.")?;
    ending.chars().all(char::is_alphanumeric).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("**/*.ts", "a.ts", true)]
    #[case("**/*.ts", "src/deep/a.ts", true)]
    #[case("**/*.ts", "src/a.tsx", false)]
    #[case("*.ts", "src/deep/a.ts", true)]
    #[case("src/*.ts", "src/a.ts", true)]
    #[case("src/*.ts", "src/deep/a.ts", false)]
    #[case("src/api/**", "src/api/x/y.rs", true)]
    #[case("src/api/", "src/api/x/y.rs", true)]
    #[case("src/api/**", "src/apis.rs", false)]
    #[case("./src/*.{rs,ts}", "src/a.rs", true)]
    #[case("./a.rs", "a.rs", true)]
    #[case("./a.rs", "src/a.rs", false)]
    #[case("a[", "a[", false)]
    #[case("", "a", false)]
    fn a_glob_matches(#[case] glob: &str, #[case] relative: &str, #[case] expected: bool) {
        assert_eq!(matches(glob, relative), expected);
        assert_eq!(any_matches(&["nothing".to_owned(), glob.to_owned()], relative), expected);
    }

    #[test]
    fn only_globs_that_may_match_are_compiled_and_only_once() {
        COMPILED.with_borrow_mut(HashMap::clear);
        for i in 0..2_000 {
            assert!(!matches(&format!("other{i}/**"), "src/a.rs"));
        }
        assert!(matches("src/**", "src/a.rs") && matches("src/**", "src/b.rs"));
        assert_eq!(COMPILED.with_borrow(HashMap::len), 1);
        for i in 0..2_000 {
            assert!(!matches(&format!("**/{i}.rs"), "src/a.rs"));
        }
        assert!(COMPILED.with_borrow(HashMap::len) <= MAX_COMPILED);
    }

    #[rstest]
    #[case("src/**", true)]
    #[case("./src/**/*.rs", true)]
    #[case("src/*/", true)]
    #[case("*..rs", true)]
    #[case("**/../x/*", false)]
    #[case("*/./x", false)]
    #[case("*//x", false)]
    #[case("{a,../b}/*", false)]
    fn a_glob_can_match_a_path(#[case] glob: &str, #[case] expected: bool) {
        assert_eq!(is_reachable(glob), expected);
    }

    #[rstest]
    #[case("src/**", "src/api/**", true)]
    #[case("src/api/**", "src/web/**", false)]
    #[case("src/**/*.rs", "src/**/*.ts", false)]
    #[case("**/*.rs", "src/lib.rs", true)]
    #[case("*.rs", "docs/**", true)]
    #[case("docs/a.md", "docs/a.md", true)]
    fn globs_overlap(#[case] a: &str, #[case] b: &str, #[case] expected: bool) {
        assert_eq!(may_overlap(a, b), expected);
        assert_eq!(may_overlap(b, a), expected);
    }

    #[rstest]
    #[case("src/[id].tsx", false)]
    #[case("src/lib.rs", false)]
    #[case("src/", true)]
    #[case("src/**", true)]
    fn a_name_is_not_a_glob(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_glob(text), expected);
    }
}
