//! Starting processes: never with the environment of whoever runs us.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// Nothing that is started here may take longer.
const HANGS: Duration = Duration::from_secs(20);

/// A command that sees nothing but the usual programs.
#[expect(clippy::disallowed_methods, reason = "everything else here starts processes through this")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// `cargo` or `rustc`, with what it needs to find its toolchain and its registry, and a home that is none.
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

/// What a program printed. Fails when it does.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("`{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How a process ended that was fed through a pipe.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// From before it was started until it was gone.
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn ok(&self) -> bool {
        self.status.code() == Some(0)
    }
}

/// Starts a process, writes its stdin, closes it, and waits for its end, as a client does with a hook. One that hangs
/// is ended, and its status says so.
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

/// Reads stdout to its end and waits.
pub(crate) fn finish(mut child: Child, begun: Instant) -> Result<Ran> {
    let mut stdout = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        let mut chunk = [0; 4096];
        loop {
            if !readable(&pipe, HANGS.saturating_sub(begun.elapsed())) {
                child.kill()?;
                break;
            }
            match pipe.read(&mut chunk)? {
                0 => break,
                n => stdout.extend_from_slice(&chunk[..n]),
            }
        }
    }
    let status = child.wait()?;
    Ok(Ran { status, stdout, took: begun.elapsed() })
}

fn readable(pipe: &impl std::os::fd::AsFd, patience: Duration) -> bool {
    let limit = Timespec::try_from(patience).ok();
    let fd = pipe.as_fd();
    !matches!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], limit.as_ref()), Ok(0))
}

/// Sends a signal to one process that we started.
pub(crate) fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Waits for a condition. `false`: it did not come.
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
