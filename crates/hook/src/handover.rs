//! No daemon answered in time: `substrate __hook` takes over, with the same request and the same connection. It starts
//! a daemon, or replaces a frozen one, and waits for the answer.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ipc::{HookRequest, place, unjudged};
use rustix::io::{Errno, FdFlags};
use rustix::pipe::PipeFlags;

/// Hands over only to report that the answer was printed, because no daemon received that.
pub(crate) const PRINTED: &str = "printed";

/// What `substrate` is told besides the request.
pub(crate) struct Handover<'a> {
    pub(crate) home: Option<&'a Path>,
    pub(crate) why: &'a str,
    /// How long the hook has waited already.
    pub(crate) spent: Duration,
    pub(crate) exit: u8,
    /// The connection on which the request waits for its answer. It keeps its place in the daemon's queue.
    pub(crate) conn: Option<OwnedFd>,
}

impl Handover<'_> {
    /// Becomes `substrate`. Returns only on failure. Then the agent goes on, and a line is left for `substrate doctor`.
    pub(crate) fn hand_over(self, request: &HookRequest<'_>) -> u8 {
        let (home, why) = (self.home, self.why);
        let error = match request_file(request) {
            Ok(file) => self.become_substrate(&file),
            Err(error) => error,
        };
        let line = format!("hand-over failed ({why}): {error}\n");
        if let Some(home) = home {
            place::leave_trace(home, &line);
        }
        let mut args = request.each_arg();
        let call = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
        if let Some(words) = unjudged::words(call.0, call.1) {
            ipc::out::print(words, b"");
        }
        crate::say(&format!("substrate-hook: {line}"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one process that the client starts, with the environment it was given"
    )]
    fn become_substrate(self, request: &OwnedFd) -> std::io::Error {
        let program = beside_us().unwrap_or_else(|| PathBuf::from("substrate"));
        let (spent, exit) = (self.spent.as_millis().to_string(), self.exit.to_string());
        let request = request.as_raw_fd().to_string();
        let stdin = self.conn.map_or_else(Stdio::null, Stdio::from);
        Command::new(program)
            .args(["__hook", self.why, &spent, &exit, &request])
            .stdin(stdin)
            .exec()
    }
}

/// The `substrate` of the same installation.
fn beside_us() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let beside = here.parent().map(|folder| folder.join("substrate"))?;
    Path::exists(&beside).then_some(beside)
}

/// The request as an open file that survives `exec`. A pipe if it fits, since the limit on file sizes does not apply to
/// pipes.
fn request_file(request: &HookRequest<'_>) -> std::io::Result<OwnedFd> {
    let body = request.bytes();
    let file = match piped(&body) {
        Some(pipe) => pipe,
        None => nameless(&body)?,
    };
    rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file)
}

/// `None`: it is too long for a pipe.
fn piped(body: &[u8]) -> Option<OwnedFd> {
    let (out, into) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).ok()?;
    #[cfg(target_os = "linux")]
    rustix::pipe::fcntl_setpipe_size(&into, body.len().max(1)).ok()?;
    // Non-blocking, so that a pipe that is too short is noticed and not waited for.
    rustix::io::ioctl_fionbio(into.as_fd(), true).ok()?;
    let mut rest = body;
    while !rest.is_empty() {
        match rustix::io::write(&into, rest) {
            Ok(n) => rest = &rest[n..],
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(out)
}

/// An unnamed file.
fn nameless(body: &[u8]) -> std::io::Result<OwnedFd> {
    if place::max_file_size() < body.len() as u64 {
        return Err(Errno::FBIG.into());
    }
    let mut file = unnamed()?;
    file.write_all(body)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

#[cfg(target_os = "linux")]
fn unnamed() -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create(c"substrate-request", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("substrate-request-{}", std::process::id()));
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
