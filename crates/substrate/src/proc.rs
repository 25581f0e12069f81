//! Starting other processes, never with our caller's environment.

use std::ffi::OsStr;
use std::process::Command;

use crate::config::Env;

/// An id that nobody else has.
pub(crate) fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    let _random = rustix::rand::getrandom(&mut id[..], rustix::rand::GetRandomFlags::empty());
    id
}

/// A command that sees only what every process needs.
#[expect(clippy::disallowed_methods, reason = "everybody else starts processes through here")]
pub(crate) fn command(program: impl AsRef<OsStr>, env: &Env) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["HOME", "PATH", "LANG", "TMPDIR", "SUBSTRATE_HOME"] {
        if let Some(value) = env.get(name) {
            command.env(name, value);
        }
    }
    command
}
