//! Agents that go on working while something happens to the daemon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ipc::ConnError;

use crate::frames::Caller;
use crate::journal::Sent;
use crate::sandbox::Sandbox;
use crate::stats::Times;
use crate::{payload, proc};

/// How a worker sends its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A real hook process each.
    Hook,
    /// A frame over the socket each.
    Frame,
}

/// What the workers saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) sent: Sent,
    /// When each hook process began, and how long it took.
    pub(super) hooks: Vec<(Instant, Duration)>,
    /// Hook processes that did not exit with 0, or printed something.
    pub(super) n_failed: usize,
    pub(super) n_frames: usize,
}

impl Seen {
    pub(super) fn add(&mut self, other: Self) {
        self.sent.add(other.sent);
        self.hooks.extend(other.hooks);
        self.n_failed += other.n_failed;
        self.n_frames += other.n_frames;
    }

    pub(super) fn times(&self) -> Times {
        Times::of(self.hooks.iter().map(|(_, took)| *took).collect())
    }

    /// One hook process with that marker.
    pub(super) fn hook(&mut self, sandbox: &Sandbox, marker: String) -> Result<Duration> {
        let payload = payload::pre_tool_use(&marker, "Write", 2 << 10);
        let begun = Instant::now();
        let ran = proc::feed(&mut sandbox.hook(), &payload)?;
        self.hooks.push((begun, ran.took));
        self.n_failed += usize::from(!ran.ok() || !ran.stdout.is_empty());
        self.sent.answered.push(marker);
        Ok(ran.took)
    }

    /// One event over the socket.
    fn frame(&mut self, caller: &Caller, sandbox: &Sandbox, marker: String) {
        let payload = payload::pre_tool_use(&marker, "Write", 2 << 10);
        self.n_frames += 1;
        match caller.ask(&sandbox.state(), &payload) {
            Ok(_) => self.sent.answered.push(marker),
            // Nobody is there: a real hook would do without. Somebody else's turn.
            Err(ConnError::Absent) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => self.sent.unanswered.push(marker),
        }
    }
}

/// Runs workers while `meanwhile` does something, and a little longer.
pub(super) fn work_while(
    sandbox: &Sandbox,
    workers: &[By],
    pause: Duration,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<Seen> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let stop = AtomicBool::new(false);
    let work = |worker: usize, by: By| -> Result<Seen> {
        let mut seen = Seen::default();
        for n in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let marker = format!("toolu_{worker}_{n}");
            match by {
                By::Hook => drop(seen.hook(sandbox, marker)?),
                By::Frame => seen.frame(&caller, sandbox, marker),
            }
            std::thread::sleep(pause);
        }
        Ok(seen)
    };
    let (stop, work) = (&stop, &work);
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..).zip(workers).map(|(n, by)| scope.spawn(move || work(n, *by))).collect();
        let done = meanwhile();
        stop.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for worker in running {
            all.add(worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??);
        }
        done.map(|()| all)
    })
}
