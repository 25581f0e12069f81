//! Children with an empty environment, a deadline and captured output.
//!
//! Invariant: a child ends with the value that stands for it. Only children that were started here are ever killed.
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::wait::poll;

/// What a finished child left.
#[derive(Debug, Clone)]
pub struct Run {
    /// The exit code; `None` if a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// How it was called, for messages.
    pub what: String,
}

impl Run {
    /// Its stdout, if it exited with 0.
    ///
    /// # Panics
    /// Otherwise, with everything it printed.
    #[track_caller]
    pub fn success(self) -> String {
        self.code(0).stdout
    }

    /// Itself, if it exited with `expected`.
    ///
    /// # Panics
    /// Otherwise, with everything it printed.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(self.status, Some(expected), "{self}");
        self
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, stdout, stderr, what } = self;
        write!(f, "`{what}` ended with {status:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// A child that still runs; killed when dropped.
#[derive(Debug)]
#[must_use = "dropping it kills the child"]
pub struct Running {
    child: Child,
    what: String,
    stdout: Pipe,
    stderr: Pipe,
}

impl Running {
    /// Starts `command` with `input` on its stdin.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(command: Command, input: Vec<u8>) -> Self {
        let what = format!("{command:?}");
        Self::started(command, input).unwrap_or_else(|e| panic!("could not start {what}: {e}"))
    }

    fn started(mut command: Command, input: Vec<u8>) -> std::io::Result<Self> {
        let what = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A thread of its own, so that a child that never reads can't hang the test. A child that ends without reading
        // closes the pipe, which is fine.
        std::thread::spawn(move || stdin.write_all(&input).ok());
        let stdout = Pipe::drain(child.stdout.take().expect("stdout is piped"));
        let stderr = Pipe::drain(child.stderr.take().expect("stderr is piped"));
        Ok(Self { child, what, stdout, stderr })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the child has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.exit().is_none()
    }

    /// Waits for the end of the child.
    ///
    /// # Panics
    /// If it does not end within `deadline`; it is killed then.
    #[track_caller]
    #[must_use = "an unchecked run proves nothing"]
    pub fn finish(self, deadline: Duration) -> Run {
        match self.finished(deadline) {
            Ok(run) => run,
            Err(run) => panic!("not finished after {deadline:?}, killed: {run}"),
        }
    }

    /// `Err` with what it printed so far if it does not end within `deadline`; it is killed then.
    fn finished(mut self, deadline: Duration) -> Result<Run, Run> {
        let mut status = None;
        let ended = poll(deadline, Duration::from_millis(2), || {
            status = self.exit();
            status.is_some()
        });
        if ended {
            // A grandchild may hold the pipes open. Its later output is not this child's.
            poll(Duration::from_secs(1), Duration::from_millis(1), || {
                self.stdout.ended() && self.stderr.ended()
            });
        }
        let run = Run {
            status: status.and_then(|status| status.code()),
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            what: self.what.clone(),
        };
        if ended { Ok(run) } else { Err(run) }
    }

    fn exit(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child can be waited for")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A command with an empty environment; callers add the variables of a sandbox.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place: it clears the environment")]
    let mut command = Command::new(program);
    command.env_clear();
    command
}

/// Runs a command for its effect, where panics are not allowed (`drop`). `None` if it could not be started or did not
/// end within `deadline`.
pub(crate) fn attempt(command: Command, deadline: Duration) -> Option<Run> {
    Running::started(command, Vec::new()).ok()?.finished(deadline).ok()
}

#[derive(Debug)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipe {
    fn drain(mut from: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                lock(&into).extend_from_slice(&chunk[..n]);
            }
        });
        Self { bytes, reader }
    }

    fn ended(&self) -> bool {
        self.reader.is_finished()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }
}

/// A panic elsewhere must not hide what was captured.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &str) -> Running {
        let mut command = command("/bin/sh");
        command.args(["-c", script]);
        Running::start(command, input.into())
    }

    #[test]
    fn a_run_has_the_code_and_both_outputs() {
        let run = sh("cat; echo oops >&2; exit 3", "in").finish(Duration::from_secs(5)).code(3);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("in", "oops\n"));
    }

    #[test]
    fn the_environment_is_empty() {
        let seen = sh("/usr/bin/env", "").finish(Duration::from_secs(5)).success();
        assert!(!seen.contains("HOME=") && !seen.contains("CARGO"), "{seen}");
    }

    #[test]
    #[should_panic(expected = "killed: ")]
    fn a_child_that_hangs_is_killed() {
        drop(sh("exec sleep 100", "").finish(Duration::from_millis(50)));
    }

    #[test]
    fn an_attempt_never_panics() {
        assert!(attempt(command("/no/such/program"), Duration::ZERO).is_none());
        let mut sleep = command("sleep");
        sleep.arg("100");
        assert!(attempt(sleep, Duration::from_millis(50)).is_none());
    }

    #[test]
    #[should_panic(expected = "a reason")]
    fn a_failure_shows_what_was_printed() {
        sh("echo a reason >&2; exit 1", "").finish(Duration::from_secs(5)).success();
    }
}
