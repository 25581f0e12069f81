//! A copy in the place of a damaged database. Nothing is deleted: what was there is moved aside.

use std::fs::File;
use std::path::{Path, PathBuf};

use substrate_core::Timestamp;

use crate::backup::{check, copies};
use crate::create::{Part, shm_path};
use crate::error::StoreError;
use crate::log::log_path;

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Where the database is that was there before, if there was one.
    pub aside: Option<PathBuf>,
}

/// The newest copy in that folder that is not damaged.
pub fn newest_good(backups: &Path) -> Option<PathBuf> {
    let mut found = copies(backups, "daily-");
    found.extend(copies(backups, "subtrate-"));
    found.sort_by(|one, other| other.cmp(one));
    found
        .into_iter()
        .map(|(_, path)| path)
        .find(|path| check(path).is_ok_and(|damage| damage.is_empty()))
}

/// Puts a copy in the place of the database. Only while no process has it open: whoever calls this holds `daemon.lock`.
pub fn restore(database: &Path, copy: &Path, now: Timestamp) -> Result<Restored, StoreError> {
    if let Some(how) = check(copy)?.into_iter().next() {
        return Err(StoreError::DamagedCopy { path: copy.to_owned(), how });
    }
    let part = Part::new(database)?;
    let create = |source| StoreError::Create { path: part.0.clone(), source };
    std::fs::copy(copy, &part.0).map_err(create)?;
    File::open(&part.0).and_then(|file| file.sync_all()).map_err(create)?;
    let mut aside = database.to_owned().into_os_string();
    aside.push(format!(".damaged-{}", now.0));
    let aside = PathBuf::from(aside);
    // The log first: beside the copy it would be read into it.
    let mut moved = false;
    for (from, to) in [(log_path(database), log_path(&aside)), (database.to_owned(), aside.clone())]
    {
        moved = from.symlink_metadata().is_ok();
        if moved {
            std::fs::rename(&from, &to)
                .map_err(|source| StoreError::Move { path: from, source })?;
        }
    }
    let _maybe_absent = std::fs::remove_file(shm_path(database));
    std::fs::rename(&part.0, database)
        .map_err(|source| StoreError::Move { path: part.0.clone(), source })?;
    Ok(Restored { aside: moved.then_some(aside) })
}
