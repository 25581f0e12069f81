//! Starting other processes, without our caller's environment.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::config::Env;

/// A random id.
pub(crate) fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    let _random = rustix::rand::getrandom(&mut id[..], rustix::rand::GetRandomFlags::empty());
    id
}

/// A command with only the variables that every process needs.
#[expect(clippy::disallowed_methods, reason = "all other code starts processes through here")]
pub(crate) fn command(program: impl AsRef<OsStr>, env: &Env) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["HOME", "PATH", "LANG", "TMPDIR", "TZ", "SUBSTRATE_HOME"] {
        if let Some(value) = env.get(name) {
            command.env(name, value);
        }
    }
    command
}

/// What the person asked for, with their own environment and streams.
#[expect(clippy::disallowed_methods, reason = "it stands for what they would have typed")]
pub(crate) fn as_asked(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Becomes another program of ours, with our environment. Returns only on failure.
#[expect(clippy::disallowed_methods, reason = "it is the same process, and its caller is ours")]
pub(crate) fn become_program(program: &std::path::Path, args: &[&str]) -> std::io::Error {
    Command::new(program).args(args).exec()
}

/// A child process that ends with its question, together with its own children.
#[derive(Debug)]
pub(crate) struct TimedChild(Child);

impl TimedChild {
    /// Starts it in a process group of its own.
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0).spawn().map(Self)
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Whether it exited successfully. Call it when its output is complete. `None`: it did not exit in time.
    pub(crate) fn succeeded(&mut self, deadline: Instant) -> Option<bool> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status.success()),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return None,
            }
        }
    }
}

impl Drop for TimedChild {
    fn drop(&mut self) {
        // Only before it is waited for is the pid certainly its own.
        if let Ok(None) = self.0.try_wait() {
            let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
            let _ended_meanwhile = group.map(|group| kill_process_group(group, Signal::KILL));
            let _reaped = self.0.wait();
        }
    }
}
