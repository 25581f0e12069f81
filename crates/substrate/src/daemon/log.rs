//! The daemon's log: `logs/daemon.<date>.log`, one file a day, kept for a week.

use std::io::{Result, Write};
use std::panic;
use std::sync::Mutex;

use substrate_core::redact::clean;
use tracing_appender::rolling::{RollingFileAppender, Rotation};

use crate::config::Home;

/// Days to keep.
const KEPT: usize = 7;

/// Starts logging. The daemon works without a log, too.
pub(super) fn begin(home: &Home) {
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("daemon")
        .filename_suffix("log")
        .max_log_files(KEPT)
        .build(home.logs());
    if let Ok(file) = file {
        let _only_once = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_target(false)
            .with_writer(Mutex::new(Gate(file)))
            .try_init();
    }
    // A feature's panic is contained. It must still leave a trace, and never reach a terminal.
    panic::set_hook(Box::new(|info| tracing::error!(%info, "panic")));
}

/// Removes secrets from every line. The subscriber writes whole lines.
struct Gate(RollingFileAppender);

impl Write for Gate {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        self.0.write_all(clean(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}
