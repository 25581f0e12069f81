//! Handing over to another program. It inherits the listening socket and the lock, so no connection is refused and no
//! second daemon can start in between. It opens the database only after we are gone. Callers that connect meanwhile
//! wait in the socket's queue.

use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use substrate_store::Database;
use tokio::time::timeout;

use super::start;
use super::state::{EndReason, State};
use crate::config::Home;
use crate::error::{AppError, Kind};
use crate::{host, ui};

/// How long the other program may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the new daemon writes to stderr when it is ready. The pipe closes when the old one ends.
const READY: &str = "ready";

/// How long the old daemon may take to answer pending requests and end.
const OLD_ENDS: Duration = Duration::from_secs(20);

/// Starts `program` as the new daemon and ends this one. `false`: it did not start, and we go on.
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
    let pipe = timeout(PATIENCE, waiting).await.ok().and_then(Result::ok).flatten();
    let Some(pipe) = pipe else {
        if let Some(pid) = pid {
            // It may still start, and then there would be two.
            let _already_gone = kill_process(pid, Signal::KILL);
        }
        tracing::error!(program = %program.display(), "the new daemon did not start; going on");
        return false;
    };
    tracing::info!(program = %program.display(), "handed over");
    // Stays open until we exit.
    state.successor.replace(Some(pipe));
    state.end(EndReason::HandedOver);
    true
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

/// Reads the new daemon's first line. If it is not ready, it is killed: there must not be two.
fn wait_until_ready(mut child: Child) -> Option<ChildStderr> {
    let mut pipe = BufReader::new(child.stderr.take()?);
    let mut line = String::new();
    if pipe.read_line(&mut line).is_ok() && line.trim() == READY {
        return Some(pipe.into_inner());
    }
    let _already_gone = child.kill();
    let _reaped = child.wait();
    None
}

/// The new daemon: reports that it is ready, and waits until the old one is gone.
pub(super) fn wait_for_our_turn(home: &Home) -> Result<(), AppError> {
    let schema = host::schema();
    // If the database is newer than this program, the old daemon keeps it.
    Database::at(&home.database()).missing_steps(&schema)?;
    ui::talk(&format!("{READY}\n"));
    let limit = Timespec::try_from(OLD_ENDS).ok();
    let stderr = rustix::stdio::stderr();
    // We want no bytes, only the hang-up that tells us that the reader is gone.
    let mut fds = [PollFd::new(&stderr, PollFlags::empty())];
    match poll(&mut fds, limit.as_ref()) {
        Ok(n) if n > 0 => Ok(()),
        _ => Err(AppError::new(Kind::Daemon, "the old daemon did not end")),
    }
}

/// The listening socket that the old daemon put on our stdin.
pub(super) fn inherited_listener() -> std::io::Result<UnixListener> {
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}
