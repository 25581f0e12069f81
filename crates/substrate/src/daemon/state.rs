//! State that the daemon's tasks share. They all run on one thread, so nothing here is locked.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::ChildStderr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use substrate_core::{Settings, Timestamp};
use substrate_store::Database;
use tokio::sync::{Notify, mpsc};

use super::activity::Activities;
use super::carry::Carrier;
use super::control::Status;
use super::dashboard::Dashboard;
use super::group::Job;
use super::large::Large;
use super::lock::{self, Lock};
use super::notices::Notices;
use super::start;
use super::storage::Storage;
use super::stream::Listener;
use super::threads::Threads;
use super::twins::Twins;
use super::waiters::Waiters;
use crate::clock;
use crate::config::{Around, Env, Home, SettingsFiles};
use crate::gather::PathCache;
use crate::machine::Machine;
use crate::tmux::Painter;

/// How often the loop wakes while a thread works: more often than a sleeping daemon counts as frozen (`holder`).
const SIGN_OF_LIFE: Duration = Duration::from_millis(250);

/// How often the home is checked while events come.
const LOOK_US: u64 = 200_000;

pub(super) struct State {
    pub(super) env: Env,
    pub(super) home: Home,
    pub(super) lock: Lock,
    pub(super) program: PathBuf,
    pub(super) uid: u32,
    pub(super) started: Timestamp,
    /// It ends when the requests at hand are answered.
    pub(super) is_brief: bool,
    pub(super) settings: RefCell<SettingsFiles>,
    pub(super) storage: RefCell<Storage>,
    pub(super) readers: Arc<Database>,
    pub(super) jobs: mpsc::UnboundedSender<Job>,
    /// The read buffer for incomplete requests. All connections share it, since reading never waits.
    pub(super) scratch: RefCell<Box<[u8]>>,
    /// Turns for long requests.
    pub(super) large: Large,
    pub(super) twins: RefCell<Twins>,
    pub(super) notices: RefCell<Notices>,
    pub(super) machine: Machine,
    pub(super) activities: Activities,
    pub(super) dashboard: Dashboard,
    pub(super) painter: Painter,
    pub(super) threads: Threads,
    pub(super) carrier: Carrier,
    /// Paths that were looked up recently.
    pub(super) paths: RefCell<PathCache>,
    /// The parked callers.
    pub(super) waiters: RefCell<Waiters>,
    /// When we last checked that the home is still ours.
    pub(super) looked_us: Cell<u64>,
    /// Notified when a caller is parked.
    pub(super) parked: Notify,
    /// Notified after a commit while a caller watches for it.
    pub(super) committed: Notify,
    /// Notified when a thread starts that may take long.
    pub(super) working: Notify,
    pub(super) counts: Counts,
    pub(super) ending: Ending,
    /// Notified when a caller could not find the socket, so that it is checked at once.
    pub(super) look_for_socket: Notify,
    /// Features whose housekeeping is due soon.
    pub(super) soon: RefCell<HashSet<&'static str>>,
    /// Our successor waits for the end of this pipe.
    pub(super) successor: RefCell<Option<ChildStderr>>,
    pub(super) listening: RefCell<Option<Rc<Listening>>>,
    /// Notified when the socket was created again.
    pub(super) new_listener: Notify,
}

/// The socket that we listen on.
pub(super) struct Listening {
    pub(super) accepting: Listener,
    /// Its device and inode.
    ours: Option<(u64, u64)>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) hooks: Cell<u64>,
    pub(super) commands: Cell<u64>,
    pub(super) commits: Cell<u64>,
    pub(super) failures: Cell<u64>,
    /// Connections that were accepted and are not done.
    pub(super) open: Cell<u64>,
    /// How many of them are being answered right now.
    pub(super) in_flight: Cell<u64>,
    /// Threads that may take long while the loop is idle.
    pub(super) on_threads: Cell<u64>,
    /// Callers and tasks that watch for commits.
    pub(super) watching: Cell<u64>,
}

/// How the daemon ends.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) wanted: Notify,
    pub(super) how: Cell<EndReason>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EndReason {
    #[default]
    NotYet,
    Stop,
    /// Another program continues with our socket.
    HandedOver,
    /// The lock or the database at their paths are no longer ours.
    Displaced,
}

