//! The parked callers. A parked connection keeps only its socket and what it waits for: no task, no buffer.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use substrate_core::{EventKind, Timestamp, World as _};

use super::conn::Call;
use super::parked::ParkedEvent;
use crate::machine::Machine;

/// How many wakes are remembered: far more than can happen between a commit and the parking of one of its callers.
const MAX_RECENT: usize = 1_024;

/// All parked callers.
#[derive(Default)]
pub(super) struct Waiters {
    parked: HashMap<u64, Parked>,
    by_key: HashMap<Box<str>, Vec<u64>>,
    by_time: BTreeSet<(Timestamp, u64)>,
    n_ever: u64,
    n_wakes: u64,
    /// The latest wakes, by number.
    recent: VecDeque<(u64, Box<str>)>,
    machine: Machine,
}

/// A parked caller.
pub(super) struct Parked {
    pub(super) stream: UnixStream,
    pub(super) what: Waiting,
    pub(super) key: Box<str>,
    /// Its name among the waiters for that key.
    pub(super) by: Box<str>,
    pub(super) until: Timestamp,
}

/// The request that will be asked again.
pub(super) enum Waiting {
    /// A hook, with the client's pid, to notice when the client is gone.
    Hook {
        event: Box<ParkedEvent>,
        client: Option<(u32, i64)>,
    },
    Verb(Box<Call>),
}

impl Waiting {
    fn session(&self) -> Option<&str> {
        match self {
            Self::Hook { event, .. } => event.session(),
            Self::Verb(_) => None,
        }
    }

    /// A hook's name within its class. Each client process has its own waiter, and the waiter of its start stays beside
    /// those of its turns. A turn that a person interrupts starts none, so the start's waiter may be the last one.
    pub(super) fn by(&self) -> Box<str> {
        let Self::Hook { event, .. } = self else { return "".into() };
        let beside = event.beside().map_or("", EventKind::name);
        format!("{beside} {}", event.client_pid().unwrap_or(0)).into()
    }

    /// The waiter of a start serves when there is no other.
    fn is_reserve(&self) -> bool {
        matches!(self, Self::Hook { event, .. } if event.beside() == Some(EventKind::SessionStart))
    }

    /// A held turn, the waiter beside a session and a command don't replace each other.
    fn class(&self) -> Option<EventKind> {
        match self {
            Self::Hook { event, .. } => Some(event.kind()),
            Self::Verb(_) => None,
        }
    }
}

