//! Lends the terminal to the child: makes its group the foreground group, as a shell does for a job.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use crate::config::Env;
use crate::proc;

/// Resets what a killed client may have left on: saved cursor (the alternate screen restores it), alternate screen,
/// mouse, focus, pasting, synchronized output, keyboard protocols, hidden cursor, colours.
const RESET: &[u8] = b"\x1b7\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[<u\x1b[>4m\x1b[?25h\x1b[0m\r\n";

/// How often we check whether it was given back, and how many times.
const LOOK: Duration = Duration::from_millis(1);
const MAX_LOOKS: u32 = 1_000;

pub(super) struct Terminal {
    tty: File,
    /// Its mode before it was first lent.
    modes: Option<Termios>,
}

impl Terminal {
    /// Only if all streams are on it: in a pipeline others of our group may need it.
    pub(super) fn find() -> Option<Self> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return None;
        }
        let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        tcgetpgrp(&tty).ok()?;
        Some(Self { tty, modes: None })
    }

    /// Lends it to that group, if it is ours to lend. In the background it is not.
    pub(super) fn lend(&mut self, group: Pid) {
        if !self.is_ours() {
            return;
        }
        if self.modes.is_none() {
            self.modes = tcgetattr(&self.tty).ok();
        }
        let _hung_up = tcsetpgrp(&self.tty, group);
    }

    pub(super) fn is_lent_to(&self, group: Pid) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|found| found == group)
    }

    /// Takes it back from a group whose leader has ended and is not reaped, and restores its mode.
    pub(super) fn take_back(&self, env: &Env, group: Pid, was_killed: bool) {
        if self.is_lent_to(group) {
            back_from(env, group);
        }
        if !self.is_ours() {
            return;
        }
        if let Some(modes) = &self.modes {
            let _hung_up = tcsetattr(&self.tty, OptionalActions::Drain, modes);
        }
        if was_killed {
            let _hung_up = (&self.tty).write_all(RESET);
        }
    }

    fn is_ours(&self) -> bool {
        self.is_lent_to(getpgrp())
    }
}

/// The system stops a background process that takes the terminal. So a helper process joins the group that has it, and
/// gives it back from there.
fn back_from(env: &Env, group: Pid) {
    // The same program, even if its file was replaced meanwhile.
    let own = std::path::Path::new("/proc/self/exe");
    let program = if own.exists() { Ok(own.to_owned()) } else { std::env::current_exe() };
    let Ok(program) = program else { return };
    let mut command = proc::command(program, env);
    command.args(["__terminal", &getpgrp().as_raw_nonzero().to_string()]);
    command.process_group(group.as_raw_nonzero().get());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut process) = command.spawn() else { return };
    // If the terminal went elsewhere meanwhile, the helper is stopped. The shell has the terminal then, and we don't
    // wait.
    for _ in 0..MAX_LOOKS {
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _ended_after_all = process.kill().and_then(|()| process.wait());
}

/// `substrate __terminal GROUP`: gives the terminal to that group.
pub(crate) fn hand_back(args: &[String]) -> ExitCode {
    let group = args.first().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    let tty = File::options().read(true).write(true).open("/dev/tty");
    match (group, tty) {
        (Some(group), Ok(tty)) if tcsetpgrp(&tty, group).is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
