//! Globs over the paths of a working tree. `*` stays inside a folder, `**` does not, and a glob without `/` is a name
//! that may be anywhere.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use globset::{GlobBuilder, GlobMatcher};

/// A glob that is longer is none: compiling it would take long.
const MAX_GLOB: usize = 1_024;

/// How many compiled globs are kept.
const MAX_COMPILED: usize = 1_024;

thread_local! {
    /// Compiling one takes a hundred times as long as asking it, and every edit asks them all.
    static COMPILED: RefCell<HashMap<String, Option<GlobMatcher>>> = RefCell::default();
}

/// Whether somebody typed a glob, and not the name of a file: `[id].tsx` is a name.
pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '{']) || text.ends_with('/')
}

/// Whether the glob is one at all.
pub(super) fn is_valid(glob: &str) -> bool {
    built(glob).is_some()
}

/// Whether files have such names: none has an empty part, a `.` or a `..`.
pub(super) fn is_reachable(glob: &str) -> bool {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = glob.strip_suffix('/').unwrap_or(glob);
    glob.split('/').all(|part| {
        !matches!(part, "" | ".") && part.split(['{', ',', '}']).all(|word| word != "..")
    })
}

pub(super) fn matches(glob: &str, relative: &str) -> bool {
    // Most globs are about other folders, and that is seen without a matcher.
    relative.starts_with(fixed(&whole(glob)))
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

/// Everything that is asked of globs, for a fuzzer.
pub(crate) fn ask_all(glob: &str, other: &str, path: &str) {
    let _any = (
        is_glob(glob),
        is_valid(glob),
        is_reachable(glob),
        matches(glob, path),
        may_overlap(glob, other),
    );
    let _taken =
        Taking::new(glob, true, true).takes(path) || Taking::new(glob, false, false).takes(path);
}

/// Whether any of the globs matches. One that is none matches nothing.
pub(super) fn any_matches(globs: &[String], relative: &str) -> bool {
    globs.iter().any(|glob| matches(glob, relative))
}

/// A folder's name, or a file's, as a glob that matches nothing else.
pub(super) fn escaped(name: &str) -> String {
    globset::escape(name)
}

/// Whether some path may match both. Says so too often rather than too rarely.
pub(super) fn may_overlap(a: &str, b: &str) -> bool {
    let (a, b) = (whole(a), whole(b));
    if let (Some(x), Some(y)) = (ending(&a), ending(&b))
        && x != y
    {
        return false;
    }
    let (x, y) = (fixed(&a), fixed(&b));
    x.starts_with(y) || y.starts_with(x)
}

/// A glob of a command line: which files below its folder it takes.
pub(super) struct Taking {
    /// `None`: everything, where nobody can say.
    matcher: Option<GlobMatcher>,
    /// Folders that match are taken with what is in them.
    is_deep: bool,
}

impl Taking {
    /// To git `*` is also what is in folders (`as_git`), to a shell it is not.
    pub(super) fn new(glob: &str, as_git: bool, is_deep: bool) -> Self {
        let glob = GlobBuilder::new(glob.trim_end_matches('/')).literal_separator(!as_git).build();
        Self { matcher: glob.ok().map(|glob| glob.compile_matcher()), is_deep }
    }

    pub(super) fn takes(&self, below: &str) -> bool {
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

/// As the matcher reads it. `./name` is a file of the root itself.
fn whole(glob: &str) -> Cow<'_, str> {
    match (glob.strip_prefix("./"), glob.contains('/'), glob.ends_with('/')) {
        (_, _, true) => Cow::Owned(format!("{}**", glob.trim_start_matches("./"))),
        (Some(rooted), _, false) => Cow::Borrowed(rooted),
        (None, true, false) => Cow::Borrowed(glob),
        (None, false, false) => Cow::Owned(format!("**/{glob}")),
    }
}

/// What every match begins with.
fn fixed(glob: &str) -> &str {
    let end = glob.find(['*', '?', '{', '[', '\\']).unwrap_or(glob.len());
    &glob[..end]
}

/// The plain extension that every match ends with, e.g. `rs` of `src/**/*.rs`.
fn ending(glob: &str) -> Option<&str> {
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
    fn only_what_may_match_is_compiled_and_only_once() {
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
    fn a_glob_is_one_of_names_that_files_have(#[case] glob: &str, #[case] expected: bool) {
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
    fn a_name_is_no_glob(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_glob(text), expected);
    }
}
