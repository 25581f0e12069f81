//! The supervised process, in a process group of its own.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process_group, waitid};

use super::policy::End;
use crate::daemon::Process;
use crate::proc;

pub(super) struct Child {
    process: std::process::Child,
    pid: Pid,
    pub(super) begun: Instant,
}

/// What happened to it since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Stopped by that signal.
    Stopped(i32),
    /// It has ended but is not reaped, so its pid and its group can't be reused.
    Ended { was_killed: bool },
}

impl Child {
    /// Starts it with our own streams, and our own environment with these changes.
    pub(super) fn start(
        line: &[OsString],
        vars: &[(&'static str, String)],
    ) -> std::io::Result<Self> {
        let (program, args) = line.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = proc::as_asked(program);
        command.args(args).process_group(0);
        command.envs(vars.iter().map(|(name, value)| (name, value)));
        let process = command.spawn()?;
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(Self { process, pid, begun: Instant::now() })
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its group has the same number.
    pub(super) fn group(&self) -> Pid {
        self.pid
    }

    /// Checks without blocking. An end is reported on every call, until `reap`.
    pub(super) fn look(&self) -> Option<Change> {
        let look = |options| waitid(WaitId::Pid(self.pid), options | WaitIdOptions::NOHANG).ok()?;
        if let Some(status) = look(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            return Some(Change::Ended { was_killed: status.killed() || status.dumped() });
        }
        look(WaitIdOptions::STOPPED)?.stopping_signal().map(Change::Stopped)
    }

    /// Signals a client below it that is not in its group: a wrapper may have given it a group of its own.
    pub(super) fn signal_client(&self, client: Process, signal: Signal) {
        let pid = i32::try_from(client.pid).ok().and_then(Pid::from_raw);
        if getpgid(pid).is_ok_and(|group| group != self.pid) {
            client.signal(signal);
        }
    }

    /// Signals its group. A group that is gone needs no signal.
    pub(super) fn signal(&self, signal: Signal) {
        let _gone = kill_process_group(self.pid, signal);
    }

    /// Reaps it. After that, its pid means nothing.
    pub(super) fn reap(mut self) -> End {
        match self.process.wait() {
            Ok(status) => status
                .code()
                .map(End::Code)
                .or_else(|| status.signal().map(End::Signal))
                .unwrap_or(End::Code(1)),
            Err(_) => End::Code(1),
        }
    }
}
