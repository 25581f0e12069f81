//! `TestEnv`: a home, a state folder and a project in a new temp folder.
//!
//! Invariant: it can only be built under the system's temp folder, so no test ever touches a real home. Children see
//! exactly [`TestEnv::vars`].
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::bins::{bin, bin_dir, find_bin};
use crate::process::{Run, Running, attempt, command};
use crate::wait::poll;

/// Longer than any command should take on a busy machine, shorter than nextest's patience.
const DEADLINE: Duration = Duration::from_secs(60);
/// For each step of cleaning up.
const QUIET: Duration = Duration::from_secs(5);

/// A sandbox; its folders are deleted and its daemon is stopped when it is dropped.
#[derive(Debug)]
pub struct TestEnv {
    root: PathBuf,
    /// Deletes the folder; dropped after `Drop for TestEnv` has stopped the daemon.
    _folder: TempDir,
}

impl TestEnv {
    /// A new sandbox in the system's temp folder.
    pub fn new() -> Self {
        Self::in_folder(&std::env::temp_dir())
    }

    /// A new sandbox below `folder`.
    ///
    /// # Panics
    /// If `folder` is not under the system's temp folder, symlinks resolved.
    pub fn in_folder(folder: &Path) -> Self {
        let temp = real(&std::env::temp_dir());
        let folder = real(folder);
        assert!(
            folder.starts_with(&temp),
            "refused: `{}` is not under the temp folder `{}`",
            folder.display(),
            temp.display()
        );
        // A short name: a Unix socket's path is limited to about 100 bytes.
        let holder = tempfile::Builder::new().prefix("sub-").tempdir_in(folder);
        let holder = holder.expect("the temp folder can be written");
        let env = Self { root: real(holder.path()), _folder: holder };
        for folder in [env.config(), env.state(), env.project()] {
            std::fs::create_dir_all(folder).expect("a new temp folder can be written");
        }
        env
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// `CLAUDE_CONFIG_DIR`.
    pub fn config(&self) -> PathBuf {
        self.home().join(".claude")
    }

    /// `SUBSTRATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The working directory of every child.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The whole environment of any child.
    pub fn vars(&self) -> Vec<(String, String)> {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin_dir().display());
        let text = |path: PathBuf| path.display().to_string();
        [
            ("HOME", text(self.home())),
            ("CLAUDE_CONFIG_DIR", text(self.config())),
            ("SUBSTRATE_HOME", text(self.state())),
            ("PATH", path),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Any program, in the project, with [`TestEnv::vars`] and nothing else.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command(program);
        command.envs(self.vars()).current_dir(self.project());
        command
    }

    /// Runs `substrate ARGS…` to its end.
    #[must_use = "an unchecked run proves nothing"]
    pub fn substrate<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.substrate_with(args, &[])
    }

