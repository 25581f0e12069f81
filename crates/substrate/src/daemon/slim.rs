//! A hook's event while it waits: only what a second look at it needs. There may be ten thousand of them.

use substrate_core::{Detail, Event, EventKind, SafeId, Timestamp};

use crate::clock;
use crate::host::{Decoded, Route};

/// What is kept of a Stop, or of the waiter beside it.
pub(super) struct Slim {
    route: Route,
    client: &'static str,
    kind: EventKind,
    session: Option<SafeId>,
    cwd: Box<str>,
    project_dir: Option<Box<str>>,
    tasks_dir: Option<Box<str>>,
    wanted_agent: Option<Box<str>>,
    wanted_persist: Option<Box<str>>,
    client_pid: Option<u32>,
    attended: Option<bool>,
    block_cap: u32,
    since: Timestamp,
    again: bool,
    n_background_tasks: usize,
}

impl Slim {
    /// What must be kept; `None` for an event that never waits.
    pub(super) fn of(decoded: Decoded) -> Option<Self> {
        let (event, route) = decoded.split();
        let Detail::Stop { again, n_background_tasks, .. } = event.detail else { return None };
        let boxed = |text: Option<String>| text.map(String::into_boxed_str);
        // Only a turn that is held looks at the client's tasks again.
        let tasks_dir = event.tasks_dir.filter(|_| event.kind == EventKind::Stop);
        Some(Self {
            route,
            client: event.client,
            kind: event.kind,
            session: event.session,
            cwd: event.cwd.into_boxed_str(),
            project_dir: boxed(event.project_dir),
            tasks_dir: boxed(tasks_dir),
            wanted_agent: boxed(event.wanted_agent),
            wanted_persist: boxed(event.wanted_persist),
            client_pid: event.client_pid,
            attended: event.attended,
            block_cap: event.block_cap,
            since: event.waiting_since.unwrap_or(event.at),
            again,
            n_background_tasks,
        })
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_ref().map(SafeId::as_str)
    }

    pub(super) const fn kind(&self) -> EventKind {
        self.kind
    }

    pub(super) const fn client_pid(&self) -> Option<u32> {
        self.client_pid
    }

    /// The event once more, as it is now.
    pub(super) fn again(self) -> Decoded {
        let text = |text: Option<Box<str>>| text.map(str::into_string);
        let detail = Detail::Stop {
            again: self.again,
            last_message: None,
            n_background_tasks: self.n_background_tasks,
            transcript: None,
        };
        let event = Event {
            session: self.session,
            cwd: self.cwd.into_string(),
            project_dir: text(self.project_dir),
            tasks_dir: text(self.tasks_dir),
            wanted_agent: text(self.wanted_agent),
            wanted_persist: text(self.wanted_persist),
            client_pid: self.client_pid,
            attended: self.attended,
            block_cap: self.block_cap,
            waiting_since: Some(self.since),
            detail,
            ..Event::bare(self.client, self.kind, clock::now())
        };
        Decoded::join(event, self.route, clock::micros())
    }
}
