//! The socket, and getting it back when somebody took it away.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::config::Home;

/// Binds the socket, for its owner only. The lock is held, so whatever is there is left over.
pub(super) fn bind(home: &Home) -> std::io::Result<UnixListener> {
    let path = home.socket();
    for old in [&path, &home.stalled_socket()] {
        match std::fs::remove_file(old) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    let listener = UnixListener::bind(&path).or_else(|error| {
        // Too long a path is reached through its open folder, as the clients do.
        let folder = File::open(home.root())?;
        UnixListener::bind(ipc::conn::short_path(&folder)).map_err(|_| error)
    })?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Which file a path is, to notice that it is not ours any more.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// What became of our socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    InPlace,
    /// A hook had hidden it because we did not answer; it is back.
    PutBack,
    Gone,
}

/// Looks for our socket, and puts it back if a hook hid it.
pub(super) fn look(home: &Home, ours: Option<(u64, u64)>) -> Found {
    if ours.is_some() && identity(&home.socket()) == ours {
        return Found::InPlace;
    }
    if ours.is_some()
        && identity(&home.stalled_socket()) == ours
        && std::fs::rename(home.stalled_socket(), home.socket()).is_ok()
    {
        return Found::PutBack;
    }
    Found::Gone
}
