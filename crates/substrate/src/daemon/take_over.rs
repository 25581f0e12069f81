//! Another program goes on where we stop: it inherits the listening socket and the lock, so that no connection is
//! refused and no second daemon can start in between.

use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use super::start;
use super::state::{How, State};

/// How long the other program may take to be ready; a large database may have to be migrated.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the new daemon says on stderr when it can take connections.
pub(super) const READY: &str = "ready";

/// Starts `program` as the new daemon and ends this one. `false`: it did not come up, and we go on.
pub(super) async fn hand_over(state: &Rc<State>, program: &Path) -> bool {
    let child = match spawn(state, program) {
        Ok(child) => child,
        Err(error) => {
            tracing::error!(program = %program.display(), %error, "could not hand over");
            return false;
        }
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let waiting = tokio::task::spawn_blocking(move || wait_until_ready(child));
    let ready = timeout(PATIENCE, waiting).await.is_ok_and(|joined| joined.unwrap_or(false));
    if !ready && let Some(pid) = pid {
        // It may still come up, and then there would be two.
        let _already_gone = kill_process(pid, Signal::KILL);
    }
    if ready {
        tracing::info!(program = %program.display(), "handed over");
        state.end(How::HandedOver);
    } else {
        tracing::error!(program = %program.display(), "the new daemon did not come up; going on");
    }
    ready
}

fn spawn(state: &State, program: &Path) -> std::io::Result<Child> {
    let listener = state.listener()?;
    let mut command = start::program(program, &state.env, &state.home);
    command
        .arg("--take-over")
        .stdin(Stdio::from(listener))
        .stdout(Stdio::from(state.lock.to_hand_over()?))
        .stderr(Stdio::piped());
    command.spawn()
}

/// Reads the new daemon's first line. One that is not ready is ended: there must not be two.
fn wait_until_ready(mut child: Child) -> bool {
    let mut line = String::new();
    let said = child
        .stderr
        .take()
        .is_some_and(|stderr| BufReader::new(stderr).read_line(&mut line).is_ok());
    if said && line.trim() == READY {
        return true;
    }
    let _already_gone = child.kill();
    let _reaped = child.wait();
    false
}

/// The listening socket that the old daemon put on our stdin.
pub(super) fn inherited_listener() -> std::io::Result<UnixListener> {
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}
