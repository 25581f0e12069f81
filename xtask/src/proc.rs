//! Starting processes, never with the environment of the person who runs us.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// The time limit for everything that is started here.
const HANGS: Duration = Duration::from_secs(20);

/// A command that sees nothing but the usual programs.
#[expect(clippy::disallowed_methods, reason = "everything else here starts processes through this")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// `cargo` or `rustc`, with what it needs to find its toolchain and its registry, and without a real home.
pub(crate) fn toolchain(program: &str) -> Command {
    let mut command = command(program);
    let mut home = None;
    for (name, value) in std::env::vars_os() {
        match name.to_str() {
            Some("HOME") => home = Some(value),
            Some("PATH" | "CARGO_HOME" | "RUSTUP_HOME" | "RUSTUP_TOOLCHAIN" | "CC") => {
                command.env(name, value);
            }
            _ => {}
        }
    }
    let set: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let (Some(home), false) = (&home, set.iter().any(|known| known == name)) {
            command.env(name, Path::new(home).join(folder));
        }
    }
    command.env("HOME", "/nonexistent");
    command
}

/// A program's output. Fails if the program does.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("`{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The result of a process that was fed through a pipe.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// From before its start until it was gone.
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn ok(&self) -> bool {
        self.status.code() == Some(0)
    }
}

/// Starts a process, writes its stdin, closes it, and waits for its end, as a client does with a hook. A process that
/// hangs is killed, and its status says so.
pub(crate) fn feed(command: &mut Command, stdin: &[u8]) -> Result<Ran> {
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("could not start {}", command.get_program().display()))?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        let write = move || {
            if let Some(mut pipe) = pipe {
                let _closed_early = pipe.write_all(stdin);
            }
        };
        // What fits into a pipe does not block.
        if stdin.len() <= 60 << 10 {
            write();
        } else {
            scope.spawn(write);
        }
        finish(child, begun)
    })
}

/// Reads stdout to its end and waits. A process that outlasts `HANGS` is killed, and its status says so.
pub(crate) fn finish(mut child: Child, begun: Instant) -> Result<Ran> {
    let pipes = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let (mut texts, ended) = read_all(pipes.into_iter().collect(), begun + HANGS)?;
    if !ended {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok(Ran { status, stdout: texts.pop().unwrap_or_default(), took: begun.elapsed() })
}

/// A program's output and status. Fails if it takes longer than that.
pub(crate) fn bounded(command: &mut Command, patience: Duration) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("`{name}`"))?;
    let stdout = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let (mut texts, ended) =
        read_all(stdout.into_iter().chain(stderr).collect(), begun + patience)?;
    if !ended {
        child.kill()?;
        child.wait()?;
        bail!("`{name}` did not end within {patience:?}");
    }
    let status = child.wait()?;
    let stderr = texts.pop().unwrap_or_default();
    Ok(Output { status, stdout: texts.pop().unwrap_or_default(), stderr })
}

/// Everything that comes out of those pipes, and whether all were closed in time.
fn read_all(pipes: Vec<File>, until: Instant) -> Result<(Vec<Vec<u8>>, bool)> {
    let mut texts = vec![Vec::new(); pipes.len()];
    let mut open: Vec<(usize, File)> = pipes.into_iter().enumerate().collect();
    let mut chunk = [0; 4096];
    while !open.is_empty() {
        let rest = until.saturating_duration_since(Instant::now());
        let mut polled: Vec<PollFd<'_>> =
            open.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
        if matches!(poll(&mut polled, Timespec::try_from(rest).ok().as_ref()), Ok(0)) {
            return Ok((texts, false));
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut still = Vec::new();
        for ((at, mut pipe), ready) in open.into_iter().zip(ready) {
            let n = if ready { pipe.read(&mut chunk)? } else { usize::MAX };
            match n {
                0 => {}
                usize::MAX => still.push((at, pipe)),
                n => {
                    texts[at].extend_from_slice(&chunk[..n]);
                    still.push((at, pipe));
                }
            }
        }
        open = still;
    }
    Ok((texts, true))
}

/// Sends a signal to one process that we started.
pub(crate) fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Waits for a condition. `false`: it did not become true in time.
pub(crate) fn wait_until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    condition()
}
