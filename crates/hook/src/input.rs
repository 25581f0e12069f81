//! Stdin, drained to its end, but never waited for without a limit: some callers leave the pipe open.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use ipc::conn::wait;
use rustix::event::PollFlags;
use rustix::io::{Errno, read};

/// The longest input that is passed on. The rest of a longer one is read and dropped.
const MAX_PASSED: usize = 32 << 20;

/// A caller that is silent this long after a whole line has said everything.
const QUIET: Duration = Duration::from_millis(100);

/// An input up to this size costs no allocation.
pub(crate) const USUAL: usize = 16 << 10;

/// The input. Only one of the two parts is in use.
pub(crate) struct Input<'a> {
    usual: &'a [u8],
    long: Vec<u8>,
    pub(crate) truncated: bool,
    /// How long we waited in vain.
    pub(crate) waited: Duration,
}

impl Input<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { self.usual } else { &self.long }
    }
}

/// Reads until the end, until the caller falls silent after a full line, or until `patience` is over. A usual input
/// arrives in one read, and the next read finds the end.
pub(crate) fn drain(space: &mut [MaybeUninit<u8>; USUAL], patience: Duration) -> Input<'_> {
    let mut waited = Duration::ZERO;
    let stdin = rustix::stdio::stdin();
    let mut input = Input { usual: &[], long: Vec::new(), truncated: false, waited };
    if !ready(&mut waited, patience, false) {
        return Input { waited, ..input };
    }
    let Ok((first, rest)) = read(stdin, &mut space[..]) else { return input };
    input.usual = first;
    if first.is_empty() {
        return input;
    }
    if ready(&mut waited, patience, first.ends_with(b"\n")) {
        match read(stdin, rest) {
            Ok((more, _)) if more.is_empty() && first.len() < USUAL => {}
            Ok((more, _)) => {
                input.long.reserve(256 << 10);
                input.long.extend_from_slice(first);
                input.long.extend_from_slice(more);
                drain_long(&mut input, &mut waited, patience);
            }
            Err(_) => {}
        }
    }
    Input { waited, ..input }
}

/// The rest of an input that is longer than usual.
fn drain_long(input: &mut Input<'_>, waited: &mut Duration, patience: Duration) {
    let stdin = rustix::stdio::stdin();
    let mut dropped = Vec::new();
    // A caller that never falls silent has a limit, too. Here a clock is affordable.
    let begun = Instant::now();
    while begun.elapsed() < patience && ready(waited, patience, input.long.ends_with(b"\n")) {
        let full = input.long.len() >= MAX_PASSED;
        let target = if full { &mut dropped } else { &mut input.long };
        if full {
            target.clear();
        }
        if target.capacity() - target.len() < 64 << 10 {
            target.reserve(target.len().max(64 << 10));
        }
        match read(stdin, rustix::buffer::spare_capacity(target)) {
            Ok(0) => return,
            Ok(_) => input.truncated |= full,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// Waits for something to read. `false`: stop waiting. Only whole waits in vain are counted, so the fast path needs no
/// clock.
fn ready(waited: &mut Duration, patience: Duration, has_line: bool) -> bool {
    while *waited < patience {
        let step = (patience - *waited).min(QUIET);
        if wait(rustix::stdio::stdin(), PollFlags::IN, step).is_ok() {
            return true;
        }
        *waited += step;
        if has_line {
            return false;
        }
    }
    false
}
