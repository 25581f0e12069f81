//! Effects: what features want done outside the database, after the commit.

mod artifact;
pub(crate) mod logs;
mod mirror;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use substrate_core::redact::clean;
use substrate_core::{Effect, Timestamp};

use crate::config::{Home, is_worked_in};
use crate::fsx;
use crate::tmux::Painter;

/// Carries out what needs only memory. Returns the keys whose waiters must look again, and the effects that write
/// files.
pub(crate) fn split(painter: &Painter, effects: Vec<Effect>) -> (Vec<String>, Vec<Effect>) {
    let (mut woken, mut files) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Wake { key } => woken.push(key),
            Effect::Paint { pane, look } => painter.want(pane, look),
            Effect::Show { pane } => painter.show(pane),
            effect => files.push(effect),
        }
    }
    (woken, files)
}

/// The folder that an effect writes below. Effects of one folder run one after the other.
pub(crate) fn folder<'a>(home: &'a Home, effect: &'a Effect) -> &'a Path {
    match effect {
        Effect::Mirror { root, .. }
        | Effect::SessionLog { root, .. }
        | Effect::ProjectFolders { root }
        | Effect::RotateLogs { root, .. }
        | Effect::Artifact { root, .. } => Path::new(root),
        Effect::Keep { .. }
        | Effect::Forget { .. }
        | Effect::Wake { .. }
        | Effect::Soon { .. }
        | Effect::Paint { .. }
        | Effect::Show { .. } => home.root(),
    }
}

/// Carries out one effect that writes files. It hangs if the file system hangs.
pub(crate) fn write(home: &Home, effect: Effect) {
    match effect {
        Effect::Keep { path, text } => {
            if let Err(error) = keep(home, &path, &text) {
                tracing::error!(path, %error, "could not write a file of the state home");
            }
        }
        Effect::Forget { path } => {
            if let Some(file) = below(home, &path) {
                let _maybe_gone = std::fs::remove_file(file);
            }
        }
        Effect::Mirror { root, path, text, append } => {
            if let Err(error) = mirror::write(&root, &path, &clean(&text), append) {
                tracing::warn!(root, path, %error, "could not write a mirror");
            }
        }
        // Only projects get logs. Any other folder, such as a home, is left untouched.
        Effect::SessionLog { root, .. } | Effect::ProjectFolders { root }
            if !is_worked_in(Path::new(&root)) => {}
        Effect::SessionLog { root, path, line } => {
            if let Err(error) = logs::append(&root, &path, &line) {
                tracing::warn!(root, path, %error, "could not write the session log");
            }
        }
        Effect::ProjectFolders { root } => {
            if let Err(error) = logs::make_folders(&root) {
                tracing::warn!(root, %error, "could not create the project's folders");
            }
        }
        Effect::RotateLogs { root, before } => rotate(root, before),
        Effect::Artifact { root, dir, name, text, fresh } => {
            if let Err(error) = artifact::add(&root, &dir, &name, &clean(&text), fresh) {
                tracing::warn!(root, dir, name, %error, "could not write an artifact");
            }
        }
        Effect::Wake { .. } | Effect::Soon { .. } | Effect::Paint { .. } | Effect::Show { .. } => {}
    }
}

/// Whether `Effect::Artifact` could be carried out there.
pub(crate) fn takes_artifact(root: &str, dir: &str, name: &str) -> bool {
    artifact::takes(root, dir, name)
}

/// In the background if there is an event loop: no agent waits while old files are removed.
fn rotate(root: String, before: Timestamp) {
    let body = move || match logs::rotate(&root, before) {
        Ok(n) => tracing::info!(root, n, "old session logs removed"),
        Err(error) => tracing::warn!(root, %error, "could not remove old session logs"),
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(body)),
        Err(_) => body(),
    }
}

fn keep(home: &Home, path: &str, text: &str) -> std::io::Result<()> {
    let file = below(home, path).ok_or(std::io::ErrorKind::InvalidInput)?;
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fsx::mirror(&file, text.as_bytes())
}

/// A file below the state home. `None` if the path leads out of it.
fn below(home: &Home, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| home.root().join(path))
}
