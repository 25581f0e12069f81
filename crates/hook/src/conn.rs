//! A connection to the daemon in which nothing waits without a limit.
//!
//! The socket does not block: connecting to a daemon whose backlog is full, writing to one that does not read, and
//! reading from one that is silent all end in `ConnError::TooSlow`.

use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, read, writev};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::frame::{HEADER_LEN, Header, Kind, VERSION};
use crate::place::SOCKET;

/// An open connection.
#[derive(Debug)]
pub struct Conn {
    fd: OwnedFd,
    /// What was read beyond the last frame.
    pending: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnError {
    /// No socket, or nobody behind it.
    Absent,
    /// Somebody is behind it, but not in time.
    TooSlow,
    /// The connection ended in the middle.
    Broken,
    /// Somebody answered who does not speak our version.
    Foreign,
}

impl ConnError {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::TooSlow => "too-slow",
            Self::Broken => "broken",
            Self::Foreign => "foreign",
        }
    }
}

impl Conn {
    /// Connects to the daemon of that state home.
    pub fn open(state_home: &Path, patience: Duration) -> Result<Self, ConnError> {
        let socket = state_home.join(SOCKET);
        // Paths of sockets are limited to about 100 bytes; a longer one is reached through its open folder.
        let mut folder = None;
        let address = SocketAddrUnix::new(&socket).or_else(|_| {
            let opened = open_folder(state_home)?;
            let address = SocketAddrUnix::new(short_path(&opened));
            folder = Some(opened);
            address
        });
        let address = address.map_err(|_| ConnError::Absent)?;
        let kind = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, kind, None)
            .map_err(|_| ConnError::Absent)?;
        let mut waited = Duration::ZERO;
        loop {
            match connect(&fd, &address) {
                Ok(()) => return Ok(Self { fd, pending: Vec::with_capacity(4096) }),
                // The backlog is full: the daemon is busy or frozen.
                Err(Errno::AGAIN) if waited < patience => {
                    let pause = Duration::from_millis(2);
                    std::thread::sleep(pause);
                    waited += pause;
                }
                Err(Errno::AGAIN) => return Err(ConnError::TooSlow),
                Err(_) => return Err(ConnError::Absent),
            }
        }
    }

    /// Sends one frame whose body is `parts`, one after the other.
    pub fn send(&self, kind: Kind, parts: [&[u8]; 2], patience: Duration) -> Result<(), ConnError> {
        let header = Header::bytes(kind, parts[0].len() + parts[1].len());
        let all = [&header[..], parts[0], parts[1]];
        let total: usize = all.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        while sent < total {
            let mut skip = sent;
            let rest = all.map(|part| {
                let (_, kept) = part.split_at(skip.min(part.len()));
                skip -= skip.min(part.len());
                IoSlice::new(kept)
            });
            match writev(&self.fd, &rest) {
                Ok(n) => sent += n,
                Err(Errno::AGAIN) => wait(&self.fd, PollFlags::OUT, patience)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(ConnError::Broken),
            }
        }
        Ok(())
    }

    /// The next frame's kind and body.
    pub fn receive(&mut self, patience: Duration) -> Result<(Kind, Vec<u8>), ConnError> {
        let bytes = &mut self.pending;
        loop {
            if let Some(header) = bytes.first_chunk::<HEADER_LEN>() {
                let header = Header::read(header).ok_or(ConnError::Foreign)?;
                if header.version != VERSION {
                    return Err(ConnError::Foreign);
                }
                let end = HEADER_LEN + header.len;
                if bytes.len() >= end {
                    let body = bytes[HEADER_LEN..end].to_vec();
                    bytes.drain(..end);
                    return Ok((header.kind, body));
                }
                bytes.reserve(end - bytes.len());
            }
            bytes.reserve(1024);
            wait(&self.fd, PollFlags::IN, patience)?;
            match read(&self.fd, rustix::buffer::spare_capacity(bytes)) {
                Ok(0) => return Err(ConnError::Broken),
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return Err(ConnError::Broken),
            }
        }
    }
}

/// The socket of an open folder, by a path that is short enough.
pub fn short_path(folder: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())
}

fn open_folder(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    rustix::fs::open(path, flags, Mode::empty()).map(File::from)
}

/// Waits until the file is ready, or too long.
pub fn wait(fd: impl AsFd, what: PollFlags, patience: Duration) -> Result<(), ConnError> {
    let limit = Timespec::try_from(patience).ok();
    let mut fds = [PollFd::new(&fd, what)];
    match poll(&mut fds, limit.as_ref()) {
        Ok(0) => Err(ConnError::TooSlow),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(_) => Err(ConnError::Broken),
    }
}
