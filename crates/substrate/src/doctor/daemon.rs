//! The daemon: whether it runs, answers, and is the same program as ours.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ipc::ConnError;
use substrate_core::Timestamp;
use substrate_core::time::Ago;

use super::facts::Patient;
use super::finding::{Area, Finding};
use super::whereabouts::is_same;
use crate::config::Home;
use crate::daemon::{self, Status, this_program};

/// How long a daemon gets that is just starting, or has just lost its socket.
const COMING_UP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    pub(super) state: State,
    pub(super) autostart: bool,
    pub(super) logs: PathBuf,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Answers {
        status: Status,
        program: Program,
    },
    /// It is alive, but does not answer.
    Frozen {
        holder: Option<Holder>,
    },
    /// It holds its lock, but has no socket.
    Unreachable {
        holder: Option<Holder>,
    },
    /// The listener does not speak our protocol.
    Foreign,
    NotRunning,
}

/// The file that the daemon runs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Ours,
    Other,
    Gone,
}

/// The process that has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) pid: u32,
    /// It is stopped, as by Ctrl+Z.
    pub(super) is_stopped: bool,
}

pub(super) fn look(patient: &Patient<'_>, autostart: bool) -> Daemon {
    let state = state(patient);
    Daemon { state, autostart, logs: patient.home.logs() }
}

fn state(patient: &Patient<'_>) -> State {
    let home = patient.home;
    // Checking the lock would create it.
    let is_held = || home.lock().exists() && daemon::is_held(home).unwrap_or(false);
    let begun = Instant::now();
    loop {
        match (patient.ping)() {
            Ok(status) => {
                let program = program(Path::new(&status.program));
                return State::Answers { status, program };
            }
            Err(ConnError::TooSlow) => {
                return State::Frozen { holder: holder(home) };
            }
            Err(ConnError::Foreign) => return State::Foreign,
            Err(ConnError::Absent | ConnError::Broken) if !is_held() => return State::NotRunning,
            Err(ConnError::Absent | ConnError::Broken) => {}
        }
        if begun.elapsed() > COMING_UP {
            return State::Unreachable { holder: holder(home) };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn program(path: &Path) -> Program {
    if !path.exists() {
        return Program::Gone;
    }
    let ours = this_program().is_ok_and(|ours| is_same(&ours, path));
    if ours { Program::Ours } else { Program::Other }
}

/// The process that signed the lock.
fn holder(home: &Home) -> Option<Holder> {
    daemon::holder(home)
        .map(|process| Holder { pid: process.pid, is_stopped: process.is_stopped() })
}

pub(super) fn judge(daemon: &Daemon, now: Timestamp, out: &mut Vec<Finding>) {
    match &daemon.state {
        State::Answers { status, program } => judge_status(daemon, status, *program, now, out),
        State::Frozen { holder } => out.push(
            Area::Daemon
                .error("daemon-frozen", "the daemon runs but does not answer; the next hook replaces it if it is frozen")
                .next(wake(*holder)),
        ),
        State::Unreachable { holder } => out.push(
            Area::Daemon
                .error("daemon-unreachable", "the daemon runs but has no socket")
                .next(wake(*holder)),
        ),
        State::Foreign => out.push(
            Area::Daemon
                .error("daemon-foreign", "the daemon speaks another version's protocol")
                .next(
                    "stop it with the `substrate` that started it, then `substrate daemon start`",
                ),
        ),
        State::NotRunning => {
            let when = if daemon.autostart {
                "it starts with the next hook"
            } else {
                "`daemon.autostart` is off, so every hook starts one for its own request"
            };
            out.push(
                Area::Daemon
                    .info("daemon-not-running", format!("no daemon runs; {when}"))
                    .next("`substrate daemon start`")
                    .fixable(),
            );
        }
    }
}

fn judge_status(
    daemon: &Daemon,
    status: &Status,
    program: Program,
    now: Timestamp,
    out: &mut Vec<Finding>,
) {
    let ours = env!("CARGO_PKG_VERSION");
    let Status { pid, version, program: path, n_failures, .. } = status;
    let age = Ago(now.0 - status.started_ms);
    out.push(
        Area::Daemon
            .ok("daemon-answers", format!("it answers: pid {pid}, version {version}, for {age}")),
    );
    let restart = "`substrate daemon restart`";
    if version != ours {
        let message = format!("the daemon is version {version}, this program is {ours}");
        out.push(Area::Daemon.warning("daemon-version", message).next(restart));
    } else if program == Program::Gone {
        let message = format!("the daemon's program is gone: `{path}`");
        out.push(Area::Daemon.warning("daemon-program-gone", message).next(restart));
    } else if program == Program::Other {
        let message = format!("the daemon runs from another place, in the same version: `{path}`");
        out.push(Area::Daemon.info("daemon-program-other", message).next(restart));
    }
    if let Some(trouble) = &status.trouble {
        let message = format!(
            "the daemon can't use its database ({trouble}); guards and leases go on in memory, mail waits"
        );
        out.push(
            Area::Daemon
                .error("daemon-in-memory", message)
                .next("`substrate db check` says more; free some space, or `substrate db restore`"),
        );
    }
    if *n_failures > 0 {
        let message = format!("{n_failures} commits failed since it started");
        let logs = daemon.logs.display();
        let next = format!("read what the log in `{logs}` says");
        out.push(Area::Daemon.warning("daemon-failures", message).next(next));
    }
}

fn wake(holder: Option<Holder>) -> String {
    match holder {
        Some(Holder { pid, is_stopped: true }) => {
            format!("it was stopped: `kill -CONT {pid}` lets it go on; nothing is lost")
        }
        Some(Holder { pid, .. }) => {
            format!("if it stays so: `kill {pid}`, then `substrate daemon start`; nothing is lost")
        }
        None => "if it stays so: end its process, then `substrate daemon start`; nothing is lost"
            .to_owned(),
    }
}
