//! Questions to the hub that wait for an answer. A question is repeated until it is answered or its time is up; the hub
//! answers a repeated one as it did the first time.

use std::collections::BTreeMap;

use super::Ms;
use crate::wire::{Ask, ToHub};

/// A question without an answer is repeated after this.
const AGAIN: Ms = 2_000;

#[derive(Debug)]
struct Open {
    what: Ask,
    sent: Option<Ms>,
    until: Ms,
}

#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<u64, Open>,
}

impl Asks {
    pub(super) fn add(&mut self, id: u64, what: Ask, until: Ms) {
        self.open.insert(id, Open { what, sent: None, until });
    }

    /// Whether the question was open.
    pub(super) fn answered(&mut self, id: u64) -> bool {
        self.open.remove(&id).is_some()
    }

    /// The connection is gone: every question goes out again on the next one.
    pub(super) fn cut(&mut self) {
        for open in self.open.values_mut() {
            open.sent = None;
        }
    }

    /// The questions whose time is up.
    pub(super) fn expired(&mut self, now: Ms) -> Vec<u64> {
        self.open.extract_if(.., |_, open| open.until <= now).map(|(id, _)| id).collect()
    }

    /// What goes out now.
    pub(super) fn due(&mut self, now: Ms) -> Vec<ToHub> {
        let due = self.open.iter_mut().filter(|(_, open)| open.at() <= now);
        due.map(|(id, open)| {
            open.sent = Some(now);
            ToHub::Ask { id: *id, what: open.what.clone() }
        })
        .collect()
    }

    /// When to look again.
    pub(super) fn wake_at(&self, is_up: bool) -> Option<Ms> {
        self.open
            .values()
            .map(|open| if is_up { open.at().min(open.until) } else { open.until })
            .min()
    }
}

impl Open {
    const fn at(&self) -> Ms {
        match self.sent {
            Some(sent) => sent + AGAIN,
            None => 0,
        }
    }
}
