//! `cargo xtask tidy`: what no compiler checks.
//!
//! * `arrows`: which crate may depend on which, and why each dependency is there
//! * `sources`: the size of files and functions, what each file and feature says about itself
//! * `documents`: their length, their sentences, and whether what they promise is tested
//! * `words`: words that we don't use, in code, comments and documents
//! * `client_names`: features never name a client

mod arrows;
mod client_names;
mod documents;
mod sources;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::dist::workspace;
use crate::say::say;

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
    let checks = [
        arrows::problems,
        sources::problems,
        documents::problems,
        words::problems,
        client_names::problems,
    ];
    let found: Result<Vec<_>> = checks.iter().map(|check| check(root)).collect();
    Ok(found?.concat())
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

/// A path as messages name it.
fn name_of(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// The source files of the workspace.
fn sources_below(root: &Path) -> Result<Vec<PathBuf>> {
    Ok([files(&root.join("crates"), &["rs"])?, files(&root.join("xtask"), &["rs"])?].concat())
}

/// The files below a folder with one of these extensions, in order. Hidden folders and build output are left out.
fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                out.extend(files(&path, extensions)?);
            }
        } else if path.extension().is_some_and(|it| extensions.iter().any(|wanted| it == *wanted)) {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(problems(workspace()).unwrap(), [""; 0]);
    }
}
