//! Medians, percentiles, and reproducible random numbers.

use std::time::Duration;

/// Times, sorted.
#[derive(Clone, Debug)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time that this many of a thousand don't exceed.
    pub(crate) fn permille(&self, permille: usize) -> Duration {
        let at = (self.0.len() * permille / 1000).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_default()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.permille(500)
    }

    pub(crate) fn p90(&self) -> Duration {
        self.permille(900)
    }

    pub(crate) fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

/// Milliseconds, as people read them.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Microseconds.
pub(crate) fn us(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

/// A small generator (xorshift64*): the same seed gives the same run.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn any_seed() -> u64 {
        let mut bytes = [0; 8];
        let _random =
            rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        u64::from_le_bytes(bytes) >> 32
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % n.max(1)
    }

    /// A time between the two, in milliseconds.
    pub(crate) fn millis(&mut self, from: usize, to: usize) -> Duration {
        Duration::from_millis((from + self.below(to - from + 1)) as u64)
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next().to_le_bytes()[3]).collect()
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}
