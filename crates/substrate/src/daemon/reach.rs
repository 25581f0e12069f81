//! A connection to a daemon that answers: a running one, a new one, or one that replaces a frozen one.
//!
//! For `substrate __hook` and for commands, which may wait. There is no race to win: there is one daemon, and every
//! caller waits for it.

use std::time::{Duration, Instant};

use ipc::{Conn, ConnError, Kind, frame};
use rustix::process::Signal;

use super::holder::{Judgement, Process, Watch};
use super::lock;
use super::start::{self, Stay};
use crate::clock;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind as ErrorKind, Result};

/// How often the daemon's process is checked while it does not answer.
const LOOK: Duration = Duration::from_millis(100);

/// How often a missing socket is looked for: sooner at first.
const PAUSES_MS: [u64; 6] = [1, 2, 4, 8, 15, 25];

/// How often a daemon that ends at once is started again before giving up.
const MAX_STARTS: u32 = 3;

/// Pause before asking again after the connection ended.
const AGAIN: Duration = Duration::from_millis(5);

/// How long a wait that a daemon began looks for its successor.
const SUCCESSOR: Duration = Duration::from_secs(10);

/// A socket that is missing this long was removed. Its daemon can make a new one.
const MISSING: Duration = Duration::from_millis(60);

/// A caller that needs a daemon.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    env: &'a Env,
    home: &'a Home,
    until: Instant,
    /// `None`: no daemon is started.
    stay: Option<Stay>,
    watch: Watch,
    n_starts: u32,
    /// Since when a daemon has kept us waiting, if one does.
    waiting: Option<Instant>,
}

/// The answer to a request that was sent.
#[derive(Debug)]
pub(crate) enum Answer {
    Frame(Kind, Vec<u8>),
    /// The daemon has ended, or was replaced: ask again, with the same id.
    Ended,
    /// A daemon of another version answered: ask again, its successor understands us.
    Foreign,
    /// The time is up.
    Late,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(env: &'a Env, home: &'a Home, until: Instant, stay: Option<Stay>) -> Self {
        Self { env, home, until, stay, watch: Watch::default(), n_starts: 0, waiting: None }
    }

    /// Extends the deadline, counted from now.
    pub(crate) fn extend(&mut self, by: Duration) {
        self.until = self.until.max(Instant::now() + by);
    }

    /// Milliseconds spent in a wait that the daemon began.
    pub(crate) fn waited_ms(&self) -> u32 {
        self.waiting
            .map_or(0, |since| u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX))
    }

    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Connects. An error says why there is no daemon.
    pub(crate) fn connect(&mut self) -> Result<Conn> {
        let begun = Instant::now();
        let mut pauses = PAUSES_MS.into_iter().chain(std::iter::repeat(25));
        let mut has_asked_for_socket = false;
        loop {
            match Conn::open(self.home.root(), self.left().min(LOOK)) {
                Ok(conn) => return Ok(conn),
                // Its backlog is full: it is busy or frozen.
                Err(ConnError::TooSlow) => self.replace_if_frozen(),
                Err(_) => {
                    let Some(stay) = self.stay else { return Err(none_runs()) };
                    if self.n_starts >= MAX_STARTS {
                        return Err(ends_at_once(self.home));
                    }
                    if start::start(self.env, self.home, stay)? {
                        self.n_starts += 1;
                        continue;
                    }
                    if begun.elapsed() > MISSING && !has_asked_for_socket {
                        has_asked_for_socket = true;
                        if let Some(holder) = lock::holder(self.home) {
                            holder.signal(Signal::HUP);
                        }
                    }
                    self.replace_if_frozen();
                }
            }
            if self.left().is_zero() {
                return Err(too_slow());
            }
            std::thread::sleep(Duration::from_millis(pauses.next().unwrap_or(25)));
        }
    }

    /// Waits for the next frame on a connection, and checks the daemon's process meanwhile. `Wait` frames are handled
    /// here: from then on the daemon says how long it takes.
    pub(crate) fn hear(&mut self, conn: &mut Conn) -> Answer {
        // The deadline, once the daemon has announced one.
        let mut told = None;
        loop {
            match conn.receive(told.unwrap_or_else(|| self.left().min(LOOK))) {
                Ok((Kind::Wait, body)) => {
                    told = Some(frame::patience(&body));
                    self.waiting.get_or_insert_with(Instant::now);
                }
                Ok((kind, body)) => return Answer::Frame(kind, body),
                Err(_) if told.is_some() => {
                    // Another daemon continues the wait. It must be there by then.
                    self.extend(SUCCESSOR);
                    return Answer::Ended;
                }
                Err(ConnError::TooSlow) if self.left().is_zero() => return Answer::Late,
                // This listener is not our daemon.
                Err(ConnError::TooSlow) if self.starts_in_its_place() => return Answer::Ended,
                Err(ConnError::TooSlow) => self.replace_if_frozen(),
                Err(ConnError::Foreign) => {
                    self.replace();
                    return Answer::Foreign;
                }
                Err(_) => {
                    // A daemon that keeps ending is not asked in a tight loop.
                    std::thread::sleep(AGAIN);
                    return Answer::Ended;
                }
            }
        }
    }

    /// Starts a daemon where the lock is free although something accepts connections.
    fn starts_in_its_place(&self) -> bool {
        let Some(stay) = self.stay.filter(|_| lock::holder(self.home).is_none()) else {
            return false;
        };
        start::start(self.env, self.home, stay).unwrap_or(false)
    }

    /// Kills a daemon that will not answer. That frees its lock and ends its connections.
    fn replace_if_frozen(&mut self) {
        let Some(holder) = lock::holder(self.home) else { return };
        if self.watch.look(holder) == Judgement::Frozen {
            self.end(holder);
        }
    }

    /// Ends a daemon of another version, which does not understand us. One that has not signed the lock is so old that
    /// it looks for its newer program by itself.
    fn replace(&self) {
        match lock::holder(self.home).filter(|_| self.stay.is_some()) {
            Some(holder) => self.end(holder),
            None => std::thread::sleep(LOOK),
        }
    }

    fn end(&self, holder: Process) {
        holder.end();
        let (now, pid) = (clock::now().0, holder.pid);
        let line = format!("{now} replaced a daemon that did not answer (pid {pid})\n");
        ipc::place::leave_trace(self.home.root(), &line);
    }
}

fn none_runs() -> AppError {
    AppError::new(ErrorKind::Daemon, "no daemon runs").hint("`substrate daemon start` starts one")
}

fn too_slow() -> AppError {
    AppError::new(ErrorKind::Daemon, "the daemon did not answer in time")
        .hint("the machine may be very busy; `substrate daemon status` tells more")
}

fn ends_at_once(home: &Home) -> AppError {
    AppError::new(ErrorKind::Daemon, "the daemon ends as soon as it starts").hint(format!(
        "its log is in `{}`; `substrate daemon run` shows what it says",
        home.logs().display()
    ))
}
