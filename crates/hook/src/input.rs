//! Stdin, drained to its end, but never waited for without a limit: some callers leave the pipe open.

use std::time::{Duration, Instant};

use ipc::conn::wait;
use rustix::event::PollFlags;
use rustix::io::{Errno, read};
use rustix::stdio::stdin;

use crate::draft::Draft;

/// The longest input that is passed on. The rest of a longer one is read and dropped.
const MAX_PASSED: usize = 32 << 20;

/// A caller that is silent this long after a whole line has said everything.
const QUIET: Duration = Duration::from_millis(100);

/// A usual input arrives in one read, and the next one finds the end. After this many reads a clock is affordable.
const USUAL_READS: u32 = 4;

/// How an input ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drained {
    pub(crate) truncated: bool,
    /// How long we waited in vain.
    pub(crate) waited: Duration,
}

/// Reads until the end, until the caller falls silent after a full line, or until `patience` is over.
pub(crate) fn drain(draft: &mut Draft<'_>, patience: Duration) -> Drained {
    let mut drained = Drained::default();
    let (mut n_reads, mut begun) = (0, None);
    // A caller that never falls silent has a limit, too.
    while begun.is_none_or(|begun: Instant| begun.elapsed() < patience) {
        let got = match at_once(draft.room()) {
            Some(got) => got,
            None => {
                let has_line = draft.payload().ends_with(b"\n");
                if !ready(&mut drained.waited, patience, has_line) {
                    break;
                }
                read(stdin(), draft.room())
            }
        };
        match got {
            Ok(0) => break,
            Ok(_) if draft.payload().len() >= MAX_PASSED => drained.truncated = true,
            Ok(n) => draft.read(n),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => break,
        }
        n_reads += 1;
        if n_reads == USUAL_READS {
            begun = Some(Instant::now());
        }
    }
    drained
}

/// Reads what is there already. `None`: there is nothing yet, or this kind of file can't be asked so.
#[cfg(target_os = "linux")]
fn at_once(room: &mut [u8]) -> Option<Result<usize, Errno>> {
    use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};
    let here = u64::MAX;
    match preadv2(stdin(), &mut [IoSliceMut::new(room)], here, ReadWriteFlags::NOWAIT) {
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => None,
        got => Some(got),
    }
}

#[cfg(not(target_os = "linux"))]
fn at_once(_room: &mut [u8]) -> Option<Result<usize, Errno>> {
    None
}

/// Waits for something to read. `false`: stop waiting. Only whole waits in vain are counted, so the fast path needs no
/// clock.
#[cold]
fn ready(waited: &mut Duration, patience: Duration, has_line: bool) -> bool {
    while *waited < patience {
        let step = (patience - *waited).min(QUIET);
        if wait(stdin(), PollFlags::IN, step).is_ok() {
            return true;
        }
        *waited += step;
        if has_line {
            return false;
        }
    }
    false
}
