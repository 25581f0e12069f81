//! The thread that paints. It takes the newest wish for each pane, and no caller waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use substrate_core::{Look, Pane};

use super::paint;
use super::server::Server;
use crate::config::Env;

/// The most panes that wait to be painted, far more than fit on a screen.
const MAX_WANTED: usize = 1_000;

/// How long restoring everything at the end may take.
const LAST: Duration = Duration::from_secs(2);

/// Paints panes, on a thread that starts with the first of them.
#[derive(Debug)]
pub(crate) struct Painter {
    env: Env,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Desk {
    /// By socket and pane.
    wanted: BTreeMap<(String, String), Option<Look>>,
    /// The servers with painted panes.
    servers: BTreeSet<String>,
    has_thread: bool,
    /// Everything should be restored.
    is_ending: bool,
    has_ended: bool,
}

impl Painter {
    pub(crate) fn new(env: &Env) -> Self {
        Self { env: env.clone(), shared: Arc::default() }
    }

    /// Sets how a pane should look from now on.
    pub(crate) fn want(&self, pane: Pane, look: Option<Look>) {
        let mut desk = self.shared.desk();
        if desk.is_ending || desk.wanted.len() >= MAX_WANTED {
            return;
        }
        desk.servers.insert(pane.socket.clone());
        desk.wanted.insert((pane.socket, pane.id), look);
        if !desk.has_thread {
            desk.has_thread = true;
            let (env, shared) = (self.env.clone(), Arc::clone(&self.shared));
            std::thread::spawn(move || work(&env, &shared));
        }
        drop(desk);
        self.shared.changed.notify_all();
    }

    /// Brings a pane to the front, beside the caller. A user asks for one at a time.
    pub(crate) fn show(&self, pane: Pane) {
        let server = Server::new(&pane.socket, &self.env);
        std::thread::spawn(move || {
            if let Err(error) = server.show(&pane.id) {
                tracing::warn!(pane = pane.id, %error, "a pane could not be shown");
            }
        });
    }

    /// Restores everything that was painted, and waits a moment for that.
    pub(crate) fn end(&self) {
        let mut desk = self.shared.desk();
        desk.is_ending = true;
        desk.wanted.clear();
        if !desk.has_thread {
            return;
        }
        self.shared.changed.notify_all();
        let waited = self.shared.changed.wait_timeout_while(desk, LAST, |desk| !desk.has_ended);
        drop(waited);
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to do next. `None`: the end has come.
    fn next(&self) -> Option<((String, String), Option<Look>)> {
        let mut desk = self.desk();
        loop {
            if desk.is_ending {
                return None;
            }
            if let Some(next) = desk.wanted.pop_first() {
                return Some(next);
            }
            desk = self.changed.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn work(env: &Env, shared: &Shared) {
    while let Some(((socket, pane), look)) = shared.next() {
        let server = Server::new(&socket, env);
        let done = match &look {
            Some(look) => paint::paint(&server, &pane, look),
            None => paint::restore(&server, &pane),
        };
        if let Err(error) = done {
            tracing::debug!(socket, pane, %error, "could not paint a pane");
        }
    }
    let servers = std::mem::take(&mut shared.desk().servers);
    for socket in servers {
        if let Err(error) = paint::restore_all(&Server::new(&socket, env)) {
            tracing::debug!(socket, %error, "could not restore the colours");
        }
    }
    shared.desk().has_ended = true;
    shared.changed.notify_all();
}