impl State {
    /// Listens on this socket from now on.
    pub(super) fn listen_on(&self, listener: UnixListener) -> std::io::Result<()> {
        let ours = lock::identity(&self.home.socket());
        let accepting = Listener::new(listener)?;
        self.listening.replace(Some(Rc::new(Listening { accepting, ours })));
        self.new_listener.notify_one();
        Ok(())
    }

    /// A handle of the socket for another process.
    pub(super) fn listener(&self) -> std::io::Result<OwnedFd> {
        let listening = self.listening.borrow();
        let listening = listening.as_ref().ok_or(std::io::ErrorKind::NotConnected)?;
        listening.accepting.handle()
    }

    /// Makes sure that callers can reach us.
    pub(super) fn find_socket(&self) {
        let ours = self.listening.borrow().as_ref().and_then(|listening| listening.ours);
        if ours.is_some() && lock::identity(&self.home.socket()) == ours {
            return;
        }
        match start::bind(&self.home).and_then(|listener| self.listen_on(listener)) {
            Ok(()) => tracing::warn!("the socket was gone; a new one is in its place"),
            Err(error) => {
                tracing::error!(%error, "the socket is gone, and creating a new one failed");
            }
        }
    }

    /// Removes our socket, but not one that another daemon bound.
    pub(super) fn remove_socket(&self) {
        let ours = self.listening.borrow().as_ref().and_then(|listening| listening.ours);
        if ours.is_some() && lock::identity(&self.home.socket()) == ours {
            let _maybe_gone = std::fs::remove_file(self.home.socket());
        }
    }

    /// Whether another home is at our path by now: it was removed, moved or replaced, or its database was. Whatever we
    /// write then is lost to readers.
    pub(super) fn is_displaced(&self, storage: &Storage) -> bool {
        self.looked_us.set(clock::micros());
        let ours = self.lock.identity();
        ours.is_none() || lock::identity(&self.home.lock()) != ours || storage.is_displaced()
    }

    /// Whether it is time to check the home again.
    pub(super) fn looks_due(&self) -> bool {
        clock::micros().saturating_sub(self.looked_us.get()) > LOOK_US
    }

    /// The settings to use when nothing could be read at all.
    pub(super) fn defaults(&self) -> Around {
        let settings = Settings::resolve(&substrate_features::keys(), &[]);
        (Arc::new(settings), self.home.root().to_string_lossy().into())
    }

    pub(super) fn status(&self) -> Status {
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_ms: self.started.0,
            home: self.home.root().display().to_string(),
            program: self.program.display().to_string(),
            n_hooks: self.counts.hooks.get(),
            n_commands: self.counts.commands.get(),
            n_commits: self.counts.commits.get(),
            n_failures: self.counts.failures.get(),
            n_waiting: self.waiters.borrow().len(),
            is_brief: self.is_brief,
            trouble: self.storage.borrow().trouble(),
        }
    }

    pub(super) fn end(&self, how: EndReason) {
        self.ending.how.set(how);
        self.ending.wanted.notify_waiters();
    }
}

/// Marks that a thread is busy. While this lives, the loop wakes now and then, so callers that inspect us see a live
/// process and not a frozen one.
pub(super) fn working(state: &Rc<State>) -> Counted {
    state.working.notify_one();
    Counted::begin(state, |counts| &counts.on_threads)
}

/// Wakes the loop while a thread works.
pub(super) async fn stay_awake(state: Rc<State>) {
    loop {
        if state.counts.on_threads.get() == 0 {
            state.working.notified().await;
        }
        tokio::time::sleep(SIGN_OF_LIFE).await;
    }
}

/// Increments a counter for as long as it lives.
pub(super) struct Counted {
    state: Rc<State>,
    which: fn(&Counts) -> &Cell<u64>,
}

impl Counted {
    pub(super) fn begin(state: &Rc<State>, which: fn(&Counts) -> &Cell<u64>) -> Self {
        count(which(&state.counts));
        Self { state: Rc::clone(state), which }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let cell = (self.which)(&self.state.counts);
        cell.set(cell.get() - 1);
    }
}

pub(super) fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}
