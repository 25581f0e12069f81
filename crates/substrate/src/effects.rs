//! What features want done outside the database, after the commit.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use substrate_core::Effect;

use crate::config::Home;
use crate::fsx;

/// Carries effects out, and returns the keys whose waiters must look again.
pub(crate) fn carry_out(home: &Home, effects: Vec<Effect>) -> Vec<String> {
    let mut woken = Vec::new();
    for effect in effects {
        match effect {
            Effect::Wake { key } => woken.push(key),
            Effect::Keep { path, text } => {
                if let Err(error) = keep(home, &path, &text) {
                    tracing::error!(path, %error, "file could not be kept");
                }
            }
            Effect::Forget { path } => {
                if let Some(file) = below(home, &path) {
                    let _maybe_gone = std::fs::remove_file(file);
                }
            }
        }
    }
    woken
}

fn keep(home: &Home, path: &str, text: &str) -> std::io::Result<()> {
    let file = below(home, path).ok_or(std::io::ErrorKind::InvalidInput)?;
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fsx::mirror(&file, text.as_bytes())
}

/// The file of that name below the state home; nothing else has a name.
fn below(home: &Home, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| home.root().join(path))
}
