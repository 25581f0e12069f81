//! The write-ahead log stays short, at any rate of writing.
//!
//! A thread copies the log into the database while it grows. The log begins again from its start when all of it was
//! copied and no reader needs it: by itself when there is a pause, otherwise because the writer sees to it between two
//! transactions. Up to `HARD` that costs a commit only the little that the thread has not copied yet; at `HARD` the
//! writer waits, so the bound holds whatever the thread or a reader does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use substrate_core::DbError;

use crate::error::{StoreError, db_error};
use crate::writer;

const MB: u64 = 1 << 20;

/// The log is copied when this much of it is not in the database yet.
const COPY: u64 = 4 * MB;

/// From here on the writer restarts the log as soon as little is left to copy.
const RESTART: u64 = 16 * MB;

/// What the writer may copy itself: a few milliseconds.
const LITTLE: u64 = 2 * MB;

/// From here on the writer restarts the log before it writes anything else.
const HARD: u64 = 40 * MB;

/// A healthy log is never longer than this.
pub(crate) const MAX_LOG: u64 = 64 * MB;

/// The log's file shrinks to this when nothing happens.
const IDLE: u64 = 4 * MB;

/// What SQLite leaves of the log's file when the log begins again.
const KEPT: u64 = 8 * MB;

/// How long one transaction waits at `HARD` for a reader to end.
const WAIT: Duration = Duration::from_secs(1);

/// How often it looks whether the reader has ended.
const STEP: Duration = Duration::from_millis(2);

/// A reader that is still there after this long is no longer waited for.
const MAX_WAITED: Duration = Duration::from_secs(10);

/// After a reader blocked it, the log is tried again once it has grown this much.
const TRY_AGAIN: u64 = MB;

/// How the log is, as far as the next step depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Length {
    bytes: u64,
    /// Bytes of it that are in the database already, as far as we know.
    copied: u64,
    /// The thread is copying.
    copying: bool,
    /// A reader was in the way when it was this long, the last time.
    busy_at: Option<u64>,
    /// Readers were in the way for so long that they are no longer waited for.
    out_of_patience: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// The thread copies.
    Copy,
    /// The writer copies the rest, and the log begins again; unless a reader needs it.
    Restart,
    /// The same, but readers are waited for.
    RestartNow,
}

/// What has to happen before the next transaction.
fn due(length: Length) -> Due {
    let Length { bytes, copied, copying, busy_at, out_of_patience } = length;
    let rest = bytes.saturating_sub(copied);
    let tried_lately = busy_at.is_some_and(|at| bytes < at.saturating_add(TRY_AGAIN));
    match bytes {
        HARD.. if !out_of_patience => Due::RestartNow,
        _ if copying => Due::Nothing,
        RESTART.. if rest <= LITTLE && !tried_lately => Due::Restart,
        RESTART.. if rest > LITTLE => Due::Copy,
        _ if rest >= COPY => Due::Copy,
        _ => Due::Nothing,
    }
}

/// The log of one writer.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// What a frame of the log takes: a page and its header.
    frame: u64,
    /// Frames in the log, as SQLite said after the last commit.
    frames: Arc<AtomicU64>,
    n_frames_before: u64,
    /// Frames that this writer has copied itself.
    copied: u64,
    busy_at: Option<u64>,
    /// How long readers were waited for since the log last began again.
    waited: Duration,
    /// Frames when it was last looked at for idleness.
    idle_frames: u64,
    copier: Option<Copier>,
}

