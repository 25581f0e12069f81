//! The same event from two scopes: the user's own registration and the project's both fire, and only one may act.

use std::collections::VecDeque;

use substrate_core::engine::processed::Scope;
use substrate_core::quick::QuickMap;

/// The hooks of both scopes start within a moment of each other.
const WINDOW_US: u64 = 10_000_000;

/// The most events that are remembered, even in a flood.
const MAX: usize = 4_096;

/// Recent events by digest: which scope, and when.
#[derive(Debug, Default)]
pub(super) struct Twins {
    seen: QuickMap<u64, (u8, u64)>,
    /// The digests in order of arrival, including those whose twin came already.
    order: VecDeque<u64>,
}

impl Twins {
    /// The last events of an earlier daemon, oldest first.
    pub(super) fn of(scopes: &[Scope], now_us: u64) -> Self {
        let mut twins = Self::default();
        for scope in scopes {
            twins.is_twin(*scope, now_us);
        }
        twins
    }

    /// Whether the other scope has already sent this event. Changes nothing.
    pub(super) fn was_brought(&self, Scope { digest, origin }: Scope, now_us: u64) -> bool {
        self.seen
            .get(&digest)
            .is_some_and(|(other, at)| *other != origin && now_us.saturating_sub(*at) < WINDOW_US)
    }

    /// Whether the other scope has already sent this event. The same scope sending it again is a new event.
    pub(super) fn is_twin(&mut self, scope: Scope, now_us: u64) -> bool {
        let Scope { digest, origin } = scope;
        if self.was_brought(scope, now_us) {
            self.seen.remove(&digest);
            return true;
        }
        // Drop the oldest: after this many events its twin is unlikely to come.
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

    const fn of(digest: u64, origin: u8) -> Scope {
        Scope { digest, origin }
    }

    #[test]
    fn the_second_scope_is_a_twin_and_the_same_scope_is_not() {
        let mut twins = Twins::default();
        assert!(!twins.is_twin(of(1, 0), 0));
        assert!(twins.was_brought(of(1, 1), 40_000) && !twins.was_brought(of(1, 0), 40_000));
        assert!(twins.is_twin(of(1, 1), 50_000));
        assert!(!twins.is_twin(of(1, 1), 60_000), "a pair is a pair");
        assert!(twins.is_twin(of(1, 0), 70_000), "in either order");
        assert!(!twins.is_twin(of(2, 0), 0));
        assert!(!twins.is_twin(of(2, 0), 1), "the same words twice are two events");
        assert!(!twins.is_twin(of(2, 1), WINDOW_US + 2), "long ago");
    }

    #[test]
    fn it_does_not_grow() {
        let mut twins = Twins::default();
        for n in 0..10_000 {
            twins.is_twin(of(n, 0), 0);
        }
        assert!(twins.seen.len() <= MAX && twins.order.len() <= MAX);
        assert!(!twins.is_twin(of(u64::MAX, 0), 2 * WINDOW_US));
        assert!(twins.is_twin(of(u64::MAX, 1), 2 * WINDOW_US));
    }
}
