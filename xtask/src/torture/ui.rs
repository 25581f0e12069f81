//! The dashboard over an hour's worth of events: the daemon's memory and the page's weight stay flat.

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
const MAX_NODES: u64 = 400;
const MAX_HEAP_KB: i64 = 2 << 10;
const MAX_GROWTH_KB: i64 = 2 << 10;

/// The short run ends before memory has settled: it grows for some fifty thousand events at this rate, and then no more.
const MAX_GROWTH_SHORT_KB: i64 = 8 << 10;

/// How often the tabs are weighed: each time their garbage is collected first.
const N_LOOKS: usize = 48;

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
    let bar = if setting.short { MAX_GROWTH_SHORT_KB } else { MAX_GROWTH_KB };
    flat("the daemon's KB in the second quarter of them, and in the last", &rss, bar)?;
    flat("KB of both tabs' scripts", &heap, MAX_HEAP_KB)?;
    let all = begins + i64::try_from(n_answered)?;
    let told = proc::wait_until(Duration::from_secs(20), || newest(&other) >= all);
    report.promise("the tabs were told of all", format!("{} of {all}", newest(&other)), told);
    // While a tab takes a new page over, it has the nodes of both. So they are counted again once it has settled.
    let second_half = nodes.iter().filter(|(at, _)| *at >= n_answered / 2);
    let fewest = second_half.map(|(_, n)| *n).min().context("no tab was weighed")?;
    let mut last = fewest;
    let is_flat = proc::wait_until(Duration::from_secs(20), || {
        last = tab.weight().n_nodes + other.weight().n_nodes;
        last < fewest + MAX_NODES
    });
    let words = format!("{fewest}, {last} (< {MAX_NODES} more)");
    report.promise(
        "nodes of both tabs: the fewest in the second half, and at the end",
        words,
        is_flat,
    );
    report.promise("streams that are still open", streams.n_open(), streams.n_open() == N_TABS);
    report.figure("sent to them", format!("{} KB", streams.n_bytes() >> 10));
    report.figure("the browser's memory", format!("{} MB", browser.memory_kb() >> 10));
    let wrong = [tab.problems(), other.problems()].concat();
    report.no("what the browser complained about", &wrong);
    report.promise("the same daemon", pid, sandbox.daemons() == [pid]);
    Ok(())
}

/// Sends events evenly over that time, and looks at what they did after every few of them, however slow the machine is.
/// Returns how many were answered, and how many were not.
fn paced(
    sandbox: &Sandbox,
    n_events: usize,
    time: Duration,
    mut look: impl FnMut(usize),
) -> Result<(usize, usize)> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let (state, begun) = (sandbox.state(), Instant::now());
    let (mut n_answered, mut n_failed) = (0, 0);
    for n in 0..n_events {
        let payload = payload::pre_tool_use(&format!("toolu_{n}"), "Bash", 2 << 10);
        match caller.ask(&state, &payload) {
            Ok(_) => n_answered += 1,
            Err(_) => n_failed += 1,
        }
        if n % (n_events / N_LOOKS).max(1) == 0 {
            look(n_answered);
        }
        // A busy machine may not keep up. What was sent is judged.
        if begun.elapsed() > time * 2 {
            break;
        }
        let due = time.mul_f64((n + 1) as f64 / n_events as f64);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
    }
    Ok((n_answered, n_failed))
}

/// The newest entry that a tab was told of.
fn newest(tab: &Tab) -> i64 {
    let shown = tab.js("Number(document.querySelector('#newest').textContent)");
    shown.as_f64().unwrap_or(0.0) as i64
}
