//! Applying a plan: under a lock, and each file is copied and named in the manifest before it changes.

use std::fs::File;
use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_core::ids::checksum;

use super::manifest::{Before, FileKind, Manifest, Touched};
use super::plan::{Change, Plan, read};
use super::retired::Retired;
use crate::config::Home;
use crate::error::{AppError, Kind, Result};
use crate::{clock, fsx};

/// Makes the changes of a plan, and returns how many files were written. Installations take turns. If a file changed
/// since it was planned, `Ok(None)` asks for a new plan.
pub(crate) fn apply(home: &Home, plan: &Plan) -> Result<Option<usize>> {
    home.ensure()?;
    let _lock = lock(home)?;
    if plan.changes.iter().any(|change| read(&change.path).ok() != Some(change.before.clone())) {
        return Ok(None);
    }
    let is_other = |file: &Retired| read(&file.path).ok().flatten().as_ref() != Some(&file.text);
    if plan.retired.iter().any(is_other) {
        return Ok(None);
    }
    let changes: Vec<&Change> = plan.changes.iter().filter(|change| !change.is_none()).collect();
    let old = Manifest::load(home, &plan.settings)?;
    let mut manifest = begin(plan, old.as_ref());
    for change in &plan.changes {
        touch(home, plan.client, &mut manifest, old.as_ref(), change)?;
        for folder in missing(&change.path).into_iter().chain(our_folder(change)) {
            if !manifest.folders.contains(&folder) {
                manifest.folders.push(folder);
            }
        }
    }
    if old.as_ref().is_none_or(|old| !old.is_same(&manifest)) {
        manifest.save(home)?;
    }
    for change in &changes {
        if !write(change)? {
            return Ok(None);
        }
    }
    let n_retired = retire(home, &mut manifest, &plan.retired)?;
    Ok(Some(changes.len() + n_retired))
}

/// Removes files that are no longer used, now that nothing names them. Returns how many.
fn retire(home: &Home, manifest: &mut Manifest, retired: &[Retired]) -> Result<usize> {
    if retired.is_empty() {
        return Ok(0);
    }
    let mut n = 0;
    for file in retired {
        if !file.is_needed {
            fsx::remove(&file.path).map_err(|error| AppError::from_error(Kind::State, &error))?;
            n += 1;
            // The folder of a skill, or of the scripts. It is removed only if it is empty.
            let _in_use = file.path.parent().map(std::fs::remove_dir);
        }
        manifest.files.retain(|known| known.path != file.path);
    }
    for folder in manifest.folders.clone().iter().rev() {
        let _in_use = std::fs::remove_dir(folder);
    }
    manifest.folders.retain(|folder| folder.exists());
    manifest.save(home)?;
    Ok(n)
}

/// One installation or removal at a time.
pub(super) fn lock(home: &Home) -> Result<File> {
    let fail = |error: &std::io::Error| AppError::from_error(Kind::State, error);
    let file = File::create(home.root().join("install.lock")).map_err(|error| fail(&error))?;
    file.lock().map_err(|error| fail(&error))?;
    Ok(file)
}

fn begin(plan: &Plan, old: Option<&Manifest>) -> Manifest {
    Manifest {
        client: plan.client.name.to_owned(),
        scope: plan.scope.name().to_owned(),
        settings: plan.settings.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        installed_ms: clock::now().0,
        allow: plan.allow.clone(),
        scripts: plan.scripts,
        profiles: Some(added(plan, old)),
        files: old.map(|old| old.files.clone()).unwrap_or_default(),
        folders: old.map(|old| old.folders.clone()).unwrap_or_default(),
    }
}

/// The profiles that this installation and earlier ones added.
fn added(plan: &Plan, old: Option<&Manifest>) -> Vec<String> {
    let mut all = old.and_then(|old| old.profiles.clone()).unwrap_or_default();
    let new = plan.added.iter().filter(|name| !all.contains(name)).cloned();
    let new: Vec<String> = new.collect();
    all.extend(new);
    all
}

/// Records the state before a file changes, and keeps a copy. The state before the very first installation can be
/// restored as long as no one else edits the file.
fn touch(
    home: &Home,
    client: &Client,
    manifest: &mut Manifest,
    old: Option<&Manifest>,
    change: &Change,
) -> Result<()> {
    let known = old.and_then(|old| old.touched(&change.path));
    if change.is_none() && known.is_some() {
        return Ok(());
    }
    let copy = match &change.before {
        Some(text) if !change.is_none() => Some(back_up(home, &change.path, text)?),
        Some(_) | None => None,
    };
    let now = change.before.as_deref().map(checksum);
    let before = match (known, &change.before) {
        (Some(known), Some(_)) if now.as_ref() == Some(&known.after) => known.before.clone(),
        // An earlier installation ended before it wrote the file, so the file is unchanged.
        (Some(known), Some(text)) if is_copied(known, text) => known.before.clone(),
        (_, None) => Some(Before::Absent),
        // We wrote this file, but no manifest remembers it: it did not exist before us.
        (_, Some(_)) if change.is_ours => Some(Before::Absent),
        // It already contains entries of ours, or was edited since. Those can only be taken out one by one.
        (Some(_), Some(_)) => None,
        (None, Some(text)) => copy.filter(|_| !change.has_ours(client, text)).map(Before::Copy),
    };
    let touched = Touched {
        path: change.path.clone(),
        before,
        after: checksum(&change.after),
        kind: change.kind,
    };
    manifest.files.retain(|file| file.path != change.path);
    manifest.files.push(touched);
    Ok(())
}

/// Whether the text equals the one before the first installation.
fn is_copied(known: &Touched, text: &str) -> bool {
    matches!(&known.before, Some(Before::Copy(copy)) if std::fs::read(copy).is_ok_and(|kept| kept == text.as_bytes()))
}

fn back_up(home: &Home, path: &Path, text: &str) -> Result<PathBuf> {
    let fail = |error: &std::io::Error| AppError::from_error(Kind::State, error);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = home.backups().join("settings");
    fsx::create_folders(&folder).map_err(|error| fail(&error))?;
    let place = &checksum(&path.display().to_string())[..8];
    let copy = folder.join(format!("{}-{place}-{name}", clock::now().0));
    fsx::replace(&copy, text.as_bytes(), 0o600).map_err(|error| fail(&error))?;
    Ok(copy)
}

/// `false`: another process wrote the file meanwhile.
fn write(change: &Change) -> Result<bool> {
    let fail = |error: &std::io::Error| {
        AppError::from_error(Kind::State, error)
            .hint(format!("make `{}` writable, and run the command again", change.path.display()))
    };
    if let Some(folder) = change.path.parent() {
        fsx::create_folders(folder).map_err(|error| fail(&error))?;
        fsx::sweep(folder);
    }
    let seen = change.before.as_deref().map(str::as_bytes);
    fsx::replace_if(&change.path, seen, change.after.as_bytes(), change.mode)
        .map_err(|error| fail(&error))
}

/// The folder of our scripts, or of one of our skills, counts as ours even if we did not create it. It is removed only
/// if it is empty.
fn our_folder(change: &Change) -> Option<PathBuf> {
    let folder = change.path.parent().filter(|_| change.kind == FileKind::Own)?;
    let is_skill = folder.parent().is_some_and(|above| above.ends_with("skills"));
    (is_skill || folder.ends_with("substrate")).then(|| folder.to_owned())
}

/// The missing folders above a file, outermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut out: Vec<PathBuf> =
        above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    out.reverse();
    out
}
