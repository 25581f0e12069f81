//! No daemon: the first hook starts one and is answered by it, and so are 64 at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::spawns;
use super::workers::Observations;
use super::{Report, Setting};
use crate::journal;
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::{Times, ms};

const N_AGENTS: usize = 64;

/// The first of 64 hooks at once, on a quiet machine.
const P99: Duration = Duration::from_millis(500);

/// The first hook alone, in times of `/bin/true`.
const MAX_RATIO: f64 = 40.0;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    alone(setting, report)?;
    for _ in 0..setting.rounds(1, 5) {
        at_once(setting, report)?;
    }
    Ok(())
}

/// One hook, with and without an existing database.
fn alone(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_tries = if setting.short { 5 } else { 21 };
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    let (mut seen, mut beside) = (Observations::default(), Vec::new());
    for n in 0..n_tries {
        sandbox.stop_daemon()?;
        beside.push(spawns::true_once()?);
        seen.hook(&sandbox, format!("toolu_alone_{n}"))?;
        beside.push(spawns::true_once()?);
    }
    ratio("first hook alone ÷ `/bin/true`", &seen.times(), &Times::of(beside), report);
    report.journal(&sandbox, &seen)?;
    let (mut first, mut beside) = (Observations::default(), Vec::new());
    for n in 0..3 {
        let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
        beside.push(spawns::true_once()?);
        first.hook(&sandbox, format!("toolu_first_{n}"))?;
        beside.push(spawns::true_once()?);
    }
    ratio("… where no database is yet", &first.times(), &Times::of(beside), report);
    report.hooks(first.hook_times());
    Ok(())
}

fn ratio(what: &str, hooks: &Times, spawns: &Times, report: &mut Report) {
    let ratio = hooks.p50().as_secs_f64() / spawns.p50().as_secs_f64().max(1e-9);
    let words = format!("{ratio:.1} × ({}, {})", ms(hooks.p50()), ms(spawns.p50()));
    report.when_quiet(what, words, format!("≤ {MAX_RATIO} ×"), ratio <= MAX_RATIO);
}

/// All agents start at the same moment, and go on with some more events.
fn at_once(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_events = if setting.short { 4 } else { 50 };
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let begin = Barrier::new(N_AGENTS);
    let agent = |agent: usize| -> Result<Observations> {
        let mut seen = Observations::default();
        begin.wait();
        for n in 0..n_events {
            seen.hook(&sandbox, format!("toolu_{agent}_{n}"))?;
        }
        Ok(seen)
    };
    let (done, most, agent) = (AtomicBool::new(false), AtomicUsize::new(0), &agent);
    let (mut seen, mut first) = (Observations::default(), Vec::new());
    std::thread::scope(|scope| -> Result<()> {
        let agents: Vec<_> = (0..N_AGENTS).map(|n| scope.spawn(move || agent(n))).collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(sandbox.daemons().len(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(25));
            }
        });
        let joined: Vec<_> = agents.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        for one in joined {
            let one = one.map_err(|_| anyhow::anyhow!("an agent panicked"))??;
            first.extend(one.hook_times().next());
            seen.add(one);
        }
        Ok(())
    })?;
    proc::wait_until(Duration::from_secs(5), || sandbox.daemons().len() == 1);
    let (n_now, most) = (sandbox.daemons().len(), most.into_inner());
    report.promise(
        "daemons at the end, and most at once",
        format!("{n_now}, {most}"),
        n_now == 1 && most <= 1,
    );
    let first = Times::of(first);
    report.figure("p50 of the first hooks of 64 agents", ms(first.p50()));
    report.time("p99 of them", first.permille(990), P99);
    report.journal(&sandbox, &seen)?;
    let found = journal::compare(&sandbox.database(), &seen.sent)?;
    report.none("rows that the daemon did not write", found.n_in_process);
    Ok(())
}
