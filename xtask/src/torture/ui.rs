//! The dashboard over an hour's worth of events: the daemon's memory and the page's weight stay flat.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use substrate_browser::{Browser, Tab, Weight};

use super::memory::quarters;
use super::pump::{Limit, pump};
use super::{Report, Setting};
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
const WEIGH: Duration = Duration::from_millis(700);

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
    let time = Duration::from_secs(if setting.short { 12 } else { 90 });
    let (mut rss, mut nodes, mut heap) = (Vec::new(), Vec::new(), Vec::new());
    let mut weighed = Instant::now();
    let begins = newest(&other);
    let pumped = pump(&sandbox, Limit { n_events, time }, |n| {
        rss.extend(procfs::rss_kb(pid).map(|kb| (n, kb)));
        if weighed.elapsed() >= WEIGH {
            let Weight { n_nodes, heap_kb, .. } = tab.weight();
            let story = other.weight();
            nodes.push((n, n_nodes + story.n_nodes));
            heap.push((n, heap_kb + story.heap_kb));
            weighed = Instant::now();
        }
        true
    })?;
    report.figure("events", pumped.words());
    report.none("events without an answer", pumped.n_failed);
    let mut flat = |what: &str, samples: &[(usize, u64)], bar: i64| -> Result<()> {
        let (second, last) = quarters(samples, pumped.n_answered)
            .with_context(|| format!("too few samples: {samples:?}"))?;
        let words = format!("{second}, {last} (< {bar} more)");
        report.promise(what, words, last - second < bar);
        Ok(())
    };
    flat("the daemon's KB in the second quarter of them, and in the last", &rss, MAX_GROWTH_KB)?;
    flat("nodes of both tabs", &nodes, MAX_NODES)?;
    flat("KB of both tabs' scripts", &heap, MAX_HEAP_KB)?;
    let all = begins + i64::try_from(pumped.n_answered)?;
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

/// The newest entry that a tab was told of.
fn newest(tab: &Tab) -> i64 {
    let shown = tab.js("Number(document.querySelector('#newest').textContent)");
    shown.as_f64().unwrap_or(0.0) as i64
}
