//! Agents that keep working while something happens to the daemon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use ipc::ConnError;
use serde_json::Value;

use super::history::{self, Act, Moment, Record, Verdict};
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

/// What the workers observed.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub(super) sent: Sent,
    /// All events, about their markers.
    pub(super) records: Vec<Record>,
    /// When each hook process began, and how long it took.
    pub(super) hooks: Vec<(Moment, Duration)>,
    /// Hook processes that did not exit with 0, refused, or printed more than one JSON object.
    pub(super) failed: Vec<String>,
    /// Hook processes that printed anything at all.
    pub(super) printed: Vec<String>,
    pub(super) n_frames: usize,
}

impl Observations {
    pub(super) fn add(&mut self, other: Self) {
        self.sent.add(other.sent);
        self.records.extend(other.records);
        self.hooks.extend(other.hooks);
        self.failed.extend(other.failed);
        self.printed.extend(other.printed);
        self.n_frames += other.n_frames;
    }

    pub(super) fn hook_times(&self) -> impl Iterator<Item = Duration> {
        self.hooks.iter().map(|(_, took)| *took)
    }

    pub(super) fn times(&self) -> Times {
        Times::of(self.hook_times().collect())
    }

    /// One hook process with that marker.
    pub(super) fn hook(&mut self, sandbox: &Sandbox, marker: String) -> Result<Duration> {
        let payload = payload::pre_tool_use(&marker, "Write", 2 << 10);
        let mut command = sandbox.hook();
        let began = history::now();
        let ran = proc::feed(&mut command, &payload)?;
        self.hooks.push((began, ran.took));
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let is_json = said.is_empty() || serde_json::from_str::<Value>(&said).is_ok();
        let holds = ran.ok() && is_json && !said.contains("\"deny\"");
        if !holds {
            self.failed.push(format!("{marker}: {} {said}", ran.status));
        }
        if !said.is_empty() {
            self.printed.push(format!("{marker}: {said}"));
        }
        self.note(&marker, if holds { Verdict::Allowed } else { Verdict::Failed }, began);
        if ran.ok() { &mut self.sent.answered } else { &mut self.sent.unanswered }.push(marker);
        Ok(ran.took)
    }

    /// One event over the socket.
    fn frame(&mut self, caller: &Caller, sandbox: &Sandbox, marker: String) {
        let payload = payload::pre_tool_use(&marker, "Write", 2 << 10);
        self.n_frames += 1;
        let began = history::now();
        match caller.ask(&sandbox.state(), &payload) {
            Ok(_) => {
                self.note(&marker, Verdict::Allowed, began);
                self.sent.answered.push(marker);
            }
            // There is no daemon. A real hook would start one, and the workers that are real hooks do.
            Err(ConnError::Absent) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => self.sent.unanswered.push(marker),
        }
    }

    fn note(&mut self, marker: &str, verdict: Verdict, began: Moment) {
        self.records.push(Record {
            actor: String::new(),
            act: Act::Before,
            about: vec![marker.to_owned()],
            verdict,
            began,
            ended: history::now(),
        });
    }
}

/// Runs workers until `meanwhile` is done.
pub(super) fn work_while(
    sandbox: &Sandbox,
    workers: &[By],
    pause: Duration,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<Observations> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let stop = AtomicBool::new(false);
    let work = |worker: usize, by: By| -> Result<Observations> {
        let mut seen = Observations::default();
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
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..).zip(workers).map(|(n, by)| scope.spawn(move || work(n, *by))).collect();
        let done = meanwhile();
        stop.store(true, Ordering::Relaxed);
        let mut all = Observations::default();
        for worker in running {
            all.add(worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??);
        }
        done.map(|()| all)
    })
}
