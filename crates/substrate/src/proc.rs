//! Starting other processes, without our caller's environment.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

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
