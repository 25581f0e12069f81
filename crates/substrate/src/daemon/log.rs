//! The daemon's log: `logs/daemon.<date>.log`, one file a day, kept for a week.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic;
use std::path::PathBuf;
use std::sync::Mutex;

use substrate_core::redact::clean;

use crate::clock;
use crate::config::Home;

/// Days to keep.
const KEPT: usize = 7;

/// Starts logging. The daemon works without a log, too.
pub(super) fn begin(home: &Home) {
    if let Ok(log) = Daily::open(home.logs(), today()) {
        let _only_once = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_target(false)
            .with_writer(Mutex::new(Gate(log)))
            .try_init();
    }
    // A feature's panic is contained. It must still leave a trace, and never reach a terminal.
    panic::set_hook(Box::new(|info| tracing::error!(%info, "panic")));
}

/// Removes secrets from every line. The subscriber writes whole lines.
struct Gate(Daily);

impl Write for Gate {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        self.0.write(today(), clean(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.0.file.flush()
    }
}

/// Appends to the file of the day.
struct Daily {
    folder: PathBuf,
    day: String,
    file: File,
}

impl Daily {
    fn open(folder: PathBuf, day: String) -> Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("daemon.{day}.log"));
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let log = Self { folder, day, file };
        log.remove_old();
        Ok(log)
    }

    fn write(&mut self, day: String, line: &[u8]) -> Result<()> {
        // If the new file can't be opened, the old one goes on.
        if day != self.day
            && let Ok(next) = Self::open(self.folder.clone(), day)
        {
            *self = next;
        }
        self.file.write_all(line)
    }

    fn remove_old(&self) {
        let is_log = |name: &String| name.starts_with("daemon.") && name.ends_with(".log");
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(is_log).collect();
        names.sort_unstable();
        for name in names.iter().rev().skip(KEPT) {
            let _maybe_absent = std::fs::remove_file(self.folder.join(name));
        }
    }
}

/// The date in UTC.
fn today() -> String {
    let now = jiff::Timestamp::from_millisecond(clock::now().0).unwrap_or_default();
    now.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_its_file_and_a_week_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Daily::open(folder.path().join("logs"), "2026-01-01".to_owned()).unwrap();
        for day in 1..=9 {
            log.write(format!("2026-01-0{day}"), b"one\n").unwrap();
            log.write(format!("2026-01-0{day}"), b"two\n").unwrap();
        }
        let entries = std::fs::read_dir(folder.path().join("logs")).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        let expected: Vec<String> =
            (3..=9).map(|day| format!("daemon.2026-01-0{day}.log")).collect();
        assert_eq!(names, expected);
        let last = folder.path().join("logs").join(&expected[6]);
        assert_eq!(std::fs::read_to_string(last).unwrap(), "one\ntwo\n");
    }
}
