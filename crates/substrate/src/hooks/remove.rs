//! Removing exactly what the manifest lists.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_core::ids::checksum;

use super::apply::lock;
use super::manifest::{Before, FileKind, Manifest, Touched};
use super::own::own_files;
use super::plan::{read, refused};
use super::profiles;
use super::scope::{Scope, client_home, refuse_link};
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::{fsx, inside};

/// The result of an uninstall.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    /// Files that are as they were before us.
    pub(crate) restored: Vec<PathBuf>,
    /// Others' files that our entries were removed from.
    pub(crate) cleaned: Vec<PathBuf>,
    /// Files and folders of ours that were deleted.
    pub(crate) deleted: Vec<PathBuf>,
    /// Files of ours that were edited. They stay.
    pub(crate) left: Vec<PathBuf>,
    /// Files of a project that are behind a link by now. They stay.
    pub(crate) linked: Vec<PathBuf>,
}

impl Removed {
    pub(crate) fn is_nothing(&self) -> bool {
        self.restored.is_empty() && self.cleaned.is_empty() && self.deleted.is_empty()
    }
}

/// Undoes one installation. A file without later edits is restored byte for byte. From the others only our entries are
/// removed.
pub(crate) fn remove(home: &Home, manifest: &Manifest) -> Result<Removed> {
    let _lock = lock(home)?;
    let mut out = Removed::default();
    let others = Manifest::all(home)?;
    let is_needed = |file: &Touched| {
        file.kind == FileKind::Own
            && others.iter().any(|other| {
                other.settings != manifest.settings && other.touched(&file.path).is_some()
            })
    };
    // The settings go first: they must not name a missing file.
    let (settings, rest): (Vec<&Touched>, Vec<&Touched>) =
        manifest.files.iter().partition(|file| file.kind == FileKind::Settings);
    for file in settings.into_iter().chain(rest).filter(|file| !is_needed(file)) {
        if let Some(folder) = file.path.parent() {
            fsx::sweep(folder);
        }
        let list = if is_linked(manifest, &file.path) {
            &mut out.linked
        } else {
            match undo(manifest, file)? {
                Undone::Restored => &mut out.restored,
                Undone::Cleaned => &mut out.cleaned,
                Undone::Deleted => &mut out.deleted,
                Undone::Left => &mut out.left,
                Undone::Nothing => continue,
            }
        };
        list.push(file.path.clone());
    }
    for folder in manifest.folders.iter().rev() {
        // A folder that is used by others is not empty, and stays.
        if std::fs::remove_dir(folder).is_ok() {
            out.deleted.push(folder.clone());
        }
    }
    hand_on_folders(home, manifest, others)?;
    manifest.forget(home)?;
    Ok(out)
}

/// Whether a project has replaced its own file with a link.
fn is_linked(manifest: &Manifest, path: &Path) -> bool {
    let root = manifest.settings.ancestors().nth(2).unwrap_or(&manifest.settings);
    manifest.scope != Scope::User.name() && inside::link(root, path).is_some()
}

/// Folders that we created and that another installation still uses are removed with that one.
fn hand_on_folders(home: &Home, manifest: &Manifest, others: Vec<Manifest>) -> Result<()> {
    let left: Vec<&PathBuf> = manifest.folders.iter().filter(|folder| folder.exists()).collect();
    for mut other in others.into_iter().filter(|other| other.settings != manifest.settings) {
        let used = |folder: &&&PathBuf| {
            other.files.iter().any(|file| file.path.starts_with(folder))
                && !other.folders.contains(folder)
        };
        let taken: Vec<PathBuf> =
            left.iter().filter(used).map(|folder| (*folder).clone()).collect();
        if !taken.is_empty() {
            // Outermost first, as they are recorded.
            other.folders.extend(taken);
            other.folders.sort_by_key(|folder| folder.components().count());
            other.save(home)?;
        }
    }
    Ok(())
}

