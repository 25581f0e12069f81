//! A connection to the daemon on which every wait has a limit.
//!
//! The socket does not block. Connecting to a daemon whose backlog is full, writing to one that does not read, and
//! reading from one that is silent all end in `ConnError::TooSlow`.

use std::ffi::CStr;
use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, read};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::frame::{HEADER_LEN, Header, Kind, VERSION};
use crate::place::SOCKET;

/// The header, and the parts of a body that are sent together.
const MAX_PARTS: usize = 8;

/// An open connection.
#[derive(Debug)]
pub struct Conn {
    fd: OwnedFd,
    /// Bytes that were read beyond the last frame.
    pending: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnError {
    /// There is no socket, or no listener behind it.
    Absent,
    /// The listener did not answer in time.
    TooSlow,
    /// The connection ended in the middle.
    Broken,
    /// The listener does not speak our version.
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
        match SocketAddrUnix::new(&socket) {
            Ok(address) => Self::connect(&address, patience),
            // A socket's path is limited to about 100 bytes. A longer one is reached through its open folder.
            Err(_) => {
                let folder = open_folder(state_home).map_err(|_| ConnError::Absent)?;
                let address =
                    SocketAddrUnix::new(short_path(&folder)).map_err(|_| ConnError::Absent)?;
                Self::connect(&address, patience)
            }
        }
    }

    /// Connects to the socket at that path, which must not be too long.
    pub fn open_at(socket: &CStr, patience: Duration) -> Result<Self, ConnError> {
        Self::connect(&SocketAddrUnix::new(socket).map_err(|_| ConnError::Absent)?, patience)
    }

    fn connect(address: &SocketAddrUnix, patience: Duration) -> Result<Self, ConnError> {
        let kind = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, kind, None)
            .map_err(|_| ConnError::Absent)?;
        let mut waited = Duration::ZERO;
        loop {
            match connect(&fd, address) {
                Ok(()) => return Ok(Self { fd, pending: Vec::new() }),
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

    /// A connection that another process opened, and on which nothing was read yet.
    pub fn inherited(fd: OwnedFd) -> Self {
        Self { fd, pending: Vec::new() }
    }

    /// Whether it has the number of a standard stream, because the caller closed that one.
    pub fn is_in_place_of_a_stream(&self) -> bool {
        self.fd.as_raw_fd() <= 2
    }

    /// The connection for another process. `None`: part of the answer was read already, and would be missing there.
    pub fn into_unread(self) -> Option<OwnedFd> {
        self.pending.is_empty().then_some(self.fd)
    }

    /// A duplicate of the connection for another process. `None`: as above.
    pub fn another(&self) -> Option<OwnedFd> {
        self.pending.is_empty().then(|| self.fd.try_clone().ok()).flatten()
    }

    /// Sends one frame whose body is `parts`, one after the other.
    pub fn send<const N: usize>(
        &self,
        kind: Kind,
        parts: [&[u8]; N],
        patience: Duration,
    ) -> Result<(), ConnError> {
        const { assert!(N < MAX_PARTS, "a frame of so many parts needs a larger array") };
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let header = Header::bytes(kind, body);
        let mut sent = 0;
        while sent < HEADER_LEN + body {
            let mut skip = sent;
            let mut unsent = |part| IoSlice::new(skipped(part, &mut skip));
            let mut all = [unsent(&header); MAX_PARTS];
            all[1..=N].copy_from_slice(&parts.map(unsent));
            match gather_send(&self.fd, &all[..=N]) {
                Ok(n) => sent += n,
                Err(Errno::AGAIN) => wait(&self.fd, PollFlags::OUT, patience)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(ConnError::Broken),
            }
        }
        Ok(())
    }

    /// Sends a frame that is complete with its header.
    pub fn send_frame(&self, frame: &[u8], patience: Duration) -> Result<(), ConnError> {
        let mut rest = frame;
        while !rest.is_empty() {
            match send(&self.fd, rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::AGAIN) => wait(&self.fd, PollFlags::OUT, patience)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(ConnError::Broken),
            }
        }
        Ok(())
    }

    /// The next frame's kind and body.
    pub fn receive(&mut self, patience: Duration) -> Result<(Kind, Vec<u8>), ConnError> {
        loop {
            if let Some((header, body)) = frame_in(&self.pending)? {
                let body = body.to_vec();
                self.pending.drain(..HEADER_LEN + header.len);
                return Ok((header.kind, body));
            }
            self.pending.reserve(4096);
            wait(&self.fd, PollFlags::IN, patience)?;
            match read(&self.fd, rustix::buffer::spare_capacity(&mut self.pending)) {
                Ok(0) => return Err(ConnError::Broken),
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return Err(ConnError::Broken),
            }
        }
    }

    /// The next frame, if it arrives whole and alone in one read into `space`. Anything else is kept for `receive`.
    pub fn receive_in<'a>(
        &mut self,
        space: &'a mut [u8],
        patience: Duration,
    ) -> Result<Option<(Kind, &'a [u8])>, ConnError> {
        if space.len() < HEADER_LEN {
            return Ok(None);
        }
        wait(&self.fd, PollFlags::IN, patience)?;
        let bytes: &'a [u8] = match read(&self.fd, &mut *space) {
            Ok(0) => return Err(ConnError::Broken),
            Ok(n) => &space[..n],
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(_) => return Err(ConnError::Broken),
        };
        match frame_in(bytes)? {
            Some((header, body)) if HEADER_LEN + header.len == bytes.len() => {
                Ok(Some((header.kind, body)))
            }
            _ => {
                self.pending.extend_from_slice(bytes);
                Ok(None)
            }
        }
    }
}

/// Sends without the signal that a closed connection would raise.
#[cfg(target_os = "linux")]
fn send(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::net::send(fd, bytes, rustix::net::SendFlags::NOSIGNAL)
}

/// On this system std ignores the signal.
#[cfg(not(target_os = "linux"))]
fn send(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::io::write(fd, bytes)
}

/// Sends all parts, without that signal.
#[cfg(target_os = "linux")]
fn gather_send(fd: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
    sendmsg(fd, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
}

/// As above.
#[cfg(not(target_os = "linux"))]
fn gather_send(fd: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    rustix::io::writev(fd, parts)
}

/// The first frame, if it is complete.
fn frame_in(bytes: &[u8]) -> Result<Option<(Header, &[u8])>, ConnError> {
    let Some((first, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let header =
        Header::read(first).filter(|header| header.version == VERSION).ok_or(ConnError::Foreign)?;
    Ok(rest.get(..header.len).map(|body| (header, body)))
}

/// The rest of `part` after the first `skip` bytes, which are subtracted.
fn skipped<'a>(part: &'a [u8], skip: &mut usize) -> &'a [u8] {
    let n = part.len().min(*skip);
    *skip -= n;
    &part[n..]
}

/// A short path to the socket in an open folder.
pub fn short_path(folder: &File) -> String {
    format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())
}

fn open_folder(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    rustix::fs::open(path, flags, Mode::empty()).map(File::from)
}

/// Waits until the file is ready, with a limit.
pub fn wait(fd: impl AsFd, what: PollFlags, patience: Duration) -> Result<(), ConnError> {
    let limit = Timespec::try_from(patience).ok();
    let mut fds = [PollFd::new(&fd, what)];
    match poll(&mut fds, limit.as_ref()) {
        Ok(0) => Err(ConnError::TooSlow),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(_) => Err(ConnError::Broken),
    }
}
