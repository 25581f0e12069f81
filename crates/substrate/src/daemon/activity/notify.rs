//! Changes in a folder, reported by inotify. Nothing is polled: while nothing changes, nothing runs.

#[cfg(target_os = "linux")]
pub(super) use linux::Notify;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Notify;

/// What changed in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This file was written, or is gone.
    File(String),
    /// Too many changes to name.
    Anything,
    /// The folder itself is gone.
    Folder,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    use super::Change;

    /// A watched folder.
    pub(in super::super) struct Notify(OwnedFd);

    impl Notify {
        /// `None`: the folder does not exist, or the system's limit on watches is reached.
        pub(in super::super) fn new(folder: &Path) -> Option<Self> {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let what = WatchFlags::MODIFY
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            inotify::add_watch(&fd, folder, what).ok()?;
            Some(Self(fd))
        }

        pub(in super::super) fn fd(&self) -> Option<BorrowedFd<'_>> {
            Some(self.0.as_fd())
        }

        /// What has changed since the last call. Never blocks.
        pub(in super::super) fn changes(&self) -> Vec<Change> {
            let mut buffer = [MaybeUninit::uninit(); 4_096];
            let mut reader = Reader::new(&self.0, &mut buffer);
            let mut out = Vec::new();
            while let Ok(event) = reader.next() {
                let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
                let change = if event.events().intersects(gone) {
                    Change::Folder
                } else if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    Change::Anything
                } else {
                    match event.file_name().and_then(|name| name.to_str().ok()) {
                        Some(name) => Change::File(name.to_owned()),
                        None => continue,
                    }
                };
                if !out.contains(&change) {
                    out.push(change);
                }
            }
            out
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::os::fd::BorrowedFd;
    use std::path::Path;

    use super::Change;

    /// Without inotify, the folder is listed now and then while a turn runs.
    pub(in super::super) struct Notify;

    impl Notify {
        pub(in super::super) fn new(_folder: &Path) -> Option<Self> {
            None
        }

        pub(in super::super) fn fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        pub(in super::super) fn changes(&self) -> Vec<Change> {
            Vec::new()
        }
    }
}
