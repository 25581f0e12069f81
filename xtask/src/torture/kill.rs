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

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let n_kills = setting.rounds(8, 60);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let mut rng = setting.rng();
    let mut pids = Vec::new();
    let seen = work_while(&sandbox, &WORKERS, Duration::from_millis(1), || {
        for _ in 0..n_kills {
            let back = proc::wait_until(Duration::from_secs(10), || sandbox.daemon().is_some());
            ensure!(back, "no daemon came back within ten seconds");
            std::thread::sleep(rng.millis(0, 300));
            if let Some(pid) = sandbox.daemon() {
                proc::signal(pid, Signal::KILL);
                pids.push(pid);
            }
        }
        ensure!(
            proc::wait_until(Duration::from_secs(10), || sandbox.daemon().is_some()),
            "no daemon came back after the last kill"
        );
        Ok(())
    })?;
    let mut report = Report::default();
    report.figure("kills", pids.len());
    report.figure("events over frames", seen.n_frames);
    report.figure("without an answer", seen.sent.unanswered.len());
    report.hooks(&seen.times());
    report.none("hooks that failed or printed", seen.n_failed);
    let n_daemons = sandbox.daemons().len();
    report.promise("daemons at the end", n_daemons, n_daemons == 1);
    report.journal(&sandbox, &seen.sent)?;
    let check = sandbox.substrate(&["db", "check"])?;
    report.promise("`substrate db check`", check.status, check.status.success());
    Ok(report)
}
