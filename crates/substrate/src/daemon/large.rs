//! Long payloads take turns: a hundred at once must not need a hundred times the memory.
//!
//! A payload that is not read yet waits in its socket, where it costs the daemon nothing.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this length are read at once.
const SMALL: usize = 256 << 10;

/// How many KB of long bodies are processed at once. An event needs about three times its length until it is recorded.
const BUDGET_KB: usize = 24 << 10;

/// The turns of long payloads.
#[derive(Debug)]
pub(super) struct Large(Arc<Semaphore>);

/// Held until the payload is processed.
#[derive(Debug)]
pub(super) struct Turn(
    #[expect(dead_code, reason = "held, never looked at")] Option<OwnedSemaphorePermit>,
);

impl Default for Large {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET_KB)))
    }
}

impl Large {
    /// Waits until a body of that length may be read, first come, first served.
    pub(super) async fn turn(&self, len: usize) -> Turn {
        if len <= SMALL {
            return Turn(None);
        }
        // One that is longer than the whole budget goes alone.
        let kb = u32::try_from(len.div_ceil(1 << 10).min(BUDGET_KB)).unwrap_or(u32::MAX);
        Turn(Arc::clone(&self.0).acquire_many_owned(kb).await.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ready(turn: impl Future<Output = Turn>) -> Option<Turn> {
        let mut turn = std::pin::pin!(turn);
        match turn.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(turn) => Some(turn),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn long_payloads_take_turns_and_short_ones_never_wait() {
        let large = Large::default();
        let turns: Vec<_> = (0..3).filter_map(|_| is_ready(large.turn(8 << 20))).collect();
        assert_eq!(turns.len(), 3);
        assert!(is_ready(large.turn(8 << 20)).is_none(), "the budget is used up");
        assert!(is_ready(large.turn(100 << 10)).is_some());
        drop(turns);
        assert!(is_ready(large.turn(48 << 20)).is_some(), "longer than the budget, alone");
    }
}
