//! Many hooks at once, and no daemon: exactly one comes of it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::workers::Seen;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let (n_agents, n_events) = if setting.short { (16, 20) } else { (64, 200) };
    let mut report = Report::default();
    for _ in 0..setting.rounds(1, 1) {
        once(setting, n_agents, n_events, &mut report)?;
    }
    Ok(report)
}

fn once(setting: &Setting, n_agents: usize, n_events: usize, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let agent = |agent: usize| -> Result<Seen> {
        let mut seen = Seen::default();
        for n in 0..n_events {
            seen.hook(&sandbox, format!("toolu_{agent}_{n}"))?;
        }
        Ok(seen)
    };
    let (done, most, agent) = (AtomicBool::new(false), AtomicUsize::new(0), &agent);
    let count = || most.fetch_max(sandbox.daemons().len(), Ordering::Relaxed);
    let mut seen = Seen::default();
    std::thread::scope(|scope| -> Result<()> {
        let agents: Vec<_> = (0..n_agents).map(|n| scope.spawn(move || agent(n))).collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                count();
                std::thread::sleep(Duration::from_millis(25));
            }
        });
        let joined: Vec<_> = agents.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        for one in joined {
            seen.add(one.map_err(|_| anyhow::anyhow!("an agent panicked"))??);
        }
        Ok(())
    })?;
    proc::wait_until(Duration::from_secs(5), || sandbox.daemons().len() == 1);
    let n_now = sandbox.daemons().len();
    let most = most.into_inner();
    report.figure("agents × events", format!("{n_agents} × {n_events}"));
    report.promise(
        "daemons at the end, and most at once",
        format!("{n_now}, {most}"),
        n_now == 1 && most <= 1,
    );
    report.hooks(&seen.times());
    let sorted = seen.times();
    report.figure("p99 of the hooks", crate::stats::ms(sorted.permille(990)));
    report.none("hooks that failed or printed", seen.n_failed);
    report.journal(&sandbox, &seen.sent)?;
    Ok(())
}
