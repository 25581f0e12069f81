//! Somebody takes the socket away, or puts something else in its place.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use anyhow::Result;

use super::workers::Seen;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox, put_file};

/// Hooks in each situation.
const N_HOOKS: usize = 8;

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let mut report = Report::default();
    for _ in 0..setting.rounds(1, 5) {
        deleted(setting, &mut report)?;
        silent(setting, &mut report)?;
        regular_file(setting, &mut report)?;
    }
    Ok(report)
}

/// Deleted while the daemon runs: hooks do without, and the daemon makes it anew.
fn deleted(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let pid = sandbox.start_daemon()?;
    let socket = sandbox.state().join(ipc::place::SOCKET);
    std::fs::remove_file(&socket)?;
    let seen = some_hooks(&sandbox)?;
    let back = proc::wait_until(Duration::from_secs(8), || socket.exists());
    report.promise(
        "deleted socket is made anew by the same daemon",
        back,
        back && sandbox.daemons() == [pid],
    );
    finish(&sandbox, &seen, report)
}

/// One that accepts and says nothing, with the daemon stopped.
fn silent(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    sandbox.start_daemon()?;
    sandbox.stop_daemon()?;
    let socket = sandbox.state().join(ipc::place::SOCKET);
    // Nobody calls `accept`; the kernel connects callers all the same, until the backlog is full.
    let listener = UnixListener::bind(&socket)?;
    let seen = some_hooks(&sandbox)?;
    let waited = seen.hooks.iter().filter(|(_, took)| *took > Duration::from_millis(700)).count();
    report.promise("hooks that waited for a socket that says nothing", waited, waited <= 1);
    drop(listener);
    let up = proc::wait_until(Duration::from_secs(5), || sandbox.daemon().is_some());
    report.promise("a daemon is started beside it", up, up);
    finish(&sandbox, &seen, report)
}

/// A regular file.
fn regular_file(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    put_file(&sandbox.state().join(ipc::place::SOCKET), b"no socket\n")?;
    let seen = some_hooks(&sandbox)?;
    let up = proc::wait_until(Duration::from_secs(5), || sandbox.daemon().is_some());
    report.promise("a daemon comes up where a regular file was", up, up);
    finish(&sandbox, &seen, report)
}

fn some_hooks(sandbox: &Sandbox) -> Result<Seen> {
    let mut seen = Seen::default();
    for n in 0..N_HOOKS {
        seen.hook(sandbox, format!("toolu_{n}"))?;
    }
    Ok(seen)
}

fn finish(sandbox: &Sandbox, seen: &Seen, report: &mut Report) -> Result<()> {
    report.hooks(&seen.times());
    report.none("hooks that failed or printed", seen.n_failed);
    report.journal(sandbox, &seen.sent)?;
    Ok(())
}