impl Waiters {
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.parked.len()
    }

    /// The number of the waiter that was added last.
    pub(super) fn latest(&self) -> u64 {
        self.n_ever
    }

    /// Removes and returns a waiter that has hung up, if it still waits.
    pub(super) fn hung_up_at(&mut self, id: u64) -> Option<Parked> {
        let has_ended = has_hung_up(&self.parked.get(&id)?.stream);
        if has_ended { self.take(id) } else { None }
    }

    /// Adds a waiter. A key has one waiter per class and name: returns the one it replaces, to be released.
    pub(super) fn park(&mut self, parked: Parked) -> Option<Parked> {
        let class = parked.what.class();
        let is_same = |other: &Parked| other.what.class() == class && other.by == parked.by;
        let mut older = self.by_key.get(&parked.key).into_iter().flatten().copied();
        let older = older.find(|id| self.parked.get(id).is_some_and(is_same));
        let replaced = older.and_then(|id| self.take(id));
        self.n_ever += 1;
        let id = self.n_ever;
        match (parked.what.class(), parked.what.session()) {
            // The turn goes on after a dialog: mail can't come in by it.
            (Some(EventKind::PermissionRequest), _) => self.machine.dialog(&parked.key, true),
            (class, Some(session)) => self.machine.waits(session, class == Some(EventKind::Stop)),
            (_, None) => {}
        }
        self.by_key.entry(parked.key.clone()).or_default().push(id);
        self.by_time.insert((parked.until, id));
        self.parked.insert(id, parked);
        replaced
    }

    /// How many wakes there were. A caller that may have to wait remembers this.
    pub(super) fn n_wakes(&self) -> u64 {
        self.n_wakes
    }

    /// Whether that key was woken since then. If so, a caller that decided to wait before has missed it.
    pub(super) fn was_woken_since(&self, key: &str, n_wakes: u64) -> bool {
        let n_since = self.n_wakes - n_wakes;
        let is_forgotten = usize::try_from(n_since).is_ok_and(|n| n > self.recent.len());
        let since = self.recent.iter().rev().take_while(|(at, _)| *at > n_wakes);
        is_forgotten || since.into_iter().any(|(_, other)| **other == *key)
    }

    /// Removes and returns the waiters for that key.
    pub(super) fn woken(&mut self, key: &str) -> Vec<Parked> {
        self.n_wakes += 1;
        self.recent.push_back((self.n_wakes, key.into()));
        if self.recent.len() > MAX_RECENT {
            self.recent.pop_front();
        }
        let mut ids = self.by_key.get(key).cloned().unwrap_or_default();
        self.reserves_last(&mut ids);
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// The waiters beside sessions for that key. They can be answered within another caller's transaction.
    pub(super) fn beside(&mut self, key: &str) -> Vec<Parked> {
        let is_waiter = |id: &u64| {
            self.parked.get(id).is_some_and(|one| one.what.class() == Some(EventKind::Waiter))
        };
        let mut ids: Vec<u64> =
            self.by_key.get(key).into_iter().flatten().copied().filter(is_waiter).collect();
        self.reserves_last(&mut ids);
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// First come, first served.
    fn reserves_last(&self, ids: &mut [u64]) {
        ids.sort_by_key(|id| self.parked.get(id).is_some_and(|one| one.what.is_reserve()));
    }

    /// All waiters, because anything may have happened.
    pub(super) fn all(&mut self) -> Vec<Parked> {
        let ids: Vec<u64> = self.parked.keys().copied().collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// The waiters whose deadline has passed.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<Parked> {
        let ids: Vec<u64> =
            self.by_time.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// The next deadline.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Drops callers that hung up, and returns those whose client is gone, to be released.
    pub(super) fn sweep(&mut self) -> Vec<Parked> {
        let ids: Vec<u64> = self.parked.keys().copied().collect();
        let hung_up: Vec<u64> = ids.chunks(1_024).flat_map(|chunk| self.hung_up(chunk)).collect();
        for id in hung_up {
            drop(self.take(id));
        }
        let is_lost = |(id, parked): (&u64, &Parked)| match parked.what {
            Waiting::Hook { client: Some((pid, began)), .. } => {
                (self.machine.process_began(pid) != Some(began)).then_some(*id)
            }
            Waiting::Hook { client: None, .. } | Waiting::Verb(_) => None,
        };
        let lost: Vec<u64> = self.parked.iter().filter_map(is_lost).collect();
        lost.into_iter().filter_map(|id| self.take(id)).collect()
    }

    fn hung_up(&self, ids: &[u64]) -> Vec<u64> {
        let parked: Vec<(&u64, &Parked)> =
            ids.iter().filter_map(|id| Some((id, self.parked.get(id)?))).collect();
        let streams: Vec<&UnixStream> = parked.iter().map(|(_, parked)| &parked.stream).collect();
        let ended = have_hung_up(&streams).into_iter().zip(parked).filter(|(ended, _)| *ended);
        ended.map(|(_, (id, _))| *id).collect()
    }

    fn take(&mut self, id: u64) -> Option<Parked> {
        let parked = self.parked.remove(&id)?;
        self.by_time.remove(&(parked.until, id));
        if let Some(ids) = self.by_key.get_mut(&parked.key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_key.remove(&parked.key);
            }
        }
        match (parked.what.class(), parked.what.session()) {
            (Some(EventKind::PermissionRequest), _) => self.machine.dialog(&parked.key, false),
            (class, Some(session)) => self.machine.left(session, class == Some(EventKind::Stop)),
            (_, None) => {}
        }
        Some(parked)
    }
}

/// Whether the other end is closed. A parked caller has nothing to send, so readable means closed.
pub(super) fn has_hung_up(stream: &UnixStream) -> bool {
    have_hung_up(&[stream]) == [true]
}

/// The same for many at once.
pub(super) fn have_hung_up(streams: &[impl AsFd]) -> Vec<bool> {
    let mut fds: Vec<PollFd<'_>> =
        streams.iter().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
    if fds.is_empty() || poll(&mut fds, Some(&NOW)).is_err() {
        return vec![false; streams.len()];
    }
    fds.iter().map(|fd| !fd.revents().is_empty()).collect()
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use substrate_core::Caller;

    fn parked(key: &str, until: i64) -> (Parked, UnixStream) {
        parked_by(key, "", until)
    }

    fn parked_by(key: &str, by: &str, until: i64) -> (Parked, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (path, caller) = (Vec::new(), Caller::default());
        let call = Call { path, body: Value::Null, caller, repeated: false };
        let what = Waiting::Verb(Box::new(call));
        let (key, by, until) = (key.into(), by.into(), Timestamp(until));
        (Parked { stream: ours, what, key, by, until }, theirs)
    }

    #[test]
    fn a_key_wakes_only_its_own_waiters() {
        let mut waiters = Waiters::default();
        let (first, _keep) = parked("a", 10);
        let (second, _keep_too) = parked("b", 20);
        assert!(waiters.park(first).is_none() && waiters.park(second).is_none());
        assert_eq!(waiters.woken("a").len(), 1);
        assert_eq!((waiters.woken("a").len(), waiters.len()), (0, 1));
        assert_eq!(waiters.next_due(), Some(Timestamp(20)));
    }

    #[test]
    fn a_wake_between_the_look_and_the_parking_is_not_missed() {
        let mut waiters = Waiters::default();
        let looked = waiters.n_wakes();
        assert!(!waiters.was_woken_since("a", looked));
        assert!(waiters.woken("a").is_empty(), "no waiter is there yet");
        assert!(waiters.was_woken_since("a", looked) && !waiters.was_woken_since("b", looked));
        assert!(!waiters.was_woken_since("a", waiters.n_wakes()));
        for _ in 0..=MAX_RECENT {
            waiters.woken("c");
        }
        assert!(waiters.was_woken_since("b", looked), "too long ago to know: look again");
    }

    #[test]
    fn a_newer_one_replaces_the_older() {
        let mut waiters = Waiters::default();
        let (first, _keep) = parked("a", 10);
        let (second, _keep_too) = parked("a", 20);
        assert!(waiters.park(first).is_none());
        assert_eq!(waiters.park(second).unwrap().until, Timestamp(10));
        assert_eq!((waiters.len(), waiters.due(Timestamp(15)).len()), (1, 0));
        assert_eq!(waiters.due(Timestamp(20)).len(), 1);
    }

    #[test]
    fn others_wait_for_the_same_key_beside_each_other() {
        let mut waiters = Waiters::default();
        let (lion, _keep) = parked_by("lock a", "lion", 10);
        let (otter, _keep_too) = parked_by("lock a", "otter", 20);
        let (again, _keep_three) = parked_by("lock a", "lion", 30);
        assert!(waiters.park(lion).is_none() && waiters.park(otter).is_none());
        assert_eq!(waiters.park(again).unwrap().until, Timestamp(10), "its own older one");
        assert_eq!(waiters.woken("lock a").len(), 2);
    }

    #[test]
    fn who_hangs_up_is_let_go() {
        let mut waiters = Waiters::default();
        let (first, theirs) = parked("a", 10);
        let (second, _keep) = parked("b", 10);
        assert!(waiters.park(first).is_none() && waiters.park(second).is_none());
        assert_eq!((waiters.sweep().len(), waiters.len()), (0, 2));
        drop(theirs);
        assert_eq!((waiters.sweep().len(), waiters.len()), (0, 1));
        assert_eq!(waiters.woken("a").len(), 0);
    }
}
