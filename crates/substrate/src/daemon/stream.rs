//! The daemon's sockets. A connection is registered with the event loop only when it has to wait: on a busy daemon most
//! requests are there when their connection is accepted, and nearly every answer fits into the socket's buffer.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use tokio::io::Interest;
use tokio::net::UnixStream as WatchedStream;

/// The socket that connections come from.
pub(super) struct Listener {
    socket: UnixListener,
    /// The same socket, watched as if it were a stream: a listener of the event loop would register each connection at once.
    watched: WatchedStream,
}

impl Listener {
    /// The socket must not block.
    pub(super) fn new(socket: UnixListener) -> io::Result<Self> {
        let same = UnixStream::from(OwnedFd::from(socket.try_clone()?));
        Ok(Self { socket, watched: WatchedStream::from_std(same)? })
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        let accept = || accepted(&self.socket);
        self.watched.async_io(Interest::READABLE, accept).await.map(Stream::new)
    }

    /// A handle of the socket for another process.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }
}

#[cfg(target_os = "linux")]
fn accepted(listener: &UnixListener) -> io::Result<UnixStream> {
    use rustix::net::{SocketFlags, accept_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(accept_with(listener, flags)?.into())
}

#[cfg(not(target_os = "linux"))]
fn accepted(listener: &UnixListener) -> io::Result<UnixStream> {
    let (socket, _) = listener.accept()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// One connection.
pub(super) struct Stream(Socket);

enum Socket {
    Free(UnixStream),
    Watched(WatchedStream),
    /// It could not be watched.
    Closed,
}

/// The process at the other end.
pub(super) struct Credentials {
    pub(super) uid: u32,
    pub(super) pid: Option<i32>,
}

impl Stream {
    /// The socket must not block.
    pub(super) const fn new(socket: UnixStream) -> Self {
        Self(Socket::Free(socket))
    }

    /// The socket, no longer watched.
    pub(super) fn into_socket(self) -> io::Result<UnixStream> {
        match self.0 {
            Socket::Free(socket) => Ok(socket),
            Socket::Watched(watched) => watched.into_std(),
            Socket::Closed => Err(ErrorKind::NotConnected.into()),
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Socket::Free(socket) => Some(socket.as_fd()),
            Socket::Watched(watched) => Some(watched.as_fd()),
            Socket::Closed => None,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn peer(&self) -> io::Result<Credentials> {
        let fd = self.fd().ok_or(ErrorKind::NotConnected)?;
        let peer = rustix::net::sockopt::socket_peercred(fd)?;
        Ok(Credentials { uid: peer.uid.as_raw(), pid: Some(peer.pid.as_raw_nonzero().get()) })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn peer(&self) -> io::Result<Credentials> {
        let fd = self.fd().ok_or(ErrorKind::NotConnected)?.try_clone_to_owned()?;
        let peer = WatchedStream::from_std(fd.into())?.peer_cred()?;
        Ok(Credentials { uid: peer.uid(), pid: peer.pid() })
    }

    /// Reads what is there.
    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Socket::Free(socket) => (&*socket).read(buffer),
            Socket::Watched(watched) => watched.try_read(buffer),
            Socket::Closed => Ok(0),
        }
    }

    /// Reads what is there, as far as there is room.
    pub(super) fn try_read_into(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match &self.0 {
            Socket::Free(socket) => {
                Ok(rustix::io::read(socket, rustix::buffer::spare_capacity(bytes))?)
            }
            Socket::Watched(watched) => watched.try_read_buf(bytes),
            Socket::Closed => Ok(0),
        }
    }

    /// Writes what fits.
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Socket::Free(socket) => (&*socket).write(bytes),
            Socket::Watched(watched) => watched.try_write(bytes),
            Socket::Closed => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// Waits until there may be something to read. Try first.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        self.watched()?.readable().await
    }

    /// Waits until there may be room to write. Try first.
    pub(super) async fn writable(&mut self) -> io::Result<()> {
        self.watched()?.writable().await
    }

    fn watched(&mut self) -> io::Result<&WatchedStream> {
        if let Socket::Free(_) = &self.0
            && let Socket::Free(socket) = std::mem::replace(&mut self.0, Socket::Closed)
        {
            self.0 = Socket::Watched(WatchedStream::from_std(socket)?);
        }
        match &self.0 {
            Socket::Watched(watched) => Ok(watched),
            Socket::Free(_) | Socket::Closed => Err(ErrorKind::NotConnected.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(20);

    fn on_loop<T>(body: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(body)
    }

    fn pair() -> (Stream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Stream::new(ours), theirs)
    }

    fn would_block<T: std::fmt::Debug>(tried: io::Result<T>) -> bool {
        tried.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn what_comes_in_parts_is_waited_for_each_time() {
        on_loop(async {
            let (mut ours, mut theirs) = pair();
            let mut bytes = Vec::with_capacity(8);
            for part in [b"ab", b"cd", b"ef"] {
                assert!(would_block(ours.try_read_into(&mut bytes)));
                assert!(timeout(SHORT, ours.readable()).await.is_err(), "nothing is there");
                theirs.write_all(part).unwrap();
                timeout(LONG, ours.readable()).await.unwrap().unwrap();
                assert_eq!(ours.try_read_into(&mut bytes).unwrap(), 2);
            }
            assert_eq!(bytes, b"abcdef");
            drop(theirs);
            timeout(LONG, ours.readable()).await.unwrap().unwrap();
            assert_eq!(ours.try_read(&mut [0; 4]).unwrap(), 0, "the end");
        });
    }

    #[test]
    fn a_reader_that_was_slow_gets_everything() {
        on_loop(async {
            let (mut ours, mut theirs) = pair();
            assert!(timeout(SHORT, ours.readable()).await.is_err());
            let all = vec![7; 1 << 20];
            let reader = std::thread::spawn(move || {
                let mut got = Vec::new();
                theirs.read_to_end(&mut got).map(|_| got)
            });
            let mut rest = &all[..];
            while !rest.is_empty() {
                match ours.try_write(rest) {
                    Ok(n) => rest = &rest[n..],
                    Err(_) => timeout(LONG, ours.writable()).await.unwrap().unwrap(),
                }
            }
            assert!(timeout(SHORT, ours.readable()).await.is_err());
            drop(ours.into_socket().unwrap());
            assert_eq!(reader.join().unwrap().unwrap(), all);
        });
    }

    #[test]
    fn connections_are_accepted_and_know_their_peer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = UnixListener::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        on_loop(async {
            let listener = Listener::new(socket).unwrap();
            for _ in 0..3 {
                let mut theirs = UnixStream::connect(&path).unwrap();
                let mut ours = timeout(LONG, listener.accept()).await.unwrap().unwrap();
                let peer = ours.peer().unwrap();
                assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
                assert!(would_block(ours.try_read(&mut [0; 4])), "it does not block");
                theirs.write_all(b"x").unwrap();
                timeout(LONG, ours.readable()).await.unwrap().unwrap();
                assert_eq!(ours.try_read(&mut [0; 4]).unwrap(), 1);
            }
            assert!(timeout(SHORT, listener.accept()).await.is_err());
        });
    }
}
