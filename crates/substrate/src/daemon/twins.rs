//! The same event from several scopes: the user's own registration, the project's and a plugin's all fire, and only one
//! may act.

use std::collections::VecDeque;

use substrate_core::engine::processed::Scope;
use substrate_core::quick::QuickMap;

/// The hooks of both scopes start within a moment of each other.
const WINDOW_US: u64 = 10_000_000;

/// The most events that are remembered, even in a flood.
const MAX: usize = 4_096;

/// Recent events by digest: which scopes have sent it, a bit each, and when the first did.
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
        self.seen.get(&digest).is_some_and(|(sent, at)| {
            sent & bit(origin) == 0 && now_us.saturating_sub(*at) < WINDOW_US
        })
    }

    /// Whether the other scope has already sent this event. The same scope sending it again is a new event.
    pub(super) fn is_twin(&mut self, scope: Scope, now_us: u64) -> bool {
        let Scope { digest, origin } = scope;
        if self.was_brought(scope, now_us)
            && let Some((sent, _)) = self.seen.get_mut(&digest)
        {
            *sent |= bit(origin);
            return true;
        }
        // Drop the oldest: after this many events its twin is unlikely to come.
        if self.order.len() >= MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.order.push_back(digest);
        self.seen.insert(digest, (bit(origin), now_us));
        false
    }
}

const fn bit(origin: u8) -> u8 {
    1 << (origin % 8)
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
    fn three_carriers_are_one_event() {
        let mut twins = Twins::default();
        assert!(!twins.is_twin(of(1, 3), 0));
        assert!(twins.is_twin(of(1, 0), 1) && twins.is_twin(of(1, 2), 2));
        assert!(!twins.is_twin(of(1, 0), 3), "the same words once more");
        assert!(twins.is_twin(of(1, 2), 4) && twins.is_twin(of(1, 3), 5));
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
