//! Small file systems of our own, where the machine lets us have them.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

/// A tmpfs that goes away with this value.
pub(super) struct Small {
    at: PathBuf,
}

impl Small {
    /// `None`: we may not mount here.
    pub(super) fn new(at: &Path, kb: usize) -> Option<Self> {
        let data = std::ffi::CString::new(format!("size={kb}k,mode=0700")).ok()?;
        mount("tmpfs", at, "tmpfs", MountFlags::NOSUID, Some(data.as_c_str())).ok()?;
        Some(Self { at: at.to_owned() })
    }

    pub(super) fn read_only(&self) -> bool {
        mount_remount(&self.at, MountFlags::RDONLY, "").is_ok()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _gone = unmount(&self.at, UnmountFlags::DETACH);
    }
}
