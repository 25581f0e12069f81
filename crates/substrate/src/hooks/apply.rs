//! Carrying out a plan: under a lock, each file copied and named in the manifest before it changes.

use std::fs::File;
use std::path::{Path, PathBuf};

use substrate_core::ids::checksum;

use super::manifest::{Before, Manifest, Touched};
use super::plan::{Change, Plan, read};
use crate::config::Home;
use crate::error::{AppError, Kind, Result};
use crate::{clock, fsx};

/// Makes the changes of a plan; how many files were written. Two installations at once take turns; a file that changed
/// since it was planned is left alone, and `Ok(None)` says that the plan must be made anew.
pub(crate) fn apply(home: &Home, plan: &Plan) -> Result<Option<usize>> {
    home.ensure()?;
    let _lock = lock(home)?;
    if plan.changes.iter().any(|change| read(&change.path).ok() != Some(change.before.clone())) {
        return Ok(None);
    }
    let changes: Vec<&Change> = plan.changes.iter().filter(|change| !change.is_none()).collect();
    let old = Manifest::load(home, &plan.settings)?;
    let mut manifest = begin(plan, old.as_ref());
    for change in &changes {
        touch(home, &mut manifest, old.as_ref(), change)?;
    }
    for change in &changes {
        manifest.folders.extend(
            missing(&change.path)
                .into_iter()
                .filter(|folder| !old_folders(old.as_ref()).contains(folder)),
        );
    }
    manifest.folders.dedup();
    if changes.is_empty() && old.is_some() {
        return Ok(Some(0));
    }
    manifest.save(home)?;
    for change in &changes {
        write(change)?;
    }
    Ok(Some(changes.len()))
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
        client: "claude-code".to_owned(),
        scope: plan.scope.name().to_owned(),
        settings: plan.settings.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        installed_ms: clock::now().0,
        allow: plan.allow.clone().or_else(|| old.and_then(|old| old.allow.clone())),
        files: old.map(|old| old.files.clone()).unwrap_or_default(),
        folders: old.map(|old| old.folders.clone()).unwrap_or_default(),
    }
}

/// Notes what is there before a file changes. What was there before the very first installation is kept as long as
/// nobody else edited the file since.
fn touch(
    home: &Home,
    manifest: &mut Manifest,
    old: Option<&Manifest>,
    change: &Change,
) -> Result<()> {
    let known = old.and_then(|old| old.touched(&change.path));
    let now = change.before.as_deref().map(checksum);
    let before = match known {
        Some(known) if now.as_ref() == Some(&known.after) => known.before.clone(),
        // Edited, or removed, since: what is ours in it can only be taken out piece by piece.
        Some(_) if change.before.is_some() => None,
        Some(_) | None => Some(match &change.before {
            Some(text) => Before::Copy(back_up(home, &change.path, text)?),
            None => Before::Absent,
        }),
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

fn write(change: &Change) -> Result<()> {
    let fail = |error: &std::io::Error| {
        AppError::from_error(Kind::State, error).hint(format!(
            "`{}` could not be written; run the command again when it can",
            change.path.display()
        ))
    };
    if let Some(folder) = change.path.parent() {
        fsx::create_folders(folder).map_err(|error| fail(&error))?;
    }
    fsx::replace(&change.path, change.after.as_bytes(), change.mode).map_err(|error| fail(&error))
}

/// The folders above a file that are not there, outermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut out: Vec<PathBuf> =
        above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    out.reverse();
    out
}

fn old_folders(old: Option<&Manifest>) -> &[PathBuf] {
    old.map_or(&[], |old| &old.folders)
}
