//! No daemon in time: the same request goes to `substrate`, which runs the same engine in its own process.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use ipc::{Header, HookRequest, Kind, place};

/// The word for a hand-over that only says: it was printed, and nobody heard that.
pub(crate) const PRINTED: &str = "printed";

/// Becomes `substrate`, with the whole request on stdin. Returns only if that fails; then the agent goes on, and a
/// line is left for `substrate doctor`.
pub(crate) fn to_substrate(
    home: Option<&Path>,
    why: &str,
    spent: Duration,
    exit: u8,
    request: &HookRequest<'_>,
) -> ExitCode {
    let error = match request_file(request) {
        Ok(file) => become_substrate(why, spent, exit, file),
        Err(error) => error,
    };
    let line = format!("hand-over failed ({why}): {error}\n");
    if let Some(home) = home {
        place::leave_trace(home, &line);
    }
    crate::say(&format!("substrate-hook: {line}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one process that the client starts, with the environment it was given"
)]
fn become_substrate(why: &str, spent: Duration, exit: u8, request: File) -> std::io::Error {
    let program = beside_us().unwrap_or_else(|| PathBuf::from("substrate"));
    let (spent, exit) = (spent.as_millis().to_string(), exit.to_string());
    Command::new(program).args(["__hook", why, &spent, &exit]).stdin(Stdio::from(request)).exec()
}

/// The `substrate` of the same installation.
fn beside_us() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let beside = here.parent().map(|folder| folder.join("substrate"))?;
    Path::exists(&beside).then_some(beside)
}

/// The request as a file without a name.
fn request_file(request: &HookRequest<'_>) -> std::io::Result<File> {
    let body = request.bytes();
    let mut file = nameless()?;
    file.write_all(&Header::bytes(Kind::Hook, body.len()))?;
    file.write_all(&body)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn nameless() -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create(c"substrate-request", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("substrate-request-{}", std::process::id()));
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
