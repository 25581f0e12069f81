//! The installed program is replaced while agents work: the new one takes over, and no agent notices.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::workers::{By, work_while};
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox, copy_program};

const WORKERS: [By; 8] =
    [By::Hook, By::Hook, By::Hook, By::Hook, By::Hook, By::Hook, By::Frame, By::Frame];

/// The daemon looks for a newer program every five seconds.
const NOTICES: Duration = Duration::from_secs(30);

/// The old daemon leaves after it has answered everything, and the new one must have started.
const TAKES_OVER: Duration = Duration::from_secs(30);

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_restarts = setting.rounds(4, 30);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?.with_own_programs()?;
    sandbox.start_daemon()?;
    let mut rng = setting.rng();
    let mut n_failed = 0;
    let mut by_itself = false;
    let seen = work_while(&sandbox, &WORKERS, Duration::from_millis(2), || {
        for _ in 0..n_restarts {
            std::thread::sleep(rng.millis(50, 400));
            let before = sandbox.daemon().context("the daemon is gone")?;
            for (name, from) in
                [("substrate", setting.dist.substrate()), ("substrate-hook", setting.dist.hook())]
            {
                install(&sandbox, &from, name)?;
            }
            let output = sandbox.substrate(&["daemon", "restart"])?;
            n_failed += usize::from(!output.status.success());
            let changed = proc::wait_until(
                TAKES_OVER,
                || matches!(sandbox.daemons()[..], [now] if now != before),
            );
            ensure!(
                changed,
                "after a restart the daemons are {:?} (before: {before})",
                sandbox.daemons()
            );
        }
        // Once without being told.
        let before = sandbox.daemon().context("the daemon is gone")?;
        install(&sandbox, &setting.dist.substrate(), "substrate")?;
        by_itself =
            proc::wait_until(NOTICES, || matches!(sandbox.daemons()[..], [now] if now != before));
        Ok(())
    })?;
    report.figure("restarts with a replaced program", n_restarts);
    report.none("restarts that failed", n_failed);
    report.promise("a replaced program is noticed without a restart", by_itself, by_itself);
    report.figure("events over frames", seen.n_frames);
    report.figure("frames that were hung up on", seen.sent.unanswered.len());
    report.journal(&sandbox, &seen)
}

/// Replaces a program as an installer does.
fn install(sandbox: &Sandbox, from: &Path, name: &str) -> Result<()> {
    let to = sandbox.program(name);
    let part = to.with_extension("part");
    copy_program(from, &part)?;
    Ok(std::fs::rename(part, to)?)
}
