//! The daemon is frozen, and wakes up later: no hook waits beyond its deadline, and no event is there twice.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use super::workers::{By, Seen, work_while};
use super::{Report, Setting};
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::ms;
use crate::{journal, proc};

/// A hook that is slower than this has waited for the daemon.
const WAITED: Duration = Duration::from_millis(700);

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let mut report = Report::default();
    at_random(setting, &mut report)?;
    only_the_first_wait(setting, &mut report)?;
    Ok(report)
}

/// Freezes at random moments, under load.
fn at_random(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_freezes = setting.rounds(3, 20);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let pid = sandbox.start_daemon()?;
    let mut rng = setting.rng();
    let mut freezes = Vec::new();
    let workers = [By::Hook; 8];
    let seen = work_while(&sandbox, &workers, Duration::from_millis(5), || {
        for _ in 0..n_freezes {
            std::thread::sleep(rng.millis(50, 500));
            let begun = Instant::now();
            proc::signal(pid, Signal::STOP);
            let in_commit = holds_the_database(&sandbox)?;
            std::thread::sleep(rng.millis(300, 3_000));
            proc::signal(pid, Signal::CONT);
            freezes.push(Freeze { begun, ended: Instant::now(), in_commit });
            std::thread::sleep(rng.millis(300, 600));
        }
        Ok(())
    })?;
    let n_in_commit = freezes.iter().filter(|freeze| freeze.in_commit).count();
    report.figure(
        "freezes, and those in the middle of a commit",
        format!("{n_freezes}, {n_in_commit}"),
    );
    report.hooks(&seen.times());
    report.none("hooks that failed or printed", seen.n_failed);
    let n_waited = seen.hooks.iter().filter(|(_, took)| *took > WAITED).count();
    report.figure("hooks that waited for it", n_waited);
    let late = slow_after(&seen, &freezes);
    report.promise(
        "hooks that began over 1.5 s into a freeze (not in a commit), and waited",
        late.len(),
        late.is_empty(),
    );
    late.into_iter().for_each(|line| report.evidence(line));
    let same = sandbox.daemons() == [pid];
    report.promise("the same daemon goes on", same, same);
    let socket = sandbox.state().join(ipc::place::SOCKET);
    let begun = Instant::now();
    let back = proc::wait_until(Duration::from_secs(8), || socket.exists());
    let took = begun.elapsed();
    let words = if back { ms(took) } else { "never".to_owned() };
    report.promise("its socket is back after", words, back && took < Duration::from_secs(1));
    // Whatever it still has of the hooks that did not wait.
    std::thread::sleep(Duration::from_millis(500));
    report.journal(&sandbox, &seen.sent)
}

/// When the daemon was frozen.
struct Freeze {
    begun: Instant,
    ended: Instant,
    /// It holds the database, so nobody can do without it.
    in_commit: bool,
}

/// Whether nobody else can write. Hooks that do without the daemon write too, but not for long.
fn holds_the_database(sandbox: &Sandbox) -> Result<bool> {
    let db = rusqlite::Connection::open(sandbox.database())?;
    db.busy_timeout(Duration::from_millis(150))?;
    Ok(db.execute_batch("begin immediate; rollback").is_err())
}

/// Hooks that waited although others had waited before them, and left a marker.
fn slow_after(seen: &Seen, freezes: &[Freeze]) -> Vec<String> {
    let mut out = Vec::new();
    for ((begun, took), marker) in seen.hooks.iter().zip(&seen.sent.answered) {
        let into = |freeze: &&Freeze| {
            *begun > freeze.begun + Duration::from_millis(1_500)
                && *begun < freeze.ended
                && !freeze.in_commit
        };
        if let (true, Some(freeze)) = (*took > WAITED, freezes.iter().find(into)) {
            let (at, of) = (ms(*begun - freeze.begun), ms(freeze.ended - freeze.begun));
            out.push(format!("{marker} began {at} into a freeze of {of} and took {}", ms(*took)));
        }
    }
    out
}

/// One after the other: the first waits, the next do not, and the daemon is used again when it wakes up.
fn only_the_first_wait(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let pid = sandbox.start_daemon()?;
    let mut seen = Seen::default();
    seen.hook(&sandbox, "toolu_before".to_owned())?;
    proc::signal(pid, Signal::STOP);
    let first = seen.hook(&sandbox, "toolu_first".to_owned())?;
    let mut next = Duration::ZERO;
    for n in 0..5 {
        next = next.max(seen.hook(&sandbox, format!("toolu_next_{n}"))?);
    }
    report.promise(
        "first hook after a freeze, slowest of the next five",
        format!("{}, {}", ms(first), ms(next)),
        next < WAITED,
    );
    proc::signal(pid, Signal::CONT);
    let awake = Instant::now();
    let mut back = None;
    for n in 0.. {
        let marker = format!("toolu_after_{n}");
        seen.hook(&sandbox, marker.clone())?;
        let rows = journal::rows(&sandbox.database())?;
        let row =
            rows.iter().find(|(tool_use, ..)| *tool_use == marker).context("not journaled")?;
        if row.1 == "daemon" {
            back = Some(awake.elapsed());
        }
        if back.is_some() || awake.elapsed() > Duration::from_secs(8) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let words = back.map_or_else(|| "never".to_owned(), ms);
    report.promise("used again after it woke up", words, back.is_some());
    report.journal(&sandbox, &seen.sent)?;
    Ok(())
}
