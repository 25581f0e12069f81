//! One tmux server, queried with time-limited commands.

use std::fmt;
use std::io::Read as _;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::config::Env;
use crate::proc::{self, TimedChild};

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much of its output is read.
const MAX: u64 = 256 << 10;

/// Why tmux did not do something.
#[derive(Debug)]
pub(crate) enum TmuxError {
    Start(std::io::Error),
    Slow,
    /// In its own words.
    Refused(String),
}

impl fmt::Display for TmuxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "`tmux` could not be started: {error}"),
            Self::Slow => f.write_str("tmux did not answer within a second"),
            Self::Refused(words) => write!(f, "tmux: {words}"),
        }
    }
}

/// The server behind a socket.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    socket: String,
    env: Env,
}

impl Server {
    pub(crate) fn new(socket: &str, env: &Env) -> Self {
        Self { socket: socket.to_owned(), env: env.clone() }
    }

    pub(crate) fn socket(&self) -> &str {
        &self.socket
    }

    /// Brings a pane to the front in every terminal that shows its session.
    pub(crate) fn show(&self, pane: &str) -> Result<String, TmuxError> {
        self.run(&["select-window", "-t", pane, ";", "select-pane", "-t", pane])
    }

    /// Runs one tmux command, or several separated by `;`. Returns its output.
    pub(crate) fn run(&self, args: &[&str]) -> Result<String, TmuxError> {
        let mut command = proc::command("tmux", &self.env);
        command
            .args(["-S", &self.socket])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut tmux = TimedChild::start(&mut command).map_err(TmuxError::Start)?;
        let (tell, told) = mpsc::channel();
        let (stdout, stderr) = (tmux.child().stdout.take(), tmux.child().stderr.take());
        // A thread of its own, so that a silent server can be abandoned.
        std::thread::spawn(move || {
            let (mut said, mut complained) = (Vec::new(), Vec::new());
            let _cut_short = stdout.map(|out| out.take(MAX).read_to_end(&mut said));
            let _cut_short = stderr.map(|out| out.take(MAX).read_to_end(&mut complained));
            let _abandoned = tell.send((said, complained));
        });
        let deadline = Instant::now() + PATIENCE;
        let (said, complained) = told.recv_timeout(PATIENCE).map_err(|_| TmuxError::Slow)?;
        match tmux.succeeded(deadline) {
            Some(true) => Ok(String::from_utf8_lossy(&said).into_owned()),
            Some(false) => {
                let words = String::from_utf8_lossy(&complained).trim().to_owned();
                Err(TmuxError::Refused(words))
            }
            None => Err(TmuxError::Slow),
        }
    }
}
