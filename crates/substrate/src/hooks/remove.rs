//! Taking out exactly what the manifest says.

use std::path::{Path, PathBuf};

use substrate_clients::claude_code::install::SETTINGS;
use substrate_core::ids::checksum;

use super::apply::lock;
use super::manifest::{Before, Kept, Manifest, Touched};
use super::plan::{read, refused, without_profile};
use crate::config::Home;
use crate::error::{AppError, Kind, Result};
use crate::fsx;

/// What came of an uninstall.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    pub(crate) changed: Vec<PathBuf>,
    /// Files of ours that somebody edited; they stay.
    pub(crate) left: Vec<PathBuf>,
}

/// Undoes one installation. Files that nobody edited since are as they were before, byte for byte; from the others only
/// what is ours is taken.
pub(crate) fn remove(home: &Home, manifest: &Manifest) -> Result<Removed> {
    let _lock = lock(home)?;
    let mut out = Removed::default();
    // The settings first: they must not name what is no longer there.
    let (settings, others): (Vec<&Touched>, Vec<&Touched>) =
        manifest.files.iter().partition(|file| file.kind == Kept::Settings);
    for file in settings.into_iter().chain(others) {
        match undo(manifest, file)? {
            Undone::Changed => out.changed.push(file.path.clone()),
            Undone::Left => out.left.push(file.path.clone()),
            Undone::Nothing => {}
        }
    }
    for folder in manifest.folders.iter().rev() {
        // One that somebody else uses now is not empty, and stays.
        let _in_use = std::fs::remove_dir(folder);
    }
    manifest.forget(home)?;
    Ok(out)
}

enum Undone {
    Changed,
    Left,
    Nothing,
}

fn undo(manifest: &Manifest, file: &Touched) -> Result<Undone> {
    let Some(now) = read(&file.path)? else { return Ok(Undone::Nothing) };
    if checksum(&now) == file.after
        && let Some(before) = &file.before
    {
        match before {
            Before::Absent => delete(&file.path)?,
            Before::Copy(copy) => {
                let Some(text) = read(copy)? else { return piece_by_piece(manifest, file, &now) };
                write(&file.path, &text)?;
            }
        }
        return Ok(Undone::Changed);
    }
    piece_by_piece(manifest, file, &now)
}

/// Takes what is ours out of a file that somebody edited.
fn piece_by_piece(manifest: &Manifest, file: &Touched, now: &str) -> Result<Undone> {
    let created = file.before == Some(Before::Absent);
    let (text, is_empty) = match file.kind {
        Kept::Own => {
            return Ok(if checksum(now) == file.after {
                delete(&file.path).map(|()| Undone::Changed)?
            } else {
                Undone::Left
            });
        }
        Kept::Settings => {
            let edited = (SETTINGS.remove)(now, manifest.allow.as_deref())
                .map_err(|error| refused(&file.path, &error))?;
            (edited.text, edited.is_empty)
        }
        Kept::Profile => {
            let text = without_profile(now).unwrap_or_else(|| now.to_owned());
            let is_empty = text.trim().is_empty();
            (text, is_empty)
        }
    };
    if created && is_empty {
        delete(&file.path)?;
        return Ok(Undone::Changed);
    }
    if text.as_str() == now {
        return Ok(Undone::Nothing);
    }
    write(&file.path, &text)?;
    Ok(Undone::Changed)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if !fsx::may_replace(path) {
        return Err(AppError::new(Kind::User, format!("`{}` is read-only", path.display()))
            .hint("make it writable, and run the command again"));
    }
    fsx::replace(path, text.as_bytes(), 0o600)
        .map_err(|error| AppError::from_error(Kind::State, &error))
}

fn delete(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` could not be removed", path.display()))
    })
}
