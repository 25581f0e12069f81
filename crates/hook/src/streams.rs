//! The standard streams that the caller closed. The next file that is opened would take such a stream's number, and be read or
//! written as one. The null device takes it instead.

use std::os::fd::AsRawFd as _;

use rustix::fs::{Mode, OFlags};

#[cold]
pub(crate) fn fill() {
    let flags = OFlags::RDWR.union(OFlags::CLOEXEC);
    while let Ok(file) = rustix::fs::open(c"/dev/null", flags, Mode::empty()) {
        if file.as_raw_fd() > 2 {
            return;
        }
        // It stays for as long as the process.
        std::mem::forget(file);
    }
}
