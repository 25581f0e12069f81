//! The same event from two scopes: the user's own registration and the project's both fire, and only one may act.

use std::collections::{HashMap, VecDeque};

/// Two scopes' hooks of one event start within a moment of each other.
const WINDOW_US: u64 = 10_000_000;

/// More are not remembered; a flood is no reason to grow.
const MAX: usize = 4_096;

/// What was seen lately, by digest: from which scope, and when.
#[derive(Debug, Default)]
pub(super) struct Twins {
    seen: HashMap<u64, (u8, u64)>,
    /// The digests in the order in which they came; those that were found are still in it.
    order: VecDeque<u64>,
}

impl Twins {
    /// What an earlier daemon saw last, oldest first.
    pub(super) fn of(scopes: &[(u64, u8)], now_us: u64) -> Self {
        let mut twins = Self::default();
        for (digest, origin) in scopes {
            twins.is_twin(*digest, *origin, now_us);
        }
        twins
    }

    /// Whether the other scope has brought this very event already; nothing is noted.
    pub(super) fn was_brought(&self, digest: u64, origin: u8, now_us: u64) -> bool {
        self.seen
            .get(&digest)
            .is_some_and(|(other, at)| *other != origin && now_us.saturating_sub(*at) < WINDOW_US)
    }

    /// Whether the other scope has brought this very event already. The same scope bringing it again is a new event.
    pub(super) fn is_twin(&mut self, digest: u64, origin: u8, now_us: u64) -> bool {
        if self.was_brought(digest, origin, now_us) {
            self.seen.remove(&digest);
            return true;
        }
        // The oldest goes: with so many in between it is hardly the one that is waited for.
        if self.order.len() >= MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.order.push_back(digest);
        self.seen.insert(digest, (origin, now_us));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_scope_is_a_twin_and_the_same_scope_is_not() {
        let mut twins = Twins::default();
        assert!(!twins.is_twin(1, 0, 0));
        assert!(twins.was_brought(1, 1, 40_000) && !twins.was_brought(1, 0, 40_000));
        assert!(twins.is_twin(1, 1, 50_000));
        assert!(!twins.is_twin(1, 1, 60_000), "a pair is a pair");
        assert!(twins.is_twin(1, 0, 70_000), "in either order");
        assert!(!twins.is_twin(2, 0, 0));
        assert!(!twins.is_twin(2, 0, 1), "the same words twice are two events");
        assert!(!twins.is_twin(2, 1, WINDOW_US + 2), "long ago");
    }

    #[test]
    fn it_does_not_grow() {
        let mut twins = Twins::default();
        for n in 0..10_000 {
            twins.is_twin(n, 0, 0);
        }
        assert!(twins.seen.len() <= MAX && twins.order.len() <= MAX);
        assert!(!twins.is_twin(u64::MAX, 0, 2 * WINDOW_US));
        assert!(twins.is_twin(u64::MAX, 1, 2 * WINDOW_US));
    }
}
