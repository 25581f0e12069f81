//! Events as fast as possible: the write-ahead log stays small and shrinks when idle. A daemon that was killed with a
//! long log is back at once.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use substrate_core::size::Bytes;

use super::pump::{Limit, pump};
use super::workers::Observations;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::{Times, ms};

const MB: u64 = 1 << 20;
const MAX_BUSY: u64 = 64 * MB;
const MAX_IDLE: u64 = 8 * MB;

/// The log is small again after this time without an event.
const IDLE: Duration = Duration::from_secs(10);

/// What a log may add to a cold start, on a quiet machine.
const RECOVERY: Duration = Duration::from_millis(200);

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let time = Duration::from_secs(if setting.short { 10 } else { 60 });
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    let mut seen = Observations::default();
    let usual = usual_start(&sandbox, &mut seen)?;
    sandbox.start_daemon()?;
    let mut most = 0;
    let limit = Limit { n_events: usize::MAX - 8, time };
    let pumped = pump(&sandbox, limit, |_| {
        most = most.max(size(&sandbox));
        true
    })?;
    report.figure("events", pumped.words());
    report.none("events without an answer", pumped.n_failed);
    report.promise("longest write-ahead log (≤ 64 MB)", Bytes(most).to_string(), most <= MAX_BUSY);
    let is_small = || size(&sandbox) <= MAX_IDLE;
    proc::wait_until(IDLE, is_small);
    report.promise("… when idle for 10 s (≤ 8 MB)", Bytes(size(&sandbox)).to_string(), is_small());
    let (left, took) = killed(&sandbox, &mut seen)?;
    report.figure("log that the killed daemon left", Bytes(left).to_string());
    report.figure("first hook after a usual stop, and after the kill", words(usual, took));
    report.time("… recovery", took.saturating_sub(usual), RECOVERY);
    report.no("hooks that failed", &seen.failed);
    report.hooks(seen.hook_times());
    Ok(())
}

/// How long the first hook takes after a clean stop.
fn usual_start(sandbox: &Sandbox, seen: &mut Observations) -> Result<Duration> {
    let mut times = Vec::new();
    for n in 0..3 {
        sandbox.stop_daemon()?;
        times.push(seen.hook(sandbox, format!("toolu_usual_{n}"))?);
    }
    Ok(Times::of(times).p50())
}

/// Kills the daemon in the middle of a flood. Returns what is left in its log, and how long the next hook takes.
fn killed(sandbox: &Sandbox, seen: &mut Observations) -> Result<(u64, Duration)> {
    let pid = sandbox.daemon().context("no daemon runs")?;
    let mut n_looks = 0;
    let limit = Limit { n_events: usize::MAX - 8, time: Duration::from_secs(20) };
    pump(sandbox, limit, |_| {
        n_looks += 1;
        // After about two seconds.
        n_looks < 100 || !sandbox.signal(pid, Signal::KILL)
    })?;
    let gone = proc::wait_until(Duration::from_secs(5), || sandbox.daemons().is_empty());
    ensure!(gone, "the killed daemon is still there, or another was started without a hook");
    let left = size(sandbox);
    Ok((left, seen.hook(sandbox, "toolu_after_kill".to_owned())?))
}

fn size(sandbox: &Sandbox) -> u64 {
    std::fs::metadata(sandbox.state().join("subtrate.db-wal")).map_or(0, |found| found.len())
}

fn words(usual: Duration, took: Duration) -> String {
    format!("{}, {}", ms(usual), ms(took))
}