impl Log {
    /// Looks after the log of that connection. SQLite's own copying, which happens inside a commit, is off from now on.
    pub(crate) fn of(conn: &mut Connection, path: &Path) -> rusqlite::Result<Self> {
        let page: u32 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        conn.query_row(&format!("pragma journal_size_limit = {KEPT}"), [], |_| Ok(()))?;
        let frames = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&frames);
        conn.wal_hook(Some(move |_: &mut Wal, n: std::ffi::c_int| {
            told.store(u64::try_from(n).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            path: log_path(path),
            frame: u64::from(page) + 24,
            frames,
            n_frames_before: 0,
            copied: 0,
            busy_at: None,
            waited: Duration::ZERO,
            idle_frames: 0,
            copier: None,
        })
    }

    /// Copies on a thread of its own from now on, so that no commit pays for it.
    pub(crate) fn copy_aside(&mut self, database: &Path) -> Result<(), StoreError> {
        self.copier = Some(Copier::start(writer::connect(database, Duration::ZERO)?));
        // What a process that was killed has left.
        let size = self.file_size();
        self.frames.fetch_max(size / self.frame, Ordering::Relaxed);
        Ok(())
    }

    /// Called before each transaction: usually two loads and a comparison.
    pub(crate) fn before_transaction(&mut self, conn: &Connection) -> Result<(), DbError> {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.n_frames_before {
            self.begun_again();
        }
        self.n_frames_before = frames;
        if frames * self.frame < COPY {
            return Ok(());
        }
        match due(self.length(frames)) {
            Due::Nothing => Ok(()),
            Due::Copy => self.copy(conn),
            Due::Restart => self.restart(conn, Duration::ZERO),
            Due::RestartNow => self.restart(conn, WAIT),
        }
    }

    /// Called now and then: empties a log that has not grown since the last call.
    pub(crate) fn when_idle(&mut self, conn: &Connection) -> Result<(), DbError> {
        let frames = self.frames.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.idle_frames, frames) != frames || self.file_size() <= IDLE {
            return Ok(());
        }
        let length = self.length(frames);
        if length.copying {
            return Ok(());
        }
        if self.copier.is_some() && length.bytes.saturating_sub(length.copied) > LITTLE {
            return self.copy(conn);
        }
        conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        if checkpoint(conn, "truncate")?.is_whole {
            self.begun_again();
            self.frames.store(0, Ordering::Relaxed);
            self.idle_frames = 0;
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.frames.load(Ordering::Relaxed) * self.frame
    }

    fn length(&self, frames: u64) -> Length {
        let copier = self.copier.as_ref();
        Length {
            bytes: frames * self.frame,
            copied: self.frame
                * copier.map_or(self.copied, |copier| copier.shared.copied.load(Ordering::Relaxed)),
            copying: copier.is_some_and(|copier| copier.shared.is_copying.load(Ordering::Relaxed)),
            busy_at: self.busy_at,
            out_of_patience: self.waited >= MAX_WAITED,
        }
    }

    fn copy(&mut self, conn: &Connection) -> Result<(), DbError> {
        match &self.copier {
            Some(copier) => copier.ask(),
            // The next transaction finds the log copied, and restarts it.
            None => self.copied = checkpoint(conn, "passive")?.frames,
        }
        Ok(())
    }

    /// Copies what is left and restarts the log. A reader that needs it may prevent that.
    fn restart(&mut self, conn: &Connection, wait: Duration) -> Result<(), DbError> {
        let begun = Instant::now();
        // SQLite does not wait for another copy that is under way.
        let shared = self.copier.as_ref().map(|copier| Arc::clone(&copier.shared));
        let _turn = shared.as_deref().map(Shared::turn);
        // SQLite's own waiting could wait for one place among the readers that is taken again and again. A new attempt
        // looks again where they are: one that began after all was copied blocks nothing.
        conn.busy_timeout(Duration::ZERO).map_err(db_error)?;
        while !checkpoint(conn, "restart")?.is_whole {
            if begun.elapsed() >= wait {
                self.busy_at = Some(self.bytes());
                self.waited += begun.elapsed();
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        self.begun_again();
        self.frames.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn begun_again(&mut self) {
        self.copied = 0;
        self.busy_at = None;
        self.waited = Duration::ZERO;
        self.n_frames_before = 0;
        if let Some(copier) = &self.copier {
            copier.shared.copied.store(0, Ordering::Relaxed);
        }
    }

    fn file_size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |found| found.len())
    }
}

/// Where SQLite keeps the log of a database.
pub(crate) fn log_path(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// The length of a database's log, as its file says.
pub(crate) fn log_size(database: &Path) -> u64 {
    std::fs::metadata(log_path(database)).map_or(0, |found| found.len())
}

/// What came of copying the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) is_whole: bool,
    frames: u64,
}

/// Copies the log into the database, as far as that mode does.
pub(crate) fn checkpoint(conn: &Connection, mode: &str) -> Result<Copied, DbError> {
    let looked = conn.query_row(&format!("pragma wal_checkpoint({mode})"), [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    match looked {
        Ok((busy, log, copied)) => Ok(Copied {
            is_whole: busy == 0 && log == copied,
            frames: u64::try_from(copied).unwrap_or(0),
        }),
        Err(error) => match db_error(error) {
            DbError::Busy => Ok(Copied { is_whole: false, frames: 0 }),
            error => Err(error),
        },
    }
}

/// The thread that copies.
#[derive(Debug)]
struct Copier {
    ask: SyncSender<()>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Held while it copies.
    turn: Mutex<()>,
    is_copying: AtomicBool,
    /// Frames that the last copy found in the database.
    copied: AtomicU64,
}

impl Copier {
    fn start(conn: Connection) -> Self {
        let (ask, asked): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        drop(std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let turn = its.turn();
                // A disk that fails is noticed by the writer, whose log soon begins again no more.
                if let Ok(copied) = checkpoint(&conn, "passive") {
                    its.copied.store(copied.frames, Ordering::Relaxed);
                }
                drop(turn);
                its.is_copying.store(false, Ordering::Relaxed);
            }
        }));
        Self { ask, shared }
    }

    fn ask(&self) {
        self.shared.is_copying.store(true, Ordering::Relaxed);
        let _already_asked = self.ask.try_send(());
    }
}

impl Shared {
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_needs_depends_on_its_length() {
        let length = |bytes: u64, copied: u64| Length {
            bytes: bytes * MB,
            copied: copied * MB,
            copying: false,
            busy_at: None,
            out_of_patience: false,
        };
        let copying = |bytes, copied| Length { copying: true, ..length(bytes, copied) };
        let busy_at =
            |bytes, copied, at: u64| Length { busy_at: Some(at * MB), ..length(bytes, copied) };
        let given_up = |length| Length { out_of_patience: true, ..length };
        for (name, length, expected) in [
            ("short", length(1, 0), Due::Nothing),
            ("long enough to be copied", length(4, 0), Due::Copy),
            ("being copied", copying(5, 0), Due::Nothing),
            ("copied, and has grown a little", length(7, 4), Due::Nothing),
            ("copied, and has grown", length(8, 4), Due::Copy),
            ("due to begin again, but much is left", length(16, 12), Due::Copy),
            ("due to begin again, and little is left", length(16, 15), Due::Restart),
            ("being copied when due", copying(20, 12), Due::Nothing),
            ("a reader was in the way just now", busy_at(17, 17, 17), Due::Nothing),
            ("a reader was in the way a while ago", busy_at(18, 17, 17), Due::Restart),
            ("too long, whatever else", length(40, 40), Due::RestartNow),
            ("too long while it is copied", copying(41, 0), Due::RestartNow),
            ("too long because of a reader", busy_at(41, 41, 41), Due::RestartNow),
            ("too long, and the reader stays", given_up(busy_at(41, 41, 41)), Due::Nothing),
            ("too long, and the reader stayed", given_up(busy_at(42, 41, 41)), Due::Restart),
            ("the count of an older log is left over", length(5, 30), Due::Nothing),
        ] {
            assert_eq!(due(length), expected, "{name}");
        }
    }
}
