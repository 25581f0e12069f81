//! Source files: their size, and what each says about itself.

use std::path::Path;

use anyhow::Result;

use super::{folders, name_of, sources_below, text};

/// Longer files fail.
const MAX_LINES: usize = 800;

/// Files that may be longer: a table has one thought, however long it is.
const TABLES: &[&str] = &[];

/// Clippy counts the lines of functions. These two lines make it fail above 80.
const FUNCTION_LIMIT: [(&str, &str); 2] =
    [("clippy.toml", "too-many-lines-threshold = 80"), ("Cargo.toml", "too_many_lines = \"warn\"")];

/// Where the features are, a folder each.
const FEATURES: &str = "crates/features/src";

pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for file in sources_below(root)? {
        out.extend(file_problems(&name_of(root, &file), &text(&file)?));
    }
    for (name, line) in FUNCTION_LIMIT {
        if !text(&root.join(name))?.contains(line) {
            out.push(format!("{name}: `{line}` is missing, so long functions pass"));
        }
    }
    for name in folders(&root.join(FEATURES))? {
        let file = format!("{FEATURES}/{name}/mod.rs");
        out.extend(header_problem(&file, &text(&root.join(&file))?));
    }
    Ok(out)
}

fn file_problems(name: &str, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES && !TABLES.contains(&name) {
        out.push(format!("{name}: {n_lines} lines, more than {MAX_LINES}; split it"));
    }
    if !text.starts_with("//!") {
        out.push(format!("{name}: does not say what it is for (`//!`)"));
    }
    out.extend(reads_the_answer(name, text));
    // In two parts, so that this file does not find itself.
    let forbidden = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ign", "ore"),
        concat!("../sha", "red"),
        concat!("clippy::too_many", "_lines"),
    ];
    for word in forbidden.iter().filter(|word| text.contains(**word)) {
        out.push(format!("{name}: has `{word}`"));
    }
    out
}

/// A feature learns from its wishes' fates what was said. Only the journal keeps the words of the answer.
fn reads_the_answer(name: &str, text: &str) -> Option<String> {
    let is_feature = name.strip_prefix("crates/features/src/").is_some_and(|it| it.contains('/'))
        && !name.contains("/tests")
        && name != "crates/features/src/journal/record.rs";
    let reads = ["verdict.context", "verdict.notice"].into_iter().find(|it| text.contains(it))?;
    is_feature.then(|| format!("{name}: reads `{reads}`; `Outcome::told` says what is in it"))
}

/// A feature's documentation is the header of its `mod.rs`: what it is for, and an example, in a fenced block or under a
/// heading of its own.
fn header_problem(name: &str, text: &str) -> Option<String> {
    let header: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let n_fences = header.iter().filter(|line| line.trim_start().starts_with("```")).count();
    let mut lines = header.iter().map(|line| line.trim());
    let has_example = n_fences >= 2
        || (lines.any(|line| line == "# Example") && lines.any(|line| !line.is_empty()));
    (!has_example).then(|| format!("{name}: its header (`//!`) has no example"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_searches_the_answer_is_found() {
        let text = "outcome.verdict.context.contains(mine)";
        let is_found = |name: &str| reads_the_answer(&format!("crates/{name}"), text).is_some();
        assert!(is_found("features/src/mail/policy.rs"));
        assert!(!is_found("features/src/mail/tests/words.rs"));
        assert!(!is_found("features/src/skills/tests.rs"));
        assert!(!is_found("features/src/stage.rs"), "for tests of all features");
        assert!(!is_found("clients/src/claude_code/encode.rs"));
    }

    #[test]
    fn a_feature_without_an_example_is_found() {
        let is_found = |text: &str| header_problem("mod.rs", text).is_some();
        assert!(is_found("//! Locks files.\n\nmod ops;\n"));
        assert!(is_found("//! Locks files.\n\n//! # Example\n//! x\n"), "below the header");
        assert!(is_found("//! Locks files.\n//! # Example\n//!\n"), "it is empty");
        assert!(!is_found(
            "//! Locks files.\n//!\n//! # Example\n//! ```text\n//! x\n//! ```\nmod ops;\n"
        ));
    }

    #[test]
    fn a_file_that_is_too_long_or_silent_is_found() {
        let long = format!("//! Long.\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(file_problems("a.rs", &long), ["a.rs: 801 lines, more than 800; split it"]);
        assert_eq!(file_problems("a.rs", "mod b;\n").len(), 1);
        assert_eq!(file_problems("a.rs", "//! Short.\n"), [""; 0]);
    }
}
