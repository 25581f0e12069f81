//! When to dial again. Two hundred machines that lose one hub at once must not come back at once.

use super::Ms;

/// The first wait is a random part of this.
const FIRST: Ms = 2_000;

/// No wait is longer.
const LONGEST: Ms = 60_000;

/// A connection that lasted this long was good, so the next wait is short again.
pub(super) const GOOD: Ms = 10_000;

/// Random numbers that a seed decides (SplitMix64).
#[derive(Clone, Debug)]
pub struct Jitter(pub u64);

impl Jitter {
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[derive(Debug)]
pub(super) struct Backoff {
    jitter: Jitter,
    n_failed: u32,
}

impl Backoff {
    pub(super) const fn new(seed: u64) -> Self {
        Self { jitter: Jitter(seed), n_failed: 0 }
    }

    pub(super) const fn succeeded(&mut self) {
        self.n_failed = 0;
    }

    /// How long to wait now. Half of the doubled wait is random, and all of the first one.
    pub(super) fn wait(&mut self) -> Ms {
        let longest = LONGEST.min(FIRST << self.n_failed.min(16));
        let fixed = if self.n_failed == 0 { 0 } else { longest / 2 };
        self.n_failed += 1;
        fixed + self.jitter.below(longest - fixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_start_again() {
        let mut backoff = Backoff::new(1);
        let waits: Vec<Ms> = (0..10).map(|_| backoff.wait()).collect();
        assert!(waits[0] < FIRST, "{waits:?}");
        assert!(waits[9] >= LONGEST / 2 && waits[9] < LONGEST, "{waits:?}");
        backoff.succeeded();
        assert!(backoff.wait() < FIRST);
    }

    #[test]
    fn two_hundred_machines_come_back_spread_out() {
        let mut waits: Vec<Ms> = (0..200).map(|seed| Backoff::new(seed).wait()).collect();
        waits.sort_unstable();
        let busiest = waits.windows(20).map(|few| few[19] - few[0]).min().unwrap();
        assert!(busiest > 60, "20 machines within {busiest} ms");
    }
}
