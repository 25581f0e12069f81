//! Stdin, drained to its end, but never waited for without a limit: some callers leave the pipe open.

use std::time::Duration;

use ipc::conn::wait;
use rustix::event::PollFlags;
use rustix::io::{Errno, read};

/// What is passed on; the rest of a longer input is read and dropped.
const MAX_PASSED: usize = 32 << 20;

/// A caller that has written a whole line and then nothing for so long has said everything.
const QUIET: Duration = Duration::from_millis(100);

pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) truncated: bool,
    /// How long it was waited for in vain.
    pub(crate) waited: Duration,
}

/// Reads until the end, until the caller falls silent after a full line, or until `patience` is over.
pub(crate) fn drain(patience: Duration) -> Input {
    let stdin = rustix::stdio::stdin();
    let mut input =
        Input { bytes: Vec::with_capacity(8 << 10), truncated: false, waited: Duration::ZERO };
    let mut chunk_of_rest = Vec::new();
    // Time is counted only in whole waits that brought nothing, so that the fast path asks no clock.
    loop {
        let full = input.bytes.len() >= MAX_PASSED;
        let step = (patience - input.waited).min(QUIET);
        if wait(stdin, PollFlags::IN, step).is_err() {
            input.waited += step;
            if input.waited >= patience || input.bytes.ends_with(b"\n") {
                return input;
            }
            continue;
        }
        let target = if full { &mut chunk_of_rest } else { &mut input.bytes };
        if full {
            target.clear();
        }
        if target.capacity() - target.len() < 4096 {
            target.reserve(target.capacity().max(64 << 10));
        }
        match read(stdin, rustix::buffer::spare_capacity(target)) {
            Ok(0) => return input,
            Ok(_) => input.truncated = full,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return input,
        }
    }
}
