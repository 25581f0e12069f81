//! What to do when the client has ended: a table over how it ended, what the engine wants, and what happened before.

use std::collections::VecDeque;
use std::time::Duration;

/// How many fresh starts the engine gets within this time.
pub(super) const MAX_RESTARTS: usize = 3;
pub(super) const RESTARTS_WITHIN: Duration = Duration::from_secs(120);

/// A client may fail one time less than this within this time.
pub(super) const MAX_FAILURES: usize = 5;
pub(super) const FAILURES_WITHIN: Duration = Duration::from_secs(600);

/// A client that ran this long started well, so its failure counts as the first.
const LASTED: Duration = Duration::from_secs(300);

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Code(i32),
    Signal(i32),
}

impl End {
    /// The exit code that a shell would report.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(1),
            Self::Signal(signal) => u8::try_from(128 + (signal & 0x7f)).unwrap_or(255),
        }
    }

    /// A person ended it, or the terminal is gone: SIGHUP, SIGINT, SIGQUIT, or the codes that stand for them.
    fn is_meant(self) -> bool {
        matches!(self, Self::Code(0 | 129 | 130 | 131) | Self::Signal(1..=3))
    }
}

/// A client that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) lasted: Duration,
    /// The engine wants a fresh one.
    pub(super) is_wanted: bool,
    /// The supervisor was told to end, and passed that on.
    pub(super) is_leaving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// End with the same status.
    Leave,
    /// Start with a fresh context, now.
    Fresh,
    /// Start the same again, after a pause.
    Again {
        pause: Duration,
        n_failures: usize,
    },
    GiveUp(GiveUp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GiveUp {
    TooManyRestarts,
    TooManyFailures,
}

/// The history.
#[derive(Debug)]
pub(super) struct Policy {
    persists: bool,
    restarts: VecDeque<Duration>,
    failures: VecDeque<Duration>,
    /// Failures since the last long run.
    n_in_row: u32,
}

impl Policy {
    pub(super) fn new(persists: bool) -> Self {
        Self { persists, restarts: VecDeque::new(), failures: VecDeque::new(), n_in_row: 0 }
    }

    /// `now` is from any monotonic clock.
    pub(super) fn next(&mut self, now: Duration, ended: Ended) -> Next {
        if ended.is_leaving {
            return Next::Leave;
        }
        if ended.is_wanted {
            forget(&mut self.restarts, now, RESTARTS_WITHIN);
            if self.restarts.len() >= MAX_RESTARTS {
                return Next::GiveUp(GiveUp::TooManyRestarts);
            }
            self.restarts.push_back(now);
            return Next::Fresh;
        }
        if ended.end.is_meant() || !self.persists {
            return Next::Leave;
        }
        if ended.lasted > LASTED {
            self.failures.clear();
            self.n_in_row = 0;
        }
        forget(&mut self.failures, now, FAILURES_WITHIN);
        self.failures.push_back(now);
        if self.failures.len() >= MAX_FAILURES {
            return Next::GiveUp(GiveUp::TooManyFailures);
        }
        let pause = Duration::from_secs(1 << self.n_in_row.min(6)).min(LONGEST_PAUSE);
        self.n_in_row += 1;
        Next::Again { pause, n_failures: self.failures.len() }
    }
}

/// Drops what is too long ago.
fn forget(times: &mut VecDeque<Duration>, now: Duration, within: Duration) {
    while times.front().is_some_and(|then| now.saturating_sub(*then) >= within) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SHORT: Duration = Duration::from_secs(1);

    fn ended(end: End) -> Ended {
        Ended { end, lasted: SHORT, is_wanted: false, is_leaving: false }
    }

    fn again(pause: u64, n_failures: usize) -> Next {
        Next::Again { pause: Duration::from_secs(pause), n_failures }
    }

    #[rstest]
    #[case::well(End::Code(0), Next::Leave, Next::Leave)]
    #[case::failed(End::Code(1), Next::Leave, again(1, 1))]
    #[case::killed(End::Signal(9), Next::Leave, again(1, 1))]
    #[case::terminated_from_outside(End::Signal(15), Next::Leave, again(1, 1))]
    #[case::interrupted(End::Signal(2), Next::Leave, Next::Leave)]
    #[case::interrupted_in_good_order(End::Code(130), Next::Leave, Next::Leave)]
    #[case::terminal_lost(End::Signal(1), Next::Leave, Next::Leave)]
    fn an_end_without_and_with_persistence(
        #[case] end: End,
        #[case] without: Next,
        #[case] with: Next,
    ) {
        let next = |persists| Policy::new(persists).next(SHORT, ended(end));
        assert_eq!((next(false), next(true)), (without, with));
    }

    #[rstest]
    #[case::prompt_too_long(End::Code(1))]
    #[case::in_good_order(End::Code(143))]
    #[case::by_our_signal(End::Signal(15))]
    #[case::it_ended_first(End::Code(0))]
    fn what_the_engine_wants_comes_before_how_it_ended(#[case] end: End) {
        let wanted = Ended { is_wanted: true, ..ended(end) };
        assert_eq!(Policy::new(false).next(SHORT, wanted), Next::Fresh);
        let leaving = Ended { is_leaving: true, ..wanted };
        assert_eq!(Policy::new(true).next(SHORT, leaving), Next::Leave, "the person's word first");
    }

    #[test]
    fn the_fourth_restart_within_two_minutes_does_not_happen() {
        let mut policy = Policy::new(true);
        let mut next = |second| {
            let wanted = Ended { is_wanted: true, ..ended(End::Code(1)) };
            policy.next(Duration::from_secs(second), wanted)
        };
        assert_eq!([next(0), next(50), next(100)], [Next::Fresh; 3]);
        assert_eq!(next(119), Next::GiveUp(GiveUp::TooManyRestarts));
        assert_eq!(next(120), Next::Fresh, "the first is two minutes ago");
    }

    #[test]
    fn pauses_double_and_the_fifth_failure_is_the_last() {
        let mut policy = Policy::new(true);
        let mut next = |second| policy.next(Duration::from_secs(second), ended(End::Code(7)));
        assert_eq!([next(0), next(2)], [again(1, 1), again(2, 2)]);
        assert_eq!([next(5), next(10)], [again(4, 3), again(8, 4)]);
        assert_eq!(next(19), Next::GiveUp(GiveUp::TooManyFailures));
    }

    #[test]
    fn slow_failures_go_on_with_longer_pauses_until_a_long_run() {
        let mut policy = Policy::new(true);
        for (n, pause) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            let now = Duration::from_secs(200 * n as u64);
            let n_failures = (n + 1).min(3);
            assert_eq!(policy.next(now, ended(End::Code(1))), again(pause, n_failures));
        }
        let long = Ended { lasted: LASTED + SHORT, ..ended(End::Code(1)) };
        assert_eq!(policy.next(Duration::from_secs(1_500), long), again(1, 1));
    }

    #[rstest]
    #[case(End::Code(0), 0)]
    #[case(End::Code(3), 3)]
    #[case(End::Code(-1), 255)]
    #[case(End::Signal(9), 137)]
    #[case(End::Signal(15), 143)]
    fn the_exit_code_is_what_a_shell_would_say(#[case] end: End, #[case] code: u8) {
        assert_eq!(end.exit_code(), code);
    }
}
