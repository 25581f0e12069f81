//! The process behind the lock: starved, or frozen?
//!
//! On a busy machine the daemon may not run for seconds. Callers then wait in its queue. A daemon that is stopped, or
//! that could run and does nothing, is replaced. What it had not committed did not happen.

use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process, by pid and start time. A pid is recycled, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// In clock ticks since boot.
    pub(crate) began: u64,
}

/// What the system says about a process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// `R`, `S`, `D`, `T`, …
    pub(super) state: char,
    /// CPU time of its main thread, in ticks.
    pub(super) ticks: u64,
    /// Context switches of its main thread, voluntary or not.
    pub(super) n_switches: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It works, or waits for a CPU or a disk: wait for it.
    Alive,
    /// It will not answer.
    Frozen,
}

/// How long a process may sleep, and how long it may compute, while a request waits for it. We can't see
/// which request the daemon works on, but it takes all pending ones together, so these limits hold for ours.
const ASLEEP: Duration = Duration::from_millis(1_500);
const COMPUTING_TICKS: u64 = 600;

/// Judges a process by two snapshots, `apart` from each other, without any answer in between.
pub(super) fn judge(first: Snapshot, last: Snapshot, apart: Duration) -> Judgement {
    let is_stopped = |look: Snapshot| look.state == 'T';
    if is_stopped(first) && is_stopped(last) {
        return Judgement::Frozen;
    }
    // A process that a debugger holds (`t`) may only be between two steps. One that is ready to run (`R`) but did not
    // run at all was starved by the machine.
    let is_idle = |look: Snapshot| matches!(look.state, 'S' | 't');
    let slept = is_idle(first) && is_idle(last) && first == last && apart >= ASLEEP;
    let computed = last.ticks.saturating_sub(first.ticks) >= COMPUTING_TICKS;
    if slept || computed { Judgement::Frozen } else { Judgement::Alive }
}

/// Watches one process while a caller waits for it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    first: Option<(Process, Snapshot, std::time::Instant)>,
}

impl Watch {
    /// Takes another snapshot.
    pub(super) fn look(&mut self, process: Process) -> Judgement {
        let Some(now) = process.look() else { return Judgement::Alive };
        match self.first {
            Some((known, first, at)) if known == process => {
                let judgement = judge(first, now, at.elapsed());
                // If the process fell asleep or woke up since, the clock starts again.
                if first.state != now.state || (now.state == 'S' && first != now) {
                    self.first = Some((process, now, std::time::Instant::now()));
                }
                judgement
            }
            _ => {
                self.first = Some((process, now, std::time::Instant::now()));
                Judgement::Alive
            }
        }
    }
}

impl Process {
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, began: stat(pid)?.1 })
    }

    /// A zombie counts as gone.
    pub(crate) fn is_there(self) -> bool {
        stat(self.pid).is_some_and(|(look, began)| began == self.began && look.state != 'Z')
    }

    pub(crate) fn is_stopped(self) -> bool {
        self.look().is_some_and(|look| matches!(look.state, 'T' | 't'))
    }

    fn look(self) -> Option<Snapshot> {
        let (look, began) = stat(self.pid)?;
        (began == self.began).then_some(look)
    }

    /// Kills the process, and waits until its lock is free.
    pub(crate) fn end(self) {
        self.signal(Signal::KILL);
        let begun = std::time::Instant::now();
        while self.is_there() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a signal to exactly this process, never to one that got its pid later.
    pub(crate) fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
        if self.is_there() {
            let _already_gone = pidfd_send_signal(&handle, signal);
        }
    }
}

/// What `/proc` says. The second field of `stat` is a name in brackets, which may contain anything.
fn stat(pid: u32) -> Option<(Snapshot, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/status")).ok()?;
    let switches = status.lines().filter(|line| line.contains("ctxt_switches:"));
    let n_switches =
        switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let look = Snapshot {
        state: fields.first()?.chars().next()?,
        ticks: number(11)? + number(12)?,
        n_switches: n_switches.sum(),
    };
    Some((look, number(19)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn look(state: char, ticks: u64, n_switches: u64) -> Snapshot {
        Snapshot { state, ticks, n_switches }
    }

    #[rstest]
    #[case::stopped(look('T', 5, 9), look('T', 5, 9), 10, Judgement::Frozen)]
    #[case::in_a_debugger(look('t', 5, 9), look('t', 5, 9), 2_000, Judgement::Frozen)]
    #[case::traced(look('t', 5, 9), look('t', 5, 9), 100, Judgement::Alive)]
    #[case::just_stopped(look('R', 5, 9), look('T', 5, 9), 900, Judgement::Alive)]
    #[case::starved_for_seconds(look('R', 5, 9), look('R', 5, 9), 9_000, Judgement::Alive)]
    #[case::starved_but_now_and_then(look('R', 5, 9), look('R', 30, 12), 9_000, Judgement::Alive)]
    #[case::waits_for_the_disk(look('D', 5, 9), look('D', 5, 9), 9_000, Judgement::Alive)]
    #[case::asleep_for_a_moment(look('S', 5, 9), look('S', 5, 9), 900, Judgement::Alive)]
    #[case::asleep_beside_a_request(look('S', 5, 9), look('S', 5, 9), 2_000, Judgement::Frozen)]
    #[case::asleep_again_and_again(look('S', 5, 9), look('S', 5, 13), 2_000, Judgement::Alive)]
    #[case::computes_and_says_nothing(
        look('R', 5, 9),
        look('R', 700, 90),
        7_000,
        Judgement::Frozen
    )]
    fn a_daemon_that(
        #[case] first: Snapshot,
        #[case] last: Snapshot,
        #[case] ms: u64,
        #[case] expected: Judgement,
    ) {
        assert_eq!(judge(first, last, Duration::from_millis(ms)), expected);
    }

    #[test]
    fn this_process_is_there_and_another_beginning_is_not() {
        let this = Process::of(std::process::id()).unwrap();
        assert!(this.is_there() && !this.is_stopped());
        assert!(!Process { began: this.began + 1, ..this }.is_there());
    }
}
