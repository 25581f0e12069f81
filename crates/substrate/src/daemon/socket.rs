//! The socket.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use crate::config::Home;

/// Binds the socket, for its owner only. The lock is held, so whatever is there is left over.
pub(super) fn bind(home: &Home) -> std::io::Result<UnixListener> {
    let path = home.socket();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
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
