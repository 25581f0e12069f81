//! A temporary home with the real programs in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::config::Env;
use crate::error::{AppError, Kind, Result};
use crate::{daemon, fsx, proc};

/// How long a moment may take on a busy machine.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// A file of the project.
const PARSER: &str = "pub fn parse(text: &str) -> usize {\n    text.len()\n}\n";

#[derive(Debug)]
pub(super) struct Sandbox {
    root: TempDir,
    substrate: PathBuf,
    hook: PathBuf,
}

impl Sandbox {
    pub(super) fn new() -> Result<Self> {
        let substrate = daemon::this_program()?;
        let hook = substrate.with_file_name("substrate-hook");
        if !hook.is_file() {
            return Err(AppError::new(Kind::State, "`substrate-hook` is not beside this program")
                .hint("install both: `make install`"));
        }
        let fail = |error: std::io::Error| AppError::from_error(Kind::State, &error);
        let root = tempfile::Builder::new().prefix("substrate-demo-").tempdir().map_err(fail)?;
        for folder in ["home", "state", "client", "project/src", "project/.git"] {
            std::fs::create_dir_all(root.path().join(folder)).map_err(fail)?;
        }
        let sandbox = Self { root, substrate, hook };
        fsx::replace(&sandbox.file("src/parser.rs"), PARSER.as_bytes(), 0o600).map_err(fail)?;
        Ok(sandbox)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    /// The hook client.
    pub(super) fn hook(&self, args: &[&str]) -> Command {
        self.command(&self.hook, args)
    }

    /// This program.
    pub(super) fn substrate(&self, args: &[&str]) -> Command {
        self.command(&self.substrate, args)
    }

    /// A program that sees the sandbox and nothing else.
    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = proc::command(program, &Env::default());
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.path().join("home"))
            .env("SUBSTRATE_HOME", self.root.path().join("state"))
            .env("CLAUDE_CONFIG_DIR", self.root.path().join("client"))
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Sandbox {
    /// The daemon ends before its folder goes.
    fn drop(&mut self) {
        let _gone_already = output(&mut self.substrate(&["daemon", "stop"]));
    }
}

/// What a program printed. Fails when it does.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let fail = |error: std::io::Error| AppError::from_error(Kind::State, &error);
    let output = command.output().map_err(fail)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        let message = format!("`{}` failed in the demo", args.join(" "));
        let mut error = AppError::new(Kind::State, message);
        error.causes.push(text(&output.stderr).trim_end().to_owned());
        return Err(error);
    }
    Ok(text(&output.stdout))
}

/// What a program printed as JSON.
pub(super) fn json(command: &mut Command) -> Result<Value> {
    let text = output(command.args(["--format", "json"]))?;
    serde_json::from_str(&text).map_err(|error| AppError::from_error(Kind::Internal, &error))
}

/// Waits for a condition. Whether it came.
pub(super) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < SOON {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    condition()
}
