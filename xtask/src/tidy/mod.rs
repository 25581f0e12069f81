//! `cargo xtask tidy`: what no compiler checks. The arrows between the crates, the size of files, the truth of documents.

mod client_names;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::dist::workspace;
use crate::say::say;

/// Longer files fail.
const MAX_LINES: usize = 800;

/// The heading in SECURITY.md below which nothing is promised.
const UNPREVENTED: &str = "What stays possible";

/// Which of our crates a crate may depend on. Tests may use more.
const ARROWS: &[(&str, &[&str])] = &[
    ("hook", &[]),
    ("core", &[]),
    ("store", &["core"]),
    ("clients", &["core"]),
    ("features", &["core"]),
    ("substrate", &["hook", "core", "store", "clients", "features"]),
    ("testkit", &["clients", "core"]),
    ("fuzz", &["hook", "core", "clients", "features"]),
];

pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    let problems = problems(workspace())?;
    for problem in &problems {
        say!("{problem}");
    }
    if problems.is_empty() {
        say!("tidy");
    }
    Ok(problems.is_empty())
}

/// Everything that is untidy below `root`.
fn problems(root: &Path) -> Result<Vec<String>> {
    let mut out = arrows(root)?;
    out.extend(sources(root)?);
    out.extend(documents(root)?);
    out.extend(reasons(root)?);
    out.extend(promises(root)?);
    out.extend(client_names::problems(root)?);
    Ok(out)
}

fn arrows(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for (name, allowed) in ARROWS {
        let manifest = text(&root.join("crates").join(name).join("Cargo.toml"))?;
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let Some(other) = line.strip_prefix("substrate-") else { continue };
            let other = other.split(['.', ' ']).next().unwrap_or_default();
            if section == "[dependencies]" && !allowed.contains(&other) {
                out.push(format!("crates/{name} must not depend on crates/{other}"));
            }
        }
    }
    let crates = folders(&root.join("crates"))?;
    let listed = |name: &String| ARROWS.iter().any(|(known, _)| known == name);
    out.extend(
        crates
            .iter()
            .filter(|name| !listed(name))
            .map(|name| format!("crates/{name} has no arrows in tidy")),
    );
    Ok(out)
}

fn sources(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root.join(folder), &mut files)?;
    }
    // In two parts, so that this file does not find itself.
    let forbidden = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ign", "ore"),
        concat!("../sha", "red"),
    ];
    for file in files {
        let text = text(&file)?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let n_lines = text.lines().count();
        if n_lines > MAX_LINES {
            out.push(format!("{name}: {n_lines} lines; it wants to be two"));
        }
        if !text.starts_with("//!") {
            out.push(format!("{name}: does not say what it is for (`//!`)"));
        }
        out.extend(reads_the_answer(&name, &text));
        for word in forbidden.iter().filter(|word| text.contains(**word)) {
            out.push(format!("{name}: has `{word}`"));
        }
    }
    Ok(out)
}

/// A feature learns from its wishes' fates what was said. Only the journal keeps the words of the answer.
fn reads_the_answer(name: &str, text: &str) -> Option<String> {
    let is_feature = name.strip_prefix("crates/features/src/").is_some_and(|it| it.contains('/'))
        && !name.contains("/tests")
        && name != "crates/features/src/journal/record.rs";
    let reads = ["verdict.context", "verdict.notice"].into_iter().find(|it| text.contains(it))?;
    is_feature.then(|| format!("{name}: reads `{reads}`; `Outcome::told` says what is in it"))
}

fn documents(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let map = text(&root.join("ARCHITECTURE.md"))?;
    for name in folders(&root.join("crates"))? {
        if !map.contains(&format!("`crates/{name}`")) {
            out.push(format!("ARCHITECTURE.md does not name crates/{name}"));
        }
    }
    for name in folders(&root.join("crates/features/src"))? {
        if !map.contains(&format!("| `{name}` |")) {
            out.push(format!("ARCHITECTURE.md does not name the feature {name}"));
        }
    }
    let n_lines = text(&root.join("README.md"))?.lines().count();
    if n_lines > 200 {
        out.push(format!("README.md has {n_lines} lines, more than 200"));
    }
    let private = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/fa", "rm/"),
        concat!("../sha", "red"),
    ];
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "docs/custom-hooks.md",
        "docs/reference.md",
        "Makefile",
        "Cargo.toml",
    ] {
        let text = text(&root.join(name))?;
        for word in private.iter().filter(|word| text.contains(**word)) {
            out.push(format!("{name}: names `{word}`, which is nobody else's"));
        }
    }
    Ok(out)
}

/// Every line of SECURITY.md names a test that there is, but for those that say what is not prevented.
fn promises(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root.join(folder), &mut files)?;
    }
    let mut code = String::new();
    for file in files {
        code.push_str(&text(&file)?);
    }
    Ok(unproved(&text(&root.join("SECURITY.md"))?, &code))
}

/// The lines of a list that name no test in the code.
fn unproved(document: &str, code: &str) -> Vec<String> {
    let is_test = |name: &str| {
        let name = name.rsplit("::").next().unwrap_or_default();
        !name.is_empty() && code.contains(&format!("fn {name}("))
    };
    let mut out = Vec::new();
    for section in document.split("\n## ").filter(|section| !section.starts_with(UNPREVENTED)) {
        for item in section.split("\n* ").skip(1) {
            let mut named = item.split('`').skip(1).step_by(2).filter(|name| name.contains("::"));
            let is_proved = named.clone().next().is_some() && named.all(is_test);
            if !is_proved {
                let line = item.lines().next().unwrap_or_default();
                out.push(format!("SECURITY.md: no test that there is for `{line}`"));
            }
        }
    }
    out
}

/// Every dependency says why it is there.
fn reasons(root: &Path) -> Result<Vec<String>> {
    let manifest = text(&root.join("Cargo.toml"))?;
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let wants_reason = |line: &&str| {
        line.contains('=')
            && !line.starts_with('#')
            && !line.contains("path =")
            && !line.contains('#')
    };
    Ok(section
        .lines()
        .filter(wants_reason)
        .map(|line| format!("Cargo.toml: no reason for `{line}`"))
        .collect())
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("`{}`", path.display()))
}

fn folders(path: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("`{}`", path.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            out.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    out.sort();
    Ok(out)
}

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, out)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(problems(workspace()).unwrap(), [""; 0]);
    }

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
    fn a_promise_without_a_test_is_found() {
        let document = "# Security\n\n## A\n\n* kept: `it::kept`, `it::too`\n* none: `word`\n* gone:\n  `it::gone`\n\n## What stays possible\n\n* all\n";
        let found = unproved(document, "fn kept() {} fn too() {}");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("none") && found[1].contains("gone"));
    }

    #[test]
    fn a_wrong_arrow_is_found() {
        let root = tempfile::tempdir().unwrap();
        for (name, _) in ARROWS {
            let folder = root.path().join("crates").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let body = if *name == "clients" {
                "[dependencies]\nsubstrate-features.workspace = true\n"
            } else {
                ""
            };
            crate::sandbox::put_file(&folder.join("Cargo.toml"), body.as_bytes()).unwrap();
        }
        assert_eq!(
            arrows(root.path()).unwrap(),
            ["crates/clients must not depend on crates/features"]
        );
    }
}
