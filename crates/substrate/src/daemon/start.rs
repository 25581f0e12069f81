//! Starting a daemon from a hook or a command. Many may try at once. Exactly one daemon results, and it answers them
//! all.

use std::fs::{File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lock::{Lock, sign_for};
use super::run::RunOptions;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::proc;

/// Settings of glibc's allocator. By default it keeps the memory of long payloads: 340 MB after a hundred of 8 MB.
const GIVE_MEMORY_BACK: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "2"),
    // Setting this at all keeps it from growing to 32 MB by itself.
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "1048576"),
];

/// How long a daemon stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Until it is stopped.
    Long,
    /// Until the requests at hand are answered: `daemon.autostart = false`.
    Brief,
}

/// Starts a daemon, unless one runs. The parent takes the lock and binds the socket, and hands both to the child. So
/// only one of many callers starts a process, and all others can connect at once and wait in its queue. `false`: one
/// runs, or is being started.
pub(crate) fn start(env: &Env, home: &Home, stay: Stay) -> Result<bool> {
    home.ensure()?;
    let Some(lock) = Lock::try_take(home)? else { return Ok(false) };
    let listener = bind(home).map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` must be writable for you", home.root().display()))
    })?;
    let mut command = program(&this_program()?, env, home);
    if stay == Stay::Brief {
        command.arg("--brief");
    }
    let fail = |error: std::io::Error| {
        AppError::from_error(Kind::Daemon, &error).hint("is `substrate` still installed?")
    };
    let ours = lock.to_hand_over().map_err(fail)?;
    command
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::from(lock.into_file()))
        .stderr(Stdio::null());
    let child = command.spawn().map_err(fail)?;
    sign_for(&ours, child.id());
    Ok(true)
}

/// Binds the socket, for its owner only. We hold the lock, so a file at its path is a leftover.
pub(super) fn bind(home: &Home) -> std::io::Result<UnixListener> {
    let path = home.socket();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path).or_else(|error| {
        // A path that is too long is reached through its open folder, as the hook does.
        let folder = File::open(home.root())?;
        UnixListener::bind(ipc::conn::short_path(&folder)).map_err(|_| error)
    })?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The command line of a daemon for that home.
pub(super) fn program(path: &Path, env: &Env, home: &Home) -> Command {
    let mut command = proc::command(path, env);
    command.env("SUBSTRATE_HOME", home.root()).envs(GIVE_MEMORY_BACK);
    command.args(DETACHED).current_dir("/");
    command
}

/// How a daemon begins that has no terminal.
const DETACHED: [&str; 3] = ["daemon", "run", "--detached"];

/// How a daemon with that command line runs, if it is one of those that we start.
pub(crate) fn detached_options(args: &[String]) -> Option<RunOptions> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.strip_prefix(&DETACHED)? {
        [] => Some(RunOptions::Detached),
        ["--brief"] => Some(RunOptions::Brief),
        ["--take-over"] => Some(RunOptions::TakeOver),
        _ => None,
    }
}

/// Whether a daemon runs, or is just starting.
pub(crate) fn is_held(home: &Home) -> Result<bool> {
    Ok(Lock::try_take(home)?.is_none())
}

/// Our own executable, even after a newer one replaced it.
pub(crate) fn this_program() -> Result<PathBuf> {
    let path =
        std::env::current_exe().map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    let text = path.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_command_lines_skip_the_parser() {
        let of = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            detached_options(&args)
        };
        assert_eq!(of("daemon run --detached"), Some(RunOptions::Detached));
        assert_eq!(of("daemon run --detached --brief"), Some(RunOptions::Brief));
        assert_eq!(of("daemon run --detached --take-over"), Some(RunOptions::TakeOver));
        for line in
            ["", "daemon", "daemon run", "daemon run --brief", "daemon run --detached --help"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
