//! The arrows between the crates, and the reason for each dependency.

use std::path::Path;

use anyhow::Result;

use super::{folders, text};

/// Which of our crates a crate may depend on. Tests may use more.
const ARROWS: &[(&str, &[&str])] = &[
    ("hook", &[]),
    ("core", &[]),
    ("store", &["core"]),
    ("clients", &["core"]),
    ("features", &["core"]),
    ("web", &["core"]),
    ("hub", &["core"]),
    ("substrate", &["hook", "core", "store", "clients", "features", "web", "hub"]),
    ("browser", &[]),
    ("testkit", &["clients", "core"]),
    ("fuzz", &["hook", "core", "clients", "features"]),
];

pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    Ok([arrows(root)?, reasons(root)?].concat())
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

#[cfg(test)]
mod tests {
    use super::*;

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
