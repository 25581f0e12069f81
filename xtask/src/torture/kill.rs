//! The daemon is killed at any moment: what was answered stays answered, and it comes back by itself.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::workers::{By, work_while};
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};

const WORKERS: [By; 8] =
    [By::Hook, By::Hook, By::Hook, By::Hook, By::Frame, By::Frame, By::Frame, By::Frame];

/// A daemon is back within this time, however busy the machine is.
const BACK: Duration = Duration::from_secs(20);

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_kills = setting.rounds(8, 60);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let mut rng = setting.rng();
    let mut n_killed = 0;
    let seen = work_while(&sandbox, &WORKERS, Duration::from_millis(1), || {
        for _ in 0..n_kills {
            let back = proc::wait_until(BACK, || sandbox.daemon().is_some());
            ensure!(back, "no daemon came back within {BACK:?}");
            std::thread::sleep(rng.millis(0, 300));
            if let Some(pid) = sandbox.daemon() {
                n_killed += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        ensure!(
            proc::wait_until(BACK, || sandbox.daemon().is_some()),
            "no daemon came back after the last kill"
        );
        Ok(())
    })?;
    report.figure("kills", n_killed);
    report.figure("events over frames", seen.n_frames);
    report.figure("without an answer", seen.sent.unanswered.len());
    proc::wait_until(Duration::from_secs(5), || sandbox.daemons().len() == 1);
    let n_daemons = sandbox.daemons().len();
    report.promise("daemons at the end", n_daemons, n_daemons == 1);
    report.journal(&sandbox, &seen)?;
    let check = sandbox.substrate(&["db", "check"])?;
    report.promise("`substrate db check`", check.status, check.status.success());
    Ok(())
}
