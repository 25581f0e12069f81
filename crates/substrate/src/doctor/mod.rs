//! `substrate doctor`: what is wrong, how bad it is, and what to do about it.
//!
//! It gathers facts first, without changing anything, and judges them afterwards with pure functions. Each area has a
//! file with both. The doctor reports whatever is broken. It never fails itself, and never ends a process.

mod access;
mod client;
mod daemon;
mod database;
mod facts;
mod finding;
mod hooks;
mod notify;
mod plugin;
mod programs;
mod project;
mod registered;
mod report;
mod sessions;
mod settings;
mod team;
mod trace;
mod try_out;
mod whereabouts;

#[cfg(test)]
mod tests;

pub(crate) use facts::{Patient, gather, judge};
pub(crate) use report::Report;
pub(crate) use whereabouts::quoted;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use self::daemon::State;
use self::facts::Facts;
use crate::daemon::{Reach, Stay};
use crate::ui;

/// How long a daemon may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// What `--fix` does: removes other users' access, and starts a daemon if none runs. It never ends a process, and never
/// touches a settings file or the database. Returns a line for each thing done.
pub(crate) fn mend(patient: &Patient<'_>, facts: &Facts) -> Vec<String> {
    let mut done = Vec::new();
    for access in &facts.access {
        let Some(mode) = access.mended() else { continue };
        let path = access.path.display();
        match std::fs::set_permissions(&access.path, Permissions::from_mode(mode)) {
            Ok(()) => done.push(format!("`{path}` has mode {mode:o} now")),
            Err(error) => ui::talk(&format!("could not change the mode of `{path}`: {error}\n")),
        }
    }
    if matches!(facts.daemon.state, State::NotRunning) {
        let until = Instant::now() + PATIENCE;
        match Reach::new(patient.env, patient.home, until, Some(Stay::Long)).connect() {
            Ok(_) => done.push("the daemon runs now".to_owned()),
            Err(error) => ui::talk(&error.render()),
        }
    }
    done
}
