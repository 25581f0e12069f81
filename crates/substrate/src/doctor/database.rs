//! The database file, its write-ahead log, its disk, and events that wait to be recorded.

use std::path::{Path, PathBuf};

use substrate_core::DbError;
use substrate_core::size::Bytes;
use substrate_store::{Database as Store, StoreError};

use super::facts::Patient;
use super::finding::{Area, Finding};
use crate::error::{AppError, RESTORE};
use crate::host;

const MB: u64 = 1 << 20;

const LITTLE_SPACE: u64 = 200 * MB;
const NO_SPACE: u64 = 20 * MB;

/// Starts the findings that make storage unusable. Guards work without it.
const UNUSABLE: &str = "state not usable: ";

#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub(super) path: PathBuf,
    /// `None`: it does not exist yet.
    pub(super) size: Option<u64>,
    pub(super) log_size: u64,
    /// According to the permissions and the file system.
    pub(super) is_writable: bool,
    /// The state home can be written, or created.
    pub(super) has_home: bool,
    pub(super) home: PathBuf,
    pub(super) state: State,
    /// `None`: the system does not say.
    pub(super) free_space: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Absent,
    Intact {
        n_missing_steps: usize,
    },
    Damaged {
        how: String,
    },
    Busy,
    /// Made by a newer or another program.
    Refused(Trouble),
    Unreadable(Trouble),
}

/// What is wrong, and what to do.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) message: String,
    pub(super) hint: String,
}

pub(super) fn look(patient: &Patient<'_>) -> Database {
    let path = patient.home.database();
    let len = |path: &Path| path.metadata().ok().map(|found| found.len());
    let size = len(&path);
    Database {
        state: if size.is_some() { state(&path) } else { State::Absent },
        size,
        log_size: Store::at(&path).log_bytes(),
        is_writable: [path.as_path(), patient.home.root()].iter().all(|path| may_write(path)),
        has_home: has_home(patient.home.root()),
        home: patient.home.root().to_owned(),
        free_space: free_space(patient.home.root()),
        path,
    }
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether the nearest existing folder accepts files.
fn has_home(root: &Path) -> bool {
    let nearest = root.ancestors().find(|path| path.symlink_metadata().is_ok());
    nearest.is_some_and(|path| path.is_dir() && may_write(path))
}

fn state(path: &Path) -> State {
    let store = Store::at(path);
    let looked = store.check().and_then(|damage| match damage.first() {
        Some(first) => Ok(State::Damaged { how: format!("{} places, e.g. {first}", damage.len()) }),
        None => store
            .missing_steps(&host::schema())
            .map(|n_missing_steps| State::Intact { n_missing_steps }),
    });
    looked.unwrap_or_else(|error| match &error {
        StoreError::Open { source: DbError::Busy, .. } | StoreError::Db(DbError::Busy) => {
            State::Busy
        }
        StoreError::Open { source: DbError::Corrupt { detail }, .. }
        | StoreError::Db(DbError::Corrupt { detail }) => State::Damaged { how: detail.clone() },
        StoreError::Newer { .. } | StoreError::Changed { .. } => State::Refused(trouble(error)),
        _ => State::Unreadable(trouble(error)),
    })
}

fn trouble(error: StoreError) -> Trouble {
    let error = AppError::from(error);
    let mut message = error.message;
    for cause in error.causes {
        message = format!("{message}: {cause}");
    }
    Trouble { message, hint: error.hints.join("; ") }
}

/// The free space on the disk of that folder, or of its nearest existing parent.
fn free_space(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|folder| folder.exists())?;
    let found = rustix::fs::statvfs(existing).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

pub(super) fn judge(database: &Database, out: &mut Vec<Finding>) {
    out.push(judge_state(database));
    if !database.has_home {
        let message = format!("{UNUSABLE}nothing can be written to `{}`", database.home.display());
        out.push(
            Area::Database
                .error("home-unwritable", message)
                .next("make it a folder that you can write, or set SUBSTRATE_HOME to one"),
        );
    }
    if database.log_size > Store::MAX_LOG_BYTES {
        let message = format!(
            "its log is {} long: a reading process keeps it from being truncated",
            Bytes(database.log_size)
        );
        let path = database.path.display();
        out.push(Area::Database.warning("log-long", message).next(format!(
            "`fuser '{path}'` shows who has it open; `substrate daemon restart` empties the log"
        )));
    }
    if database.size.is_some() && !database.is_writable {
        let message = format!("{UNUSABLE}it can't be written: `{}`", database.path.display());
        out.push(Area::Database.error("database-unwritable", message).next(
            "make the file and its folder writable for you, or set SUBSTRATE_HOME to a folder that is",
        ));
    }
    match database.free_space {
        Some(free) if free < NO_SPACE => out.push(
            Area::Database
                .error(
                    "disk-full",
                    format!("only {} are free on the disk of the state home", Bytes(free)),
                )
                .next("free some space on the disk, or set SUBSTRATE_HOME to another one"),
        ),
        Some(free) if free < LITTLE_SPACE => out.push(
            Area::Database
                .warning(
                    "disk-low",
                    format!("only {} are free on the disk of the state home", Bytes(free)),
                )
                .next("free some space on the disk, or set SUBSTRATE_HOME to another one"),
        ),
        Some(free) => {
            out.push(
                Area::Database.ok("disk-fine", format!("{} are free on its disk", Bytes(free))),
            );
        }
        None => {}
    }
}

fn judge_state(database: &Database) -> Finding {
    let path = database.path.display();
    match &database.state {
        State::Absent => Area::Database.info(
            "database-absent",
            format!("there is none yet; the first hook makes it: `{path}`"),
        ),
        State::Intact { n_missing_steps: 0 } => Area::Database.ok(
            "database-fine",
            format!("intact, {}: `{path}`", Bytes(database.size.unwrap_or(0) + database.log_size)),
        ),
        State::Intact { n_missing_steps } => Area::Database
            .info("schema-old", format!("intact, but {n_missing_steps} steps behind this version"))
            .next("`substrate daemon restart` brings it up to date, after a copy to `backups/`"),
        State::Damaged { how } => Area::Database
            .error("database-damaged", format!("{UNUSABLE}damaged ({how}): `{path}`"))
            .next(RESTORE),
        State::Busy => Area::Database
            .warning("database-busy", "another process holds it, so that it can't even be read")
            .next(format!("see who has it open: `fuser '{path}'`; then run this again")),
        State::Refused(trouble) => {
            let message = format!("{UNUSABLE}{}", trouble.message);
            Area::Database.error("schema-refused", message).next(&trouble.hint)
        }
        State::Unreadable(trouble) => {
            let hint = Some(trouble.hint.as_str()).filter(|hint| !hint.is_empty());
            Area::Database
                .error("database-unreadable", format!("{UNUSABLE}{}", trouble.message))
                .next(hint.unwrap_or("make the file and its folder readable and writable for you"))
        }
    }
}
