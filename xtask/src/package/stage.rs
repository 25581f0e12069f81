//! The folder that every package of a target is made from: programs, manual pages, completions, licences.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Target;
use crate::sandbox::put_file;
use crate::{dist, proc};

/// Where each shell looks for completions, below a prefix.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/substrate"),
    ("zsh", "share/zsh/site-functions/_substrate"),
    ("fish", "share/fish/vendor_completions.d/substrate.fish"),
];

/// Files of the checkout that go along.
const ALONG: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];

/// `ours` are the programs of this machine: the pages are the same everywhere, and only these run here.
pub(super) fn folder(out: &Path, target: Target, programs: &Path, ours: &Path) -> Result<PathBuf> {
    let folder = out.join("stage").join(target.stem());
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    for name in ["substrate", "substrate-hook"] {
        std::fs::copy(programs.join(name), bin.join(name)).with_context(|| name.to_owned())?;
    }
    for name in ALONG {
        std::fs::copy(dist::workspace().join(name), folder.join(name))
            .with_context(|| name.to_owned())?;
    }
    let ours = ours.join("substrate");
    for (shell, file) in COMPLETIONS {
        put(&folder.join(file), &said(&ours, &["completions", shell])?)?;
    }
    put(&folder.join("share/man/man1/substrate.1"), &said(&ours, &["man"])?)?;
    for name in commands(&ours)? {
        let page = folder.join(format!("share/man/man1/substrate-{name}.1"));
        put(&page, &said(&ours, &["man", &name])?)?;
    }
    Ok(folder)
}

/// The commands that help shows.
fn commands(program: &Path) -> Result<Vec<String>> {
    let listed = said(program, &["__complete", ""])?;
    let names = listed.lines().filter_map(|line| line.split('\t').next());
    Ok(names.map(str::to_owned).collect())
}

/// What a program prints, in a home that does not exist.
fn said(program: &Path, args: &[&str]) -> Result<String> {
    let home = tempfile::tempdir()?;
    let mut command = proc::command(program);
    command.args(args).env("HOME", home.path()).env("SUBSTRATE_HOME", home.path().join("state"));
    proc::output(&mut command)
}

pub(super) fn put(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    put_file(path, text.as_bytes())
}

pub(super) fn put_json(path: &Path, json: &Value) -> Result<()> {
    put(path, &format!("{json:#}\n"))
}