/// What can be recognised as ours without a manifest: our entries, and for the user's own scope our files.
pub(crate) fn recognised(
    client: &Client,
    env: &Env,
    scope: Scope,
    settings: &Path,
) -> Result<Option<Manifest>> {
    if scope != Scope::User {
        refuse_link(settings.ancestors().nth(2).unwrap_or(settings), settings)?;
    }
    let text = read(settings)?.unwrap_or_default();
    let registered =
        (client.install.format.registered)(&text).map_err(|error| refused(settings, &error))?;
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    if !registered.is_empty() {
        let (path, after) = (settings.to_owned(), String::new());
        files.push(Touched { path, before: None, after, kind: FileKind::Settings });
    }
    if let Some(trust) = client.install.trust {
        let path = client_home(client, env)?.join(trust.file);
        let text = read(&path).ok().flatten().unwrap_or_default();
        if (trust.remove)(&text).is_ok_and(|without| without.text != text) {
            let after = String::new();
            files.push(Touched { path, before: None, after, kind: FileKind::Trust });
        }
    }
    if scope == Scope::User {
        for own in own_files(client, env)? {
            // A file that can't be read has nothing of ours.
            let text = read(&own.path).ok().flatten().filter(|text| own.is_ours(text));
            if let Some(text) = text {
                let path = own.path;
                files.push(Touched {
                    path: path.clone(),
                    before: Some(Before::Absent),
                    after: checksum(&text),
                    kind: FileKind::Own,
                });
                folders.extend(path.parent().map(Path::to_owned));
            }
        }
        folders.dedup();
    }
    Ok((!files.is_empty()).then(|| Manifest {
        client: client.name.to_owned(),
        scope: scope.name().to_owned(),
        settings: settings.to_owned(),
        files,
        folders,
        ..Manifest::default()
    }))
}

enum Undone {
    Restored,
    Cleaned,
    Deleted,
    Left,
    Nothing,
}

fn undo(manifest: &Manifest, file: &Touched) -> Result<Undone> {
    let Some(now) = read(&file.path)? else { return Ok(Undone::Nothing) };
    if checksum(&now) == file.after
        && let Some(before) = &file.before
    {
        match before {
            Before::Absent => {
                delete(&file.path)?;
                return Ok(Undone::Deleted);
            }
            Before::Copy(copy) => {
                let Some(text) = read(copy)? else { return piece_by_piece(manifest, file, &now) };
                write(&file.path, &now, &text)?;
                return Ok(Undone::Restored);
            }
        }
    }
    piece_by_piece(manifest, file, &now)
}

/// Removes our entries from a file that was edited.
fn piece_by_piece(manifest: &Manifest, file: &Touched, now: &str) -> Result<Undone> {
    let created = file.before == Some(Before::Absent);
    let (text, is_empty) = match file.kind {
        FileKind::Own => {
            return Ok(if checksum(now) == file.after {
                delete(&file.path).map(|()| Undone::Deleted)?
            } else {
                Undone::Left
            });
        }
        FileKind::Settings => {
            let edited = (manifest.client().install.format.remove)(now, &manifest.allow)
                .map_err(|error| refused(&file.path, &error))?;
            (edited.text, edited.is_empty)
        }
        FileKind::Trust => {
            let Some(trust) = manifest.client().install.trust else { return Ok(Undone::Nothing) };
            let edited = (trust.remove)(now).map_err(|error| refused(&file.path, &error))?;
            (edited.text, edited.is_empty)
        }
        FileKind::Profile => {
            let text = profiles::without(now, manifest.profiles.as_deref());
            let text = text.unwrap_or_else(|| now.to_owned());
            let is_empty = text.trim().is_empty();
            (text, is_empty)
        }
    };
    if created && is_empty {
        delete(&file.path)?;
        return Ok(Undone::Deleted);
    }
    if text.as_str() == now {
        return Ok(Undone::Nothing);
    }
    write(&file.path, now, &text)?;
    Ok(Undone::Cleaned)
}

fn write(path: &Path, seen: &str, text: &str) -> Result<()> {
    if !fsx::may_replace(path) {
        return Err(AppError::new(Kind::User, format!("`{}` is read-only", path.display()))
            .hint("make it writable, and run the command again"));
    }
    let written = fsx::replace_if(path, Some(seen.as_bytes()), text.as_bytes(), 0o600);
    if written.map_err(|error| AppError::from_error(Kind::State, &error))? {
        return Ok(());
    }
    Err(AppError::new(Kind::User, format!("another program just wrote `{}`", path.display()))
        .hint("nothing was lost; run the command again"))
}

fn delete(path: &Path) -> Result<()> {
    fsx::remove(path).map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` could not be removed", path.display()))
    })
}
