//! Requests whose verdict was given but which could not be recorded, because somebody held the database: kept as files,
//! and processed by the daemon as soon as it can.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use substrate_core::{RequestId, Timestamp};

use crate::config::Home;

/// So many are kept at the most; a database that is held for longer than that has other problems.
const MAX_FILES: usize = 2_000;

/// A kept request.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) file: PathBuf,
    /// The body of the request's frame.
    pub(crate) body: Vec<u8>,
    /// When it was made.
    pub(crate) at: Timestamp,
}

/// Keeps a request. The same request is kept once.
pub(crate) fn keep(home: &Home, request: RequestId, body: &[u8]) -> std::io::Result<()> {
    let folder = folder(home);
    std::fs::create_dir_all(&folder)?;
    if std::fs::read_dir(&folder)?.count() >= MAX_FILES {
        return Err(std::io::ErrorKind::StorageFull.into());
    }
    let part = folder.join(format!("{request}.part-{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(body)?;
    std::fs::rename(part, folder.join(request.to_string()))
}

/// Everything that is kept, oldest first.
pub(crate) fn kept(home: &Home) -> Vec<Kept> {
    let mut out: Vec<Kept> = files(home)
        .filter_map(|file| Some(Kept { at: made(&file)?, body: std::fs::read(&file).ok()?, file }))
        .collect();
    out.sort_by_key(|kept| kept.at);
    out
}

/// When the requests that are kept were made.
pub(crate) fn waiting(home: &Home) -> Vec<Timestamp> {
    files(home).filter_map(|file| made(&file)).collect()
}

fn files(home: &Home) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder(home)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_none())
}

fn made(file: &Path) -> Option<Timestamp> {
    let since = file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("spool")
}
