//! The socket is removed, or replaced by something else.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use anyhow::Result;

use super::workers::Observations;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox, put_file};

/// Hooks in each situation.
const N_HOOKS: usize = 8;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    for _ in 0..setting.rounds(1, 5) {
        deleted(setting, report)?;
        silent(setting, report)?;
        regular_file(setting, report)?;
    }
    Ok(())
}

/// Deleted while the daemon runs: a socket is there again, with one daemon behind it.
fn deleted(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    let socket = sandbox.state().join(ipc::place::SOCKET);
    std::fs::remove_file(&socket)?;
    let seen = some_hooks(&sandbox)?;
    let back = proc::wait_until(Duration::from_secs(15), || {
        socket.exists() && sandbox.daemons().len() == 1
    });
    report.promise("a deleted socket is back, with one daemon behind it", back, back);
    report.journal(&sandbox, &seen)
}

/// A socket that accepts and says nothing, with the daemon stopped.
fn silent(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    sandbox.stop_daemon()?;
    let socket = sandbox.state().join(ipc::place::SOCKET);
    let _maybe_none = std::fs::remove_file(&socket);
    // Nothing calls `accept`. The kernel still connects callers, until the backlog is full.
    let listener = UnixListener::bind(&socket)?;
    let seen = some_hooks(&sandbox)?;
    let waited = seen.hook_times().filter(|took| *took > Duration::from_millis(700)).count();
    let what = "hooks that waited for a socket that says nothing";
    report.when_quiet(what, waited, "≤ 1", waited <= 1);
    drop(listener);
    let up = proc::wait_until(Duration::from_secs(15), || sandbox.daemon().is_some());
    report.promise("a daemon is started beside it", up, up);
    report.journal(&sandbox, &seen)
}

/// A regular file.
fn regular_file(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    put_file(&sandbox.state().join(ipc::place::SOCKET), b"not a socket\n")?;
    let seen = some_hooks(&sandbox)?;
    let up = proc::wait_until(Duration::from_secs(15), || sandbox.daemon().is_some());
    report.promise("a daemon comes up where a regular file was", up, up);
    report.journal(&sandbox, &seen)
}

fn some_hooks(sandbox: &Sandbox) -> Result<Observations> {
    let mut seen = Observations::default();
    for n in 0..N_HOOKS {
        seen.hook(sandbox, format!("toolu_{n}"))?;
    }
    Ok(seen)
}
