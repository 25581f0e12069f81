//! What `--fix` does: remove other users' access, and start a daemon if none runs. It never ends a process, and never
//! touches a settings file or the database.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use super::daemon::State;
use super::facts::{Facts, Patient};
use crate::daemon::{Reach, Stay};
use crate::ui;

/// How long a daemon may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Mends what can be mended. Returns a line for each thing done.
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
