//! What this machine has sent and the far machines do not have yet.
//!
//! The host keeps the messages on disk. Here are their ids, and the bodies of those that are not at the hub. A message
//! leaves only when the far machine has it, or when there is no such machine.

use std::collections::{BTreeMap, HashMap};

use super::Ms;
use crate::wire::{Envelope, Fate, MailId, State, ToHub};

/// A frame has at most this many messages and, unless one alone has more, this many bytes.
const PUT_MESSAGES: usize = 64;
pub const PUT_BYTES: usize = 256 << 10;

/// How many may be on their way to the hub.
const WINDOW: usize = 4 * PUT_MESSAGES;

/// What the hub has not confirmed is sent again after this.
const AGAIN: Ms = 10_000;

/// How often the hub is asked about what the far machines do not have yet.
const LOOK: Ms = 30_000;

/// How many ids one question has.
const HAVE_IDS: usize = 500;

#[derive(Debug)]
enum Stage {
    Waiting(Envelope),
    Flying(Envelope, Ms),
    AtHub,
    /// The hub forgot it, and the host was asked for it.
    Wanted,
}

#[derive(Debug)]
struct Entry {
    id: MailId,
    stage: Stage,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: BTreeMap<u64, Entry>,
    places: HashMap<MailId, u64>,
    next: u64,
    n_flying: usize,
    n_waiting: usize,
    n_at_hub: usize,
    /// When the hub was last asked. `None`: it must be asked now.
    looked: Option<Ms>,
}

/// What a fate means to the host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    Tell,
    Again,
}

impl Outbox {
    /// Adds a message, or gives one again that the hub forgot.
    pub(super) fn submit(&mut self, envelope: Envelope) {
        let id = envelope.id.clone();
        if let Some(place) = self.places.get(&id) {
            let entry = self.entries.get_mut(place).expect("places point at entries");
            if matches!(entry.stage, Stage::Wanted) {
                entry.stage = Stage::Waiting(envelope);
                self.n_waiting += 1;
            }
            return;
        }
        self.places.insert(id.clone(), self.next);
        self.entries.insert(self.next, Entry { id, stage: Stage::Waiting(envelope) });
        self.next += 1;
        self.n_waiting += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A new connection: what was on its way goes out again, and the hub is asked about the rest.
    pub(super) fn up(&mut self) {
        self.take_back(|_| true);
        self.looked = None;
    }

    pub(super) fn fate(&mut self, now: Ms, fate: &Fate) -> News {
        let Some(place) = self.places.get(&fate.id).copied() else { return News::Nothing };
        let entry = self.entries.get_mut(&place).expect("places point at entries");
        let (news, stage) = match (fate.state, &entry.stage) {
            (State::AtMachine | State::NoMachine, _) => (News::Tell, None),
            (State::AtHub, Stage::AtHub) => (News::Nothing, Some(Stage::AtHub)),
            (State::AtHub, _) => (News::Tell, Some(Stage::AtHub)),
            (State::Unseen, Stage::AtHub) => (News::Again, Some(Stage::Wanted)),
            (State::Unseen | State::Unknown, _) => return News::Nothing,
        };
        let old = match stage {
            Some(stage) => {
                if matches!(stage, Stage::AtHub) {
                    self.looked = self.looked.filter(|_| self.n_at_hub > 0).or(Some(now));
                    self.n_at_hub += 1;
                }
                std::mem::replace(&mut entry.stage, stage)
            }
            None => {
                self.places.remove(&fate.id);
                self.entries.remove(&place).expect("it was there").stage
            }
        };
        match old {
            Stage::Waiting(_) => self.n_waiting -= 1,
            Stage::Flying(..) => self.n_flying -= 1,
            Stage::AtHub => self.n_at_hub -= 1,
            Stage::Wanted => {}
        }
        news
    }

    /// What goes out now.
    pub(super) fn due(&mut self, now: Ms) -> Vec<ToHub> {
        let mut out = Vec::new();
        if self.look_at().is_some_and(|at| at <= now) {
            self.looked = Some(now);
            let ids: Vec<MailId> = self
                .entries
                .values()
                .filter(|entry| matches!(entry.stage, Stage::AtHub))
                .map(|entry| entry.id.clone())
                .collect();
            out.extend(ids.chunks(HAVE_IDS).map(|ids| ToHub::Have { ids: ids.to_vec() }));
        }
        if self.again_at().is_some_and(|at| at <= now) {
            self.take_back(|since| since + AGAIN <= now);
        }
        while self.n_waiting > 0 && self.n_flying < WINDOW {
            out.push(ToHub::Put { mail: self.batch(now) });
        }
        out
    }

    /// When to look again, while the connection is up.
    pub(super) fn wake_at(&self) -> Option<Ms> {
        if self.n_waiting > 0 && self.n_flying < WINDOW {
            return Some(0);
        }
        [self.look_at(), self.again_at()].into_iter().flatten().min()
    }

    fn look_at(&self) -> Option<Ms> {
        (self.n_at_hub > 0).then(|| self.looked.map_or(0, |at| at + LOOK))
    }

    fn again_at(&self) -> Option<Ms> {
        if self.n_flying == 0 {
            return None;
        }
        let since = |entry: &Entry| match entry.stage {
            Stage::Flying(_, since) => Some(since),
            _ => None,
        };
        // Messages fly in their order, so the first of them is the oldest, or almost.
        self.entries.values().find_map(since).map(|since| since + AGAIN)
    }

    fn take_back(&mut self, which: impl Fn(Ms) -> bool) {
        for entry in self.entries.values_mut() {
            if let Stage::Flying(envelope, since) = &entry.stage
                && which(*since)
            {
                entry.stage = Stage::Waiting(envelope.clone());
                self.n_flying -= 1;
                self.n_waiting += 1;
            }
        }
    }

    fn batch(&mut self, now: Ms) -> Vec<Envelope> {
        let mut mail = Vec::new();
        let mut n_bytes = 0;
        for entry in self.entries.values_mut() {
            let Stage::Waiting(envelope) = &entry.stage else { continue };
            n_bytes += envelope.body.0.len();
            if !mail.is_empty() && (n_bytes > PUT_BYTES || mail.len() == PUT_MESSAGES) {
                break;
            }
            mail.push(envelope.clone());
            entry.stage = Stage::Flying(envelope.clone(), now);
        }
        self.n_waiting -= mail.len();
        self.n_flying += mail.len();
        mail
    }
}
