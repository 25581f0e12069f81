//! The event loop's side: which folders are watched, and what happens with each observation.

use std::cell::RefCell;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::{Arc, PoisonError, mpsc};

use substrate_core::{Cx, Detail, Event, EventKind, engine};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{spawn_blocking, spawn_local};

use super::super::group::Job;
use super::super::state::State;
use super::super::surround::surround;
use super::transcripts::Turn;
use super::watch::{Observed, Task, TurnChange, Watched, watch};
use crate::clock;
use crate::host::{Decoded, Prepared};

/// The most folders that are watched. A person has one, or a few.
const MAX_FOLDERS: usize = 32;

/// The watching thread only reads small files.
const STACK: usize = 512 << 10;

/// The folders that are watched.
pub(in super::super) struct Activities {
    folders: RefCell<Vec<Folder>>,
    out: UnboundedSender<Observed>,
}

struct Folder {
    config_dir: Box<str>,
    said: mpsc::Sender<TurnChange>,
    bell: UnixStream,
    watched: Watched,
}

impl Activities {
    pub(in super::super) fn new() -> (Self, UnboundedReceiver<Observed>) {
        let (out, seen) = unbounded_channel();
        (Self { folders: RefCell::default(), out }, seen)
    }

    /// Called for each event. If the client's folder is watched already, there is nothing to do.
    pub(in super::super) fn heard(&self, decoded: &Decoded) {
        let event = &decoded.event;
        let Some(config_dir) = event.config_dir.as_deref() else { return };
        let mut folders = self.folders.borrow_mut();
        let found = folders.iter().find(|folder| *folder.config_dir == *config_dir);
        if let Some(folder) = found {
            folder.told_of(event);
        } else if folders.len() < MAX_FOLDERS
            && let Some(folder) = self.begin(decoded, config_dir)
        {
            folder.told_of(event);
            folders.push(folder);
        }
    }

    fn begin(&self, decoded: &Decoded, config_dir: &str) -> Option<Folder> {
        let client = decoded.client().filter(|client| client.session_files.is_some())?;
        let (said, hears) = mpsc::channel();
        let (bell, rings) = UnixStream::pair().ok()?;
        bell.set_nonblocking(true).ok()?;
        rings.set_nonblocking(true).ok()?;
        let watched = Watched::default();
        let task = Task {
            client,
            config_dir: config_dir.into(),
            said: hears,
            bell: rings,
            out: self.out.clone(),
            watched: Arc::clone(&watched),
        };
        let thread = std::thread::Builder::new().name("activity".to_owned()).stack_size(STACK);
        thread.spawn(move || watch(task)).ok()?;
        Some(Folder { config_dir: config_dir.into(), said, bell, watched })
    }
}

impl Folder {
    /// Reports turns to the thread, for clients without session files.
    fn told_of(&self, event: &Event) {
        use EventKind as K;
        if !matches!(event.kind, K::UserPromptSubmit | K::Stop | K::StopFailure | K::SessionEnd) {
            return;
        }
        let (Some(session), Some(pid)) = (event.session.clone(), event.client_pid) else { return };
        if self.watched.read().unwrap_or_else(PoisonError::into_inner).contains(&pid) {
            return;
        }
        let said = match event.kind {
            K::UserPromptSubmit => {
                let transcript = event.transcript.clone().unwrap_or_default();
                TurnChange::Began(Turn { session, pid, cwd: event.cwd.clone(), transcript })
            }
            _ => TurnChange::Ended(session),
        };
        let _thread_ended = self.said.send(said);
        let _full_is_rung = (&self.bell).write(&[1]);
    }
}

/// Turns observations into events until the daemon ends.
pub(in super::super) async fn tell_all(state: Rc<State>, mut seen: UnboundedReceiver<Observed>) {
    while let Some(observed) = seen.recv().await {
        // A project whose settings can't be read delays only its own events.
        drop(spawn_local(tell(Rc::clone(&state), observed)));
    }
}

async fn tell(state: Rc<State>, observed: Observed) {
    let client = observed.client;
    let decoded = Decoded::of_our_own(event(observed), client, clock::micros());
    let prepared = Box::new(surround(&state, decoded).await);
    let Some(prepared) = news(&state, prepared).await else { return };
    tracing::info!(event = prepared.decoded.event.name, "a client showed what it sent no event of");
    let _we_end = state.jobs.send(Job::Shown { prepared });
}

/// Returns the event if it changes anything. Usually another event already said the same, so nothing is written.
async fn news(state: &State, prepared: Box<Prepared>) -> Option<Box<Prepared>> {
    if state.storage.borrow().is_in_memory() {
        return Some(prepared);
    }
    let (readers, machine) = (Arc::clone(&state.readers), state.machine.clone());
    let asked = spawn_blocking(move || {
        let is_news = readers.read(|db| {
            let settings = &prepared.settings;
            let mut cx = Cx { world: &machine, ..Cx::new(clock::now(), db, settings) };
            let event = &prepared.decoded.event;
            engine::is_news(substrate_features::ALL, &mut cx, event)
        });
        // If this can't be read now, go on: the writer checks again.
        is_news.unwrap_or(true).then_some(prepared)
    });
    asked.await.ok().flatten()
}

fn event(observed: Observed) -> Event {
    let Observed { client, session, pid, cwd, config_dir, now, since } = observed;
    Event {
        name: now.event_name().to_owned(),
        session: Some(session),
        cwd,
        client_pid: Some(pid),
        config_dir: Some(config_dir.into()),
        detail: Detail::Activity { now, since },
        dialect: client.dialect,
        ..Event::bare(client.name, EventKind::Activity, clock::now())
    }
}