    /// As [`TestEnv::substrate`], with further variables.
    #[must_use = "an unchecked run proves nothing"]
    pub fn substrate_with<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        vars: &[(&str, &str)],
    ) -> Run {
        let mut command = self.command(bin("substrate"));
        command.args(args).envs(vars.iter().copied());
        Running::start(command, Vec::new()).finish(DEADLINE)
    }

    /// Runs `substrate-hook claude-code EVENT` with the payload on its stdin.
    #[must_use = "an unchecked run proves nothing"]
    pub fn hook(&self, event: &str, payload: impl Into<Payload>) -> Run {
        self.hook_with(event, payload, &[])
    }

    /// As [`TestEnv::hook`], with further variables.
    #[must_use = "an unchecked run proves nothing"]
    pub fn hook_with(
        &self,
        event: &str,
        payload: impl Into<Payload>,
        vars: &[(&str, &str)],
    ) -> Run {
        self.start_hook(event, payload, vars).finish(DEADLINE)
    }

    /// Starts a hook and does not wait: for hooks whose job is to wait.
    pub fn start_hook(
        &self,
        event: &str,
        payload: impl Into<Payload>,
        vars: &[(&str, &str)],
    ) -> Running {
        let mut command = self.command(bin("substrate-hook"));
        command.args(["claude-code", event]).envs(vars.iter().copied());
        Running::start(command, payload.into().0)
    }

    /// Sends a signal by its name (`-0` only asks) to a process of this sandbox. Returns whether it exists. Never
    /// panics.
    pub(crate) fn signal(&self, signal: &str, pid: &str) -> bool {
        // The shell's own `kill`: not every system has the program.
        let mut kill = self.command("/bin/sh");
        kill.args(["-c", r#"kill "$0" "$1""#, signal, pid]);
        attempt(kill, QUIET).is_some_and(|run| run.status == Some(0))
    }

    /// Any command or hook may have started a daemon. Never panics: it runs in `drop`.
    fn stop_daemon(&self) {
        let socket = self.state().join("daemon.sock");
        // The lock exists as soon as a process has tried to start one. The socket comes later.
        let begun = self.state().join("daemon.lock").exists();
        let Some(substrate) = find_bin("substrate").filter(|_| begun) else { return };
        let daemon = |args: &[&str]| {
            let mut command = self.command(&substrate);
            command.arg("daemon").args(args);
            attempt(command, QUIET).map(|run| run.stdout)
        };
        daemon(&["stop"]);
        if poll(Duration::from_secs(2), Duration::from_millis(5), || !socket.exists()) {
            return;
        }
        // The last resort, and only for the daemon that answers on this sandbox's own socket.
        let status = daemon(&["status", "--format", "json"]).unwrap_or_default();
        let status: Value = serde_json::from_str(&status).unwrap_or_default();
        if let Some(pid) = status["pid"].as_u64().filter(|pid| *pid > 1) {
            self.signal("-KILL", &pid.to_string());
        }
    }
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.stop_daemon();
    }
}

/// What a hook gets on its stdin: text unchanged, a JSON value as the client writes it (one line).
#[derive(Debug, Clone)]
pub struct Payload(Vec<u8>);

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self(format!("{value}\n").into())
    }
}

impl From<&Value> for Payload {
    fn from(value: &Value) -> Self {
        Self(format!("{value}\n").into())
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|e| panic!("`{}` can't be resolved: {e}", path.display()))
}

/// Writes a fixture, creating its folders.
pub fn write_file(path: &Path, text: impl AsRef<[u8]>) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .unwrap_or_else(|e| panic!("could not create `{}`: {e}", folder.display()));
    }
    #[expect(clippy::disallowed_methods, reason = "a fixture has no reader to tear it from")]
    std::fs::write(path, text)
        .unwrap_or_else(|e| panic!("could not write `{}`: {e}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "refused: `/` is not under the temp folder")]
    fn it_refuses_a_home_outside_the_temp_folder() {
        TestEnv::in_folder(Path::new("/"));
    }

    #[test]
    #[should_panic(expected = "refused: `/usr` is not under the temp folder")]
    fn it_refuses_a_symlink_out_of_the_temp_folder() {
        let outer = TestEnv::new();
        let link = outer.root().join("link");
        std::os::unix::fs::symlink("/usr", &link).unwrap();
        TestEnv::in_folder(&link);
    }

    #[test]
    fn children_see_its_variables_and_nothing_else() {
        let env = TestEnv::new();
        let seen = Running::start(env.command("/usr/bin/env"), Vec::new());
        let seen = seen.finish(DEADLINE).success();
        let mut expected: Vec<String> =
            env.vars().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut seen: Vec<&str> = seen.lines().collect();
        expected.sort();
        seen.sort_unstable();
        assert_eq!(seen, expected);
    }

    #[test]
    fn children_start_in_the_project() {
        let env = TestEnv::new();
        let seen = Running::start(env.command("/bin/pwd"), Vec::new()).finish(DEADLINE).success();
        assert_eq!(seen.trim_end(), env.project().display().to_string());
    }

    #[test]
    fn it_leaves_nothing() {
        let env = TestEnv::new();
        let root = env.root().to_path_buf();
        assert!(env.config().is_dir() && env.state().is_dir());
        drop(env);
        assert!(!root.exists());
    }

    #[test]
    fn a_value_is_one_line_and_text_stays_as_it_is() {
        assert_eq!(Payload::from(serde_json::json!({"a": 1})).0, b"{\"a\":1}\n");
        assert_eq!(Payload::from("{ torn").0, b"{ torn");
    }
}
