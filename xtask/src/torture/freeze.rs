//! The daemon is stopped (SIGSTOP), between two transactions or in the middle of one: it is replaced, and nothing is
//! lost or doubled.
//!
//! Hooks kill the stopped daemon, so its pid may be recycled: a signal goes only to a pid that still is our daemon.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::history::{self, Moment};
use super::workers::{By, Observations, work_while};
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::{Times, ms};

/// The next hook is answered within this time on a quiet machine.
const NEXT: Duration = Duration::from_secs(3);

/// A stopped daemon is gone within this time, however busy the machine is.
const REPLACED: Duration = Duration::from_secs(15);

/// Hooks before and after, for the usual speed.
const N_HOOKS: usize = 11;

/// How often the daemon is stopped and continued until it is found in a transaction.
const MAX_TRIES: usize = 300;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    one_by_one(setting, report)?;
    among_others(setting, report)
}

/// Outside of a transaction: the next hook waits and is answered, and later ones are as fast as before.
fn one_by_one(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    let (mut seen, mut next) = (Observations::default(), Vec::new());
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut n_survived = 0;
    for round in 0..setting.rounds(2, 10) {
        for n in 0..N_HOOKS {
            before.push(seen.hook(&sandbox, format!("toolu_{round}_before_{n}"))?);
        }
        let pid = sandbox.daemon().context("no daemon runs")?;
        ensure!(sandbox.signal(pid, Signal::STOP), "the daemon is gone");
        next.push(seen.hook(&sandbox, format!("toolu_{round}_next"))?);
        for n in 0..N_HOOKS {
            after.push(seen.hook(&sandbox, format!("toolu_{round}_after_{n}"))?);
        }
        let gone = proc::wait_until(Duration::from_secs(2), || !sandbox.daemons().contains(&pid));
        // If it was not replaced, it must not repeat what others have done.
        n_survived += usize::from(!gone);
        sandbox.signal(pid, Signal::CONT);
    }
    let (before, after) = (Times::of(before), Times::of(after));
    report.time("next hook after a freeze, slowest", Times::of(next).max(), NEXT);
    let (usual, later) = (before.p50(), after.p50());
    let kept = later <= 3 * usual + Duration::from_millis(5);
    let words = format!("{}, {} (max {})", ms(usual), ms(later), ms(after.max()));
    report.when_quiet("p50 of the hooks before it, and after the next", words, "≤ 3 ×", kept);
    report.none("frozen daemons that were not replaced", n_survived);
    ends_with_one(&sandbox, report);
    report.journal(&sandbox, &seen)
}

/// While many agents send events, at random moments and in the middle of a commit.
fn among_others(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_freezes = setting.rounds(4, 30);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    let mut rng = setting.rng();
    let mut freezes = Vec::new();
    let workers = [By::Hook, By::Hook, By::Hook, By::Hook, By::Frame, By::Frame, By::Frame];
    let seen = work_while(&sandbox, &workers, Duration::from_millis(2), || {
        for n in 0..n_freezes {
            std::thread::sleep(rng.millis(50, 300));
            if setting.is_late() {
                break;
            }
            let wants_commit = n % 2 == 0;
            freezes.extend(freeze(&sandbox, wants_commit)?);
        }
        Ok(())
    })?;
    let n_in_commit = freezes.iter().filter(|freeze| freeze.in_commit).count();
    let words = format!("{}, {n_in_commit}", freezes.len());
    report.figure("freezes, and those in the middle of a commit", words);
    report.promise("… of which one at least", n_in_commit, n_in_commit > 0);
    report.time("slowest hook of those that a freeze held up", slowest(&seen, &freezes), NEXT);
    let n_survived = freezes.iter().filter(|freeze| !freeze.replaced).count();
    report.none("frozen daemons that were not replaced", n_survived);
    ends_with_one(&sandbox, report);
    report.journal(&sandbox, &seen)
}

/// When the daemon was frozen, and what happened then.
struct Freeze {
    began: Moment,
    ended: Moment,
    in_commit: bool,
    replaced: bool,
}

/// Stops the daemon, in a transaction if wanted and possible, and waits for its replacement.
fn freeze(sandbox: &Sandbox, wants_commit: bool) -> Result<Option<Freeze>> {
    for n_try in 0..MAX_TRIES {
        let up = proc::wait_until(REPLACED, || sandbox.daemons().len() == 1);
        ensure!(up, "there are {} daemons after {REPLACED:?}", sandbox.daemons().len());
        let Some(pid) = sandbox.daemon() else { continue };
        if !sandbox.signal(pid, Signal::STOP) {
            continue;
        }
        let began = history::now();
        let in_commit = holds_the_database(sandbox)?;
        if wants_commit && !in_commit && n_try + 1 < MAX_TRIES {
            sandbox.signal(pid, Signal::CONT);
            std::thread::sleep(Duration::from_micros(300));
            continue;
        }
        let replaced = proc::wait_until(REPLACED, || !sandbox.daemons().contains(&pid));
        sandbox.signal(pid, Signal::CONT);
        return Ok(Some(Freeze { began, ended: history::now(), in_commit, replaced }));
    }
    Ok(None)
}

/// Whether the stopped daemon is in the middle of a transaction.
fn holds_the_database(sandbox: &Sandbox) -> Result<bool> {
    let db = rusqlite::Connection::open(sandbox.database())?;
    db.busy_timeout(Duration::from_millis(20))?;
    Ok(db.execute_batch("begin immediate; rollback").is_err())
}

/// The longest of the hooks that ran when the daemon was frozen, or began before it was replaced.
fn slowest(seen: &Observations, freezes: &[Freeze]) -> Duration {
    let held_up = |(began, took): &&(Moment, Duration)| {
        freezes.iter().any(|freeze| *began < freeze.ended && *began + *took > freeze.began)
    };
    seen.hooks.iter().filter(held_up).map(|(_, took)| *took).max().unwrap_or_default()
}

fn ends_with_one(sandbox: &Sandbox, report: &mut Report) {
    proc::wait_until(Duration::from_secs(5), || sandbox.daemons().len() == 1);
    let n_daemons = sandbox.daemons().len();
    report.promise("daemons at the end", n_daemons, n_daemons == 1);
}
