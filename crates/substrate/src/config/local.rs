//! Whether checking a folder may hang. It can't on a local disk, as long as nothing was mounted since.

use std::path::Path;

/// The mount table, which signals when it has changed.
#[derive(Debug)]
pub(crate) struct Mounts {
    #[cfg(target_os = "linux")]
    table: Option<std::fs::File>,
}

#[cfg(target_os = "linux")]
impl Mounts {
    pub(crate) fn new() -> Self {
        Self { table: std::fs::File::open("/proc/self/mountinfo").ok() }
    }

    /// Whether something may have been mounted since the last call.
    pub(crate) fn have_changed(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(table) = &self.table else { return true };
        let mut fds = [PollFd::new(table, PollFlags::PRI)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)) != Ok(0)
    }
}

#[cfg(not(target_os = "linux"))]
impl Mounts {
    pub(crate) fn new() -> Self {
        Self {}
    }

    pub(crate) fn have_changed(&self) -> bool {
        true
    }
}

/// Whether a folder is on a local disk, or in memory.
#[cfg(target_os = "linux")]
pub(crate) fn is_local(folder: &Path) -> bool {
    // ext, xfs, btrfs, f2fs, bcachefs, zfs, tmpfs, ramfs, overlay.
    const LOCAL: [u64; 9] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0xca45_1a4e,
        0x2fc1_2fc1,
        0x0102_1994,
        0x8584_58f6,
        0x794c_7630,
    ];
    rustix::fs::statfs(folder)
        .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| LOCAL.contains(&kind)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_local(_folder: &Path) -> bool {
    false
}
