//! A temporary home, and the real programs in it.
//!
//! Nothing that is started here sees the home or the environment of the person who runs us. What still runs at the end
//! is killed by its process id.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::dist::Dist;
use crate::{payload, proc, procfs};

/// The time limit for a command, even on a busy machine.
const COMMAND: Duration = Duration::from_secs(45);

/// The folders of one run.
#[derive(Debug)]
pub(crate) struct Sandbox {
    root: TempDir,
    bin: PathBuf,
    env: Vec<(String, String)>,
}

/// Whether the settings let hooks start a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Autostart {
    On,
    Off,
}

impl Sandbox {
    pub(crate) fn new(dist: &Dist, autostart: Autostart) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("sbx-").tempdir()?;
        for folder in ["home", "state", "project"] {
            std::fs::create_dir(root.path().join(folder))?;
        }
        let env = payload::environment(&root.path().join("project"))?;
        let sandbox = Self { root, bin: dist.folder.clone(), env };
        if autostart == Autostart::Off {
            sandbox.settings("[daemon]\nautostart = false\n")?;
        }
        Ok(sandbox)
    }

    /// Uses copies of the programs, which can be replaced.
    pub(crate) fn with_own_programs(mut self) -> Result<Self> {
        let bin = self.root.path().join("bin");
        std::fs::create_dir(&bin)?;
        for name in ["substrate", "substrate-hook"] {
            copy_program(&self.bin.join(name), &bin.join(name))?;
        }
        self.bin = bin;
        Ok(self)
    }

    /// The state home.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.state().join("subtrate.db")
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Writes `config.toml`.
    pub(crate) fn settings(&self, toml: &str) -> Result<()> {
        put_file(&self.state().join("config.toml"), toml.as_bytes())
    }

    /// Any program, in the project's folder, with this home.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = proc::command(program);
        command
            .env("HOME", self.root.path().join("home"))
            .env("SUBSTRATE_HOME", self.state())
            .current_dir(self.root.path().join("project"));
        command
    }

    /// A program, started as a client starts its hooks.
    pub(crate) fn as_hook(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.command(program);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `substrate-hook claude-code PreToolUse`.
    pub(crate) fn hook(&self) -> Command {
        let mut command = self.as_hook(self.program("substrate-hook"));
        command.args(["claude-code", "PreToolUse"]);
        command
    }

    pub(crate) fn substrate(&self, args: &[&str]) -> Result<Output> {
        let mut command = self.command(self.program("substrate"));
        proc::bounded(command.args(args), COMMAND)
    }

    /// Starts a daemon, and returns its process id.
    pub(crate) fn start_daemon(&self) -> Result<i32> {
        let output = self.substrate(&["daemon", "start"])?;
        if !output.status.success() {
            bail!("no daemon started: {}", String::from_utf8_lossy(&output.stderr));
        }
        self.daemon().context("no daemon runs")
    }

    /// Stops the daemon after its last reply, or by a signal if its socket can't be reached.
    pub(crate) fn stop_daemon(&self) -> Result<()> {
        let asked = self.substrate(&["daemon", "stop"])?;
        let gone =
            |seconds| proc::wait_until(Duration::from_secs(seconds), || self.daemons().is_empty());
        if !asked.status.success() || !gone(1) {
            for pid in self.daemons() {
                proc::signal(pid, Signal::TERM);
            }
        }
        if !gone(20) {
            bail!("the daemon does not stop: {}", String::from_utf8_lossy(&asked.stderr));
        }
        Ok(())
    }

    /// The process ids of all daemons of this state home.
    pub(crate) fn daemons(&self) -> Vec<i32> {
        procfs::daemons(&self.state())
    }

    /// Sends a signal to one of these daemons. `false`: that process is no longer a daemon, so it gets none.
    pub(crate) fn signal(&self, pid: i32, signal: Signal) -> bool {
        self.daemons().contains(&pid) && proc::signal(pid, signal)
    }

    /// What hooks left in their trace, and the daemon's logged warnings and errors.
    pub(crate) fn complaints(&self) -> Result<Vec<String>> {
        let mut out = Vec::new();
        let Ok(entries) = std::fs::read_dir(self.state().join("logs")) else { return Ok(out) };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
            let is_trace = name.contains("trace");
            let wanted = |line: &&str| is_trace || line.contains("ERROR") || line.contains("WARN");
            out.extend(text.lines().filter(wanted).map(|line| format!("{name}: {line}")));
        }
        Ok(out)
    }

    pub(crate) fn daemon(&self) -> Option<i32> {
        self.daemons().first().copied()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for _ in 0..5 {
            for pid in self.daemons() {
                proc::signal(pid, Signal::CONT);
                proc::signal(pid, Signal::KILL);
            }
            if proc::wait_until(Duration::from_millis(200), || self.daemons().is_empty()) {
                return;
            }
        }
    }
}

/// Copies a program, by another process. A file that this process writes may still be open in a forked child of another
/// thread, and can't be executed then.
pub(crate) fn copy_program(from: &Path, to: &Path) -> Result<()> {
    let copied = proc::command("cp").arg(from).arg(to).status()?;
    if !copied.success() {
        bail!("could not copy `{}`: {copied}", from.display());
    }
    Ok(())
}

/// Writes a file of a sandbox. It has no other reader, so the write need not be atomic.
pub(crate) fn put_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = std::fs::File::create(path);
    file.and_then(|mut file| file.write_all(bytes)).with_context(|| format!("`{}`", path.display()))
}
