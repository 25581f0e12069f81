//! Trying programs: their version, and how long the machine takes to start one.

use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::whereabouts::on_path;
use crate::config::Env;
use crate::proc;

/// What the program prints about its version, with these variables. `None`: it could not be started, printed nothing,
/// or took too long and was killed.
pub(super) fn version_of(
    program: &Path,
    env: &Env,
    variables: &[&str],
    limit: Duration,
) -> Option<String> {
    // Files, not pipes: a process that inherits a pipe could keep us waiting.
    let mut said = tempfile::tempfile().ok()?;
    let mut command = proc::command(program, env);
    for name in variables {
        if let Some(value) = env.get(name) {
            command.env(name, value);
        }
    }
    command.arg("--version").stdin(Stdio::null());
    command.stdout(said.try_clone().ok()?).stderr(said.try_clone().ok()?);
    let mut child = command.spawn().ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > limit {
            let _ended_meanwhile = child.kill();
            let _exit = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    said.rewind().ok()?;
    let mut bytes = Vec::new();
    said.take(4_096).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// How often the smallest program is started.
const N_SPAWNS: usize = 7;

/// How long starting the smallest program takes, to its exit, in microseconds: the median of a few.
pub(super) fn spawn_us(env: &Env) -> Option<i64> {
    let program = ["/bin/true", "/usr/bin/true"].into_iter().find(|path| Path::new(path).exists());
    let program = program.map(PathBuf::from).or_else(|| on_path(env.get("PATH"), "true"))?;
    let mut all = Vec::with_capacity(N_SPAWNS);
    for _ in 0..N_SPAWNS {
        let begun = Instant::now();
        let mut command = proc::command(&program, env);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().ok().filter(std::process::ExitStatus::success)?;
        all.push(begun.elapsed().as_micros());
    }
    all.sort_unstable();
    all.get(N_SPAWNS / 2).and_then(|us| i64::try_from(*us).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use substrate_testkit::{TestEnv, write_file};

    use super::*;

    #[test]
    fn a_program_says_its_version_or_is_not_waited_for() {
        let env = TestEnv::new();
        let said = |script: &str, limit_ms| {
            let program = env.root().join("program");
            write_file(&program, format!("#!/bin/sh\n{script}\n"));
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            version_of(&program, &Env::default(), &[], Duration::from_millis(limit_ms))
        };
        let version = || Some("2.1.325 (Claude Code)".to_owned());
        assert_eq!(said("echo; echo '2.1.325 (Claude Code)'; echo more", 10_000), version());
        assert_eq!(said("echo '2.1.325 (Claude Code)' >&2", 10_000), version(), "on stderr");
        assert_eq!(said("exit 1", 10_000), None);
        assert_eq!(said("exec /bin/sleep 100", 50), None);
        assert_eq!(
            version_of(Path::new("/no/such/program"), &Env::default(), &[], Duration::ZERO),
            None
        );
    }

    #[test]
    fn a_start_of_the_smallest_program_takes_time() {
        assert!(spawn_us(&Env::default()).is_some_and(|us| us > 0));
    }
}
