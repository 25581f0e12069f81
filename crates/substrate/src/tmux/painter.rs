//! The thread that paints: it takes what is wanted, the newest only, and nobody waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use substrate_core::{Look, Pane};

use super::paint;
use super::server::Server;
use crate::config::Env;

/// Panes that wait to be painted at the most; more than anybody looks at.
const MAX_WANTED: usize = 1_000;

/// How long everything may take that is given back at the end.
const LAST: Duration = Duration::from_secs(2);

/// Paints panes, on a thread that is started with the first of them.
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
    /// The servers that something was painted on.
    servers: BTreeSet<String>,
    has_thread: bool,
    /// Everything shall be given back.
    is_ending: bool,
    has_ended: bool,
}

impl Painter {
    pub(crate) fn new(env: &Env) -> Self {
        Self { env: env.clone(), shared: Arc::default() }
    }

    /// A pane shall look so from now on.
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

    /// Gives everything back that was painted, and waits for that a moment.
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

    /// What is to be done next; `None`: the end has come.
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
            tracing::debug!(socket, pane, %error, "a pane could not be painted");
        }
    }
    let servers = std::mem::take(&mut shared.desk().servers);
    for socket in servers {
        if let Err(error) = paint::restore_all(&Server::new(&socket, env)) {
            tracing::debug!(socket, %error, "colours could not be given back");
        }
    }
    shared.desk().has_ended = true;
    shared.changed.notify_all();
}
