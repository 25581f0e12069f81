//! The cost of starting any process meanwhile: `/bin/true`, again and again beside a scenario.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::proc;
use crate::stats::Times;

const EVERY: Duration = Duration::from_millis(50);

/// The thread that starts them; it ends with this value.
pub(super) struct Spawns {
    enough: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Duration>>>,
}

impl Spawns {
    pub(super) fn start() -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&enough);
        let thread = std::thread::spawn(move || {
            let mut times = Vec::new();
            while !until.load(Ordering::Relaxed) {
                times.extend(true_once());
                std::thread::sleep(EVERY);
            }
            times
        });
        Self { enough, thread: Some(thread) }
    }

    /// The times from start to exit.
    pub(super) fn end(mut self) -> Times {
        Times::of(self.join())
    }

    fn join(&mut self) -> Vec<Duration> {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Spawns {
    fn drop(&mut self) {
        self.join();
    }
}

/// How long one `/bin/true` takes now.
pub(super) fn true_once() -> Result<Duration> {
    let begun = Instant::now();
    proc::command("/bin/true").stdin(Stdio::null()).status()?;
    Ok(begun.elapsed())
}
