//! Copies and checks of a database that may be in use.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use substrate_core::{DbError, Timestamp};

use crate::create::{Part, shm_path};
use crate::error::{StoreError, db_error, refuse_empty};
use crate::log::log_path;

/// A database that is larger is not copied every day.
const MAX_DAILY: u64 = 512 << 20;

/// How many daily copies are kept.
const KEPT: usize = 3;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

const DAILY: &str = "daily-";

/// Copies the database, as it is now, to a new file. An existing file is never overwritten, and a copy that has the
/// name is whole.
pub(crate) fn back_up(database: &Path, target: &Path) -> Result<(), StoreError> {
    let create = |source| StoreError::Create { path: target.to_owned(), source };
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|source| StoreError::Create { path: folder.to_owned(), source })?;
    }
    let part = Part::new(target)?;
    let source = look_at(database)
        .map_err(|source| StoreError::Open { path: database.to_owned(), source })?;
    copy(&source, &part.0)
        .map_err(|error| StoreError::BackUp { path: target.to_owned(), source: db_error(error) })?;
    drop(source);
    File::open(&part.0).and_then(|file| file.sync_all()).map_err(create)?;
    std::fs::hard_link(&part.0, target).map_err(create)
}

/// All in one step, so it sees one state of the database, however busy the writer is. It must not wait, because the
/// writer's log can't restart meanwhile.
fn copy(source: &Connection, target: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(target)?;
    copy.execute_batch("pragma journal_mode = off; pragma synchronous = off;")?;
    Backup::new(source, &mut copy)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    // One file that can be read without creating others beside it.
    copy.pragma_update(None, "journal_mode", "delete")?;
    copy.close().map_err(|(_, error)| error)
}

/// Makes the day's copy if there is none yet and the database is not too large, and removes the oldest. The copy is
/// checked: damage is an error here, and never replaces a good copy.
pub(crate) fn daily(
    database: &Path,
    backups: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, StoreError> {
    let mut kept = copies(backups, DAILY);
    let newest = kept.first().map_or(i64::MIN, |(at, _)| *at);
    // A clock that was set back must not stop the copies for long.
    if newest <= now.0 && newest > now.0 - DAY_MS {
        return Ok(None);
    }
    if std::fs::metadata(database).map_or(0, |found| found.len()) > MAX_DAILY {
        return Ok(None);
    }
    let target = backups.join(format!("{DAILY}{}.db", now.0));
    back_up(database, &target)?;
    let damage = look(&target, "pragma quick_check(5)")
        .map_err(|source| StoreError::BackUp { path: target.clone(), source })?;
    if let Some(first) = damage.into_iter().next() {
        let _maybe_gone = std::fs::remove_file(&target);
        let source = DbError::Corrupt { detail: first };
        return Err(StoreError::Open { path: database.to_owned(), source });
    }
    kept.retain(|(_, path)| *path != target);
    for (_, old) in kept.iter().skip(KEPT - 1) {
        let _maybe_gone = std::fs::remove_file(old);
    }
    Ok(Some(target))
}

/// The newest copy in that folder that is not damaged.
pub(crate) fn newest_good(backups: &Path) -> Option<PathBuf> {
    let mut found = copies(backups, "daily-");
    found.extend(copies(backups, "subtrate-"));
    found.sort_by(|one, other| other.cmp(one));
    found
        .into_iter()
        .map(|(_, path)| path)
        .find(|path| check(path).is_ok_and(|damage| damage.is_empty()))
}

/// Puts a copy in the place of the database and returns where that went. Nothing is deleted. No process may have the
/// database open, so the caller holds `daemon.lock`.
pub(crate) fn restore(
    database: &Path,
    copy: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, StoreError> {
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
    // The log first: SQLite would apply it to the copy.
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
    Ok(moved.then_some(aside))
}

/// The copies in a folder with this prefix and a time in their name, newest first.
fn copies(folder: &Path, prefix: &str) -> Vec<(i64, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(i64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let at = name.strip_prefix(prefix)?.strip_suffix(".db")?.parse().ok()?;
            Some((at, entry.path()))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found
}

/// Reads the whole database and returns what is damaged, in SQLite's words.
pub(crate) fn check(path: &Path) -> Result<Vec<String>, StoreError> {
    look(path, "pragma integrity_check(20)")
        .map_err(|source| StoreError::Open { path: path.to_owned(), source })
}

fn look(path: &Path, pragma: &str) -> Result<Vec<String>, DbError> {
    let conn = look_at(path)?;
    let read = || -> rusqlite::Result<Vec<String>> {
        conn.prepare(pragma)?.query_map([], |row| row.get::<_, String>(0))?.collect()
    };
    Ok(read().map_err(db_error)?.into_iter().filter(|line| line != "ok").collect())
}

/// A connection that only reads. In a read-only folder, where SQLite can't create its files, the database is read
/// without its log.
pub(crate) fn look_at(path: &Path) -> Result<Connection, DbError> {
    refuse_empty(path)?;
    let open = |name: &str, extra: OpenFlags| -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra;
        let conn = Connection::open_with_flags(name, flags)?;
        conn.busy_timeout(Duration::from_secs(5))?;
        // Only a read shows whether it works.
        conn.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
        Ok(conn)
    };
    let name = path.to_string_lossy();
    match open(&name, OpenFlags::empty()).map_err(db_error) {
        Err(DbError::ReadOnly) => {
            let escaped = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            open(&format!("file:{escaped}?immutable=1"), OpenFlags::SQLITE_OPEN_URI)
                .map_err(db_error)
        }
        opened => opened,
    }
}
