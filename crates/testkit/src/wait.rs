//! Waiting for a condition with a deadline. Tests never sleep for a guessed time.
use std::time::{Duration, Instant};

/// Polls every 5 ms until `holds`; panics with `what` after `deadline`.
pub fn wait_until(deadline: Duration, what: &str, holds: impl FnMut() -> bool) {
    assert!(poll(deadline, Duration::from_millis(5), holds), "waited {deadline:?} in vain: {what}");
}

/// The time limit on this machine for something that takes `quiet` on a quiet one: a hundred starts of `/bin/true`
/// longer. Call it after what it is compared with.
pub fn at_most(quiet: Duration) -> Duration {
    let spawn = || {
        let begun = Instant::now();
        let ended = crate::process::command("/bin/true").status();
        assert!(ended.is_ok_and(|status| status.success()), "`/bin/true` runs");
        begun.elapsed()
    };
    let slowest = (0..5).map(|_| spawn()).max().unwrap_or_default();
    quiet + slowest * 100
}

/// Polls until `holds` (true) or the deadline has passed (false). `every` is longer if one look costs a process.
pub(crate) fn poll(deadline: Duration, every: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(every);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_as_soon_as_the_condition_holds() {
        let mut looks = 0;
        wait_until(Duration::from_secs(5), "three looks", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[test]
    #[should_panic(expected = "in vain: the moon to fall")]
    fn it_says_what_it_waited_for() {
        wait_until(Duration::from_millis(10), "the moon to fall", || false);
    }
}
