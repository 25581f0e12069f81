//! The daemon's memory: flat over many events, and given back after large ones.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::pump::{Limit, pump};
use super::{Report, Setting};
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::ms;
use crate::{payload, proc, procfs};

/// The last quarter compared to the second. The short run has a tenth of the events and must find the same leak.
const MAX_GROWTH_KB: i64 = 1 << 10;
const MAX_GROWTH_SHORT_KB: i64 = 1 << 9;

const LARGE: usize = 8 << 20;
const MAX_AFTER_KB: u64 = 40 << 10;

/// After this time, large payloads must be freed.
const FORGOTTEN: Duration = Duration::from_secs(60);

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    many(setting, &sandbox, report)?;
    large(setting, &sandbox, report)
}

fn many(setting: &Setting, sandbox: &Sandbox, report: &mut Report) -> Result<()> {
    let pid = sandbox.daemon().context("no daemon runs")?;
    let n_events = setting.rounds(100_000, 1_000_000);
    // A busy machine may not process all of them in time. What it did is judged.
    let time = Duration::from_secs(if setting.short { 25 } else { 3_600 });
    let mut samples = Vec::new();
    let pumped = pump(sandbox, Limit { n_events, time }, |n| {
        samples.extend(procfs::rss_kb(pid).map(|kb| (n, kb)));
        true
    })?;
    report.figure("events", pumped.words());
    report.none("events without an answer", pumped.n_failed);
    let (second, last) = quarters(&samples, pumped.n_answered).context("too few samples")?;
    let bar = if setting.short { MAX_GROWTH_SHORT_KB } else { MAX_GROWTH_KB };
    let words = format!("{second} KB, {last} KB (< {bar} KB more)");
    let kept = last - second < bar;
    report.promise("memory in the second quarter of them, and in the last", words, kept);
    Ok(())
}

/// The median of the samples in the second quarter of the events, and in the last.
pub(super) fn quarters(samples: &[(usize, u64)], n_events: usize) -> Option<(i64, i64)> {
    let median = |from: usize, to: usize| {
        let within = samples.iter().filter(|(n, _)| *n >= from && *n < to);
        let mut sizes: Vec<u64> = within.map(|(_, kb)| *kb).collect();
        sizes.sort_unstable();
        i64::try_from(*sizes.get(sizes.len() / 2)?).ok()
    };
    Some((median(n_events / 4, n_events / 2)?, median(n_events / 4 * 3, n_events + 1)?))
}

/// Large payloads at once.
fn large(setting: &Setting, sandbox: &Sandbox, report: &mut Report) -> Result<()> {
    let n_payloads = if setting.short { 30 } else { 100 };
    let pid = sandbox.daemon().context("no daemon runs")?;
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let payload = payload::pre_tool_use("toolu_large", "Write", LARGE);
    let (state, begin) = (sandbox.state(), Barrier::new(n_payloads));
    let mut most = 0;
    let n_answered = std::thread::scope(|scope| {
        let send = || {
            begin.wait();
            caller.ask(&state, &payload).is_ok()
        };
        let running: Vec<_> = (0..n_payloads).map(|_| scope.spawn(send)).collect();
        while !running.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            most = most.max(procfs::rss_kb(pid).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(20));
        }
        running.into_iter().filter_map(|one| one.join().ok()).filter(|answered| *answered).count()
    });
    let words = format!("{n_answered} of {n_payloads}, up to {} MB", most >> 10);
    report.promise("payloads of 8 MB at once, answered", words, n_answered == n_payloads);
    let begun = Instant::now();
    let now = || procfs::rss_kb(pid).unwrap_or(0);
    let small = proc::wait_until(FORGOTTEN, || now() < MAX_AFTER_KB);
    let words = format!("{} KB after {}", now(), ms(begun.elapsed()));
    let same = sandbox.daemons() == [pid];
    report.promise("memory is back under 40 MB within 60 s", words, small && same);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::quarters;

    #[test]
    fn growth_is_the_last_quarter_against_the_second() {
        let samples: Vec<(usize, u64)> = (0..=100).map(|n| (n, 1_000 + n as u64)).collect();
        assert_eq!(quarters(&samples, 100), Some((1_037, 1_088)));
        assert_eq!(quarters(&samples[..10], 100), None);
    }
}
