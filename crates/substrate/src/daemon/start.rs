//! Starting a daemon from a hook or a command. Many may try at once; exactly one daemon comes of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ipc::Conn;

use super::lock::Lock;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::proc;

/// Settings of the C library's allocator. Left alone, it keeps what a long payload needed: 340 MB after a hundred of 8 MB.
const GIVE_MEMORY_BACK: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "2"),
    // Setting it at all keeps it from growing to 32 MB by itself.
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "1048576"),
];

/// Starts a daemon, unless one runs. The lock is taken here and handed to the child, so that of many who try only one
/// ever starts a process. `false`: one runs, or is being started by somebody else.
pub(crate) fn start(env: &Env, home: &Home) -> Result<bool> {
    home.ensure()?;
    let Some(lock) = Lock::try_take(home)? else { return Ok(false) };
    let mut command = program(&this_program()?, env, home);
    command.stdin(Stdio::null()).stdout(Stdio::from(lock.into_file())).stderr(Stdio::null());
    command.spawn().map_err(|error| {
        AppError::from_error(Kind::Daemon, &error).hint("is `substrate` still installed?")
    })?;
    Ok(true)
}

/// That program as a daemon of that home.
pub(super) fn program(path: &Path, env: &Env, home: &Home) -> Command {
    let mut command = proc::command(path, env);
    command.env("SUBSTRATE_HOME", home.root()).envs(GIVE_MEMORY_BACK);
    command.args(["daemon", "run", "--detached"]).current_dir("/");
    command
}

/// Waits until a daemon takes connections.
pub(crate) fn wait_until_up(home: &Home, patience: Duration) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if Conn::open(home.root(), Duration::ZERO).is_ok() {
            return Ok(());
        }
        // Nobody holds the lock: it has ended already, and its trace says why.
        if !is_held(home)? {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(AppError::new(Kind::Daemon, "the daemon did not come up").hint(format!(
        "its log is in `{}`; `substrate daemon run` shows what it says",
        home.logs().display()
    )))
}

/// Whether a daemon runs, or is just starting.
pub(crate) fn is_held(home: &Home) -> Result<bool> {
    Ok(Lock::try_take(home)?.is_none())
}

/// Our own file, also after it was replaced by a newer one.
pub(crate) fn this_program() -> Result<PathBuf> {
    let path =
        std::env::current_exe().map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    let text = path.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}
