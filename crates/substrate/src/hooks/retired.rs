//! Files that an earlier installation wrote and the present one does not use.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_core::ids::checksum;

use super::manifest::Manifest;
use super::own::{Own, Purpose};
use super::plan::read;
use super::scope::{Scope, client_home};
use crate::config::Env;
use crate::error::Result;

/// One such file.
#[derive(Clone, Debug)]
pub(crate) struct Retired {
    pub(crate) path: PathBuf,
    pub(super) text: String,
    /// Another installation still has it.
    pub(crate) is_needed: bool,
}

/// The settings file of the installation.
pub(super) struct Settled<'a> {
    pub(super) client: &'a Client,
    pub(super) scope: Scope,
    pub(super) settings: &'a Path,
    /// Its current text.
    pub(super) text: Option<&'a str>,
}

/// Which of the unused files are ours to remove. An edited one is not.
pub(super) fn retired(
    env: &Env,
    manifests: &[Manifest],
    settled: &Settled<'_>,
    unused: Vec<Own>,
) -> Result<Vec<Retired>> {
    let of_library = client_home(settled.client, env)?.join("hooks/scripts");
    let is_library_used = settled.text.is_some_and(|text| text.contains("hooks/scripts/"))
        || has_others(&of_library, &unused);
    let mut out = Vec::new();
    for file in unused {
        let Some(text) = read(&file.path).ok().flatten() else { continue };
        let sum = checksum(&text);
        let is_written = |known: &&Manifest| {
            known.touched(&file.path).is_some_and(|touched| touched.after == sum)
        };
        let (own, others): (Vec<&Manifest>, Vec<&Manifest>) =
            manifests.iter().partition(|known| known.settings == settled.settings);
        // Without a manifest, only in the user's own scope do we know that nothing else calls it.
        let is_ours =
            own.iter().any(is_written) || (settled.scope == Scope::User && file.is_ours(&text));
        if !is_ours || (file.purpose == Purpose::Library && is_library_used) {
            continue;
        }
        let is_needed = others.iter().any(|other| other.touched(&file.path).is_some());
        out.push(Retired { path: file.path, text, is_needed });
    }
    Ok(out)
}

/// Whether foreign scripts are in the folder of our library. They may source it.
fn has_others(folder: &Path, ours: &[Own]) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| !ours.iter().any(|own| own.path == path || own.path.starts_with(&path)))
}
