//! The dashboard over an hour's worth of events: the daemon's memory and the page's weight stay flat.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use substrate_browser::{Browser, Tab, Weight};

use super::memory::quarters;
use super::{Report, Setting};
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::ui::{Site, address};
use crate::{payload, proc, procfs};

/// An hour at twenty events a second.
const HOUR: usize = 72_000;

/// More nodes than this between the second quarter and the last is a leak. What a page shows varies by a few rows.
const MAX_NODES: i64 = 400;
const MAX_HEAP_KB: i64 = 1 << 10;
const MAX_GROWTH_KB: i64 = 2 << 10;

/// How often a tab is weighed: each time its garbage is collected first.
const WEIGH: Duration = Duration::from_millis(400);

/// Tabs that only stream, beside the real ones.
const N_TABS: usize = 10;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let pid = sandbox.start_daemon()?;
    for n in 0..5 {
        let payload = payload::pre_tool_use(&format!("toolu_{n}"), "Bash", 2 << 10);
        proc::feed(&mut sandbox.hook(), &payload)?;
    }
    let site = Site::open(&sandbox)?;
    let pages = site.addresses()?;
    let streams = site.tabs(&pages, N_TABS)?;
    let browser = Browser::start();
    let tab = browser.tab();
    tab.goto(&address(&sandbox)?);
    let story = pages.iter().find(|page| page.starts_with("/agent")).context("no agent's page")?;
    let other = browser.tab();
    other.goto(&format!("http://127.0.0.1:{}{story}", site.port));
    for tab in [&tab, &other] {
        tab.js("window.n = 0; addEventListener('substrate:entries', (e) => { n += e.detail.length; }); 0");
        tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
    }

    let n_events = setting.rounds(12_000, HOUR);
    let time = Duration::from_secs(if setting.short { 10 } else { 75 });
    let (mut rss, mut nodes, mut heap) = (Vec::new(), Vec::new(), Vec::new());
    let begins = newest(&other);
    let (n_answered, n_failed) = paced(&sandbox, n_events, time, |n| {
        rss.extend(procfs::rss_kb(pid).map(|kb| (n, kb)));
        let (first, second): (Weight, Weight) = (tab.weight(), other.weight());
        nodes.push((n, first.n_nodes + second.n_nodes));
        heap.push((n, first.heap_kb + second.heap_kb));
    })?;
    report.figure("events", format!("{n_answered} in {time:?}"));
    report.none("events without an answer", n_failed);
    let mut flat = |what: &str, samples: &[(usize, u64)], bar: i64| -> Result<()> {
        let (second, last) = quarters(samples, n_answered)
            .with_context(|| format!("too few samples: {samples:?}"))?;
        let words = format!("{second}, {last} (< {bar} more)");
        report.promise(what, words, last - second < bar);
        Ok(())
    };
    flat("the daemon's KB in the second quarter of them, and in the last", &rss, MAX_GROWTH_KB)?;
    flat("nodes of both tabs", &nodes, MAX_NODES)?;
    flat("KB of both tabs' scripts", &heap, MAX_HEAP_KB)?;
    let all = begins + i64::try_from(n_answered)?;
    let told = proc::wait_until(Duration::from_secs(20), || newest(&other) >= all);
    report.promise("the tabs were told of all", format!("{} of {all}", newest(&other)), told);
    report.promise("streams that are still open", streams.n_open(), streams.n_open() == N_TABS);
    report.figure("sent to them", format!("{} KB", streams.n_bytes() >> 10));
    report.figure("the browser's memory", format!("{} MB", browser.memory_kb() >> 10));
    let wrong = [tab.problems(), other.problems()].concat();
    report.no("what the browser complained about", &wrong);
    report.promise("the same daemon", pid, sandbox.daemons() == [pid]);
    Ok(())
}

/// Sends events evenly over that time, and looks on meanwhile. Returns how many were answered, and how many were not.
fn paced(
    sandbox: &Sandbox,
    n_events: usize,
    time: Duration,
    mut look: impl FnMut(usize),
) -> Result<(usize, usize)> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let (state, begun) = (sandbox.state(), Instant::now());
    let (n_answered, n_failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let sends = scope.spawn(|| {
            for n in 0..n_events {
                let payload = payload::pre_tool_use(&format!("toolu_{n}"), "Bash", 2 << 10);
                let counts = match caller.ask(&state, &payload) {
                    Ok(_) => &n_answered,
                    Err(_) => &n_failed,
                };
                counts.fetch_add(1, Ordering::Relaxed);
                let due = time.mul_f64((n + 1) as f64 / n_events as f64);
                // A busy machine may not keep up. What was sent is judged.
                if begun.elapsed() > time * 2 {
                    break;
                }
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        });
        while !sends.is_finished() {
            look(n_answered.load(Ordering::Relaxed));
            std::thread::sleep(WEIGH);
        }
    });
    Ok((n_answered.into_inner(), n_failed.into_inner()))
}

/// The newest entry that a tab was told of.
fn newest(tab: &Tab) -> i64 {
    let shown = tab.js("Number(document.querySelector('#newest').textContent)");
    shown.as_f64().unwrap_or(0.0) as i64
}
