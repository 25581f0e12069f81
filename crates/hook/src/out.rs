//! Printing for a client: without std's buffers, and with a limit on slow readers.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::stdio::{stderr, stdout};

/// A reader that takes nothing for this long never will.
const UNREAD: Duration = Duration::from_secs(5);

/// What a ready pipe takes without blocking.
const AT_ONCE: usize = 4_096;

/// Prints both texts, stderr first.
pub fn print(out: &[u8], err: &[u8]) {
    write_all(stderr(), err);
    write_all(stdout(), out);
}

/// Prints both texts. Returns whether all of it reached a reader.
pub fn printed(out: &[u8], err: &[u8]) -> bool {
    reaches_a_reader(err, stderr())
        && reaches_a_reader(out, stdout())
        && write_all(stderr(), err)
        && write_all(stdout(), out)
}

/// Returns whether everything was written. A reader that is gone or stuck is not a reason to fail or to wait forever.
fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        if !takes_more(&fd) {
            return false;
        }
        match rustix::io::write(&fd, &bytes[..bytes.len().min(AT_ONCE)]) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Waits until the stream takes something. A pipe without a reader never will, and writing to it would raise a signal.
fn takes_more(fd: impl AsFd) -> bool {
    let limit = Timespec::try_from(UNREAD).ok();
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    match poll(&mut fds, limit.as_ref()) {
        Ok(0) => false,
        Ok(_) => !fds[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL),
        Err(error) => error == Errno::INTR,
    }
}

/// A closed stream was replaced by the null device, which takes everything.
fn reaches_a_reader(text: &[u8], stream: impl AsFd) -> bool {
    text.is_empty()
        || !rustix::fs::fstat(stream).is_ok_and(|found| {
            FileType::from_raw_mode(found.st_mode).is_char_device()
                && rustix::fs::stat(c"/dev/null").is_ok_and(|null| null.st_rdev == found.st_rdev)
        })
}
