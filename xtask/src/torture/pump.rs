//! Events over the socket as fast as they are answered.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ipc::ConnError;

use crate::frames::Caller;
use crate::payload;
use crate::sandbox::Sandbox;

const N_CONNECTIONS: usize = 8;

/// How often the pump checks its progress.
const EVERY: Duration = Duration::from_millis(20);

/// When a pump stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) n_events: usize,
    pub(super) time: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Pumped {
    pub(super) n_answered: usize,
    pub(super) n_failed: usize,
    pub(super) took: Duration,
}

impl Pumped {
    pub(super) fn words(&self) -> String {
        let rate = self.n_answered as f64 / self.took.as_secs_f64().max(1e-9);
        format!("{} in {:.1?} ({rate:.0}/s)", self.n_answered, self.took)
    }
}

/// Pumps until the limit. `look` gets the number of answers again and again, and returns `false` to stop early.
pub(super) fn pump(
    sandbox: &Sandbox,
    limit: Limit,
    mut look: impl FnMut(usize) -> bool,
) -> Result<Pumped> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let (n_answered, n_failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let enough = AtomicBool::new(false);
    let state = sandbox.state();
    let connection = |event: Template| {
        for n in 0..limit.n_events.div_ceil(N_CONNECTIONS) {
            if enough.load(Ordering::Relaxed) {
                break;
            }
            match caller.ask(&state, &event.with(n)) {
                Ok(_) => n_answered.fetch_add(1, Ordering::Relaxed),
                Err(ConnError::Absent) => {
                    std::thread::sleep(Duration::from_millis(2));
                    n_failed.fetch_add(1, Ordering::Relaxed)
                }
                Err(_) => n_failed.fetch_add(1, Ordering::Relaxed),
            };
        }
    };
    let begun = Instant::now();
    let templates = (0..N_CONNECTIONS).map(Template::new).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let connection = &connection;
        let running: Vec<_> =
            templates.into_iter().map(|event| scope.spawn(move || connection(event))).collect();
        while !running.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let go_on = look(n_answered.load(Ordering::Relaxed));
            if !go_on || begun.elapsed() >= limit.time {
                enough.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(EVERY);
        }
    });
    Ok(Pumped {
        n_answered: n_answered.into_inner(),
        n_failed: n_failed.into_inner(),
        took: begun.elapsed(),
    })
}

/// A payload in which only the marker changes, so that producing it costs nothing.
struct Template {
    bytes: Vec<u8>,
    /// Where the marker's number is.
    at: usize,
}

impl Template {
    fn new(connection: usize) -> Result<Self> {
        let marker = format!("toolu_{connection:02}_00000000");
        let bytes = payload::pre_tool_use(&marker, "Write", 2 << 10);
        let at = bytes.windows(marker.len()).position(|found| found == marker.as_bytes());
        Ok(Self { bytes, at: at.context("the payload has no marker")? + marker.len() - 8 })
    }

    fn with(&self, n: usize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.at..self.at + 8].copy_from_slice(format!("{:08}", n % 100_000_000).as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Template;

    #[test]
    fn a_template_changes_only_its_marker() {
        let template = Template::new(3).unwrap();
        let text = String::from_utf8(template.with(42)).unwrap();
        assert!(text.contains("\"tool_use_id\":\"toolu_03_00000042\""), "{text}");
        assert_eq!(text.len(), template.bytes.len());
    }
}
