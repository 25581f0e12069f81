//! The interactive client in a headless terminal: tmux on a socket of its own, inside the sandbox.
//!
//! Invariant: only this terminal's own tmux server and client are ever ended.
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::driver::Client;
use crate::bins::claude;
use crate::process::{Run, Running, attempt};
use crate::wait::poll;

/// Each look costs a process, so this polls less often than other waits.
const LOOK: Duration = Duration::from_millis(25);
/// How often a key is pressed again if the client ignores it.
const PRESS: Duration = Duration::from_millis(400);
/// The client's start takes under 2 s on an idle machine.
const START: Duration = Duration::from_secs(40);
/// For one tmux command, or for a typed line to show.
const SHORT: Duration = Duration::from_secs(20);

/// A running interactive client; ended when dropped.
#[derive(Debug)]
pub struct Tui<'a> {
    client: &'a Client<'a>,
    socket: String,
    /// The client process itself, or the program above it.
    pid: String,
    running: bool,
}

impl<'a> Tui<'a> {
    pub(super) fn start(client: &'a Client<'a>, prefix: &[&str], args: &[&str]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = format!("substrate-test-{}-{number}", std::process::id());
        let mut tui = Self { client, socket, pid: String::new(), running: true };
        let program = claude().display().to_string();
        let mut start = vec!["new-session", "-d", "-x", "160", "-y", "50"];
        start.extend(prefix);
        start.push(&program);
        start.extend(Client::arguments());
        start.extend(args);
        // A client that ended stays on the screen, for the message of a failing test.
        start.extend([";", "set-option", "-g", "remain-on-exit", "on"]);
        tui.tmux(&start).success();
        tui.pid = tui.tmux(&["display-message", "-p", "#{pane_pid}"]).success().trim().to_owned();
        tui.wait("an empty prompt", START, |screen| screen.lines().any(|l| l.trim() == "❯"));
        tui
    }

    /// Types one line and sends it.
    ///
    /// # Panics
    /// If the line does not show.
    pub fn type_line(&self, line: &str) {
        // Enter must not come before the text was taken, or the client treats both as a paste.
        let start: String = line.chars().take(40).collect();
        let before = self.screen().matches(&start).count();
        self.tmux(&["send-keys", "-l", "--", line]).success();
        self.wait(&format!("the typed {start:?}"), SHORT, |screen| {
            screen.matches(&start).count() > before
        });
        self.keys(&["Enter"]);
    }

    /// Presses keys by their tmux names: `Enter`, `Escape`, `C-c`, `Up`…
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).success();
    }

    /// Presses a key until the dialog with these words is gone: a new dialog ignores keys for a moment. One press too
    /// many is harmless if the key alone sends nothing, and if no other dialog follows.
    ///
    /// # Panics
    /// With the screen, if the dialog stays.
    #[track_caller]
    pub fn answer(&self, key: &str, question: &str, deadline: Duration) {
        self.press_until(key, deadline, || !self.screen().contains(question));
    }

    /// Presses a key until what it is for has happened. What can't happen before a second dialog comes answers that one too.
    ///
    /// # Panics
    /// With the screen, if it does not happen.
    #[track_caller]
    pub fn press_until(&self, key: &str, deadline: Duration, mut is_done: impl FnMut() -> bool) {
        let done = poll(deadline, PRESS, || {
            let is_done = is_done();
            if !is_done {
                self.keys(&[key]);
            }
            is_done
        });
        assert!(done, "the dialog takes no {key:?}; the screen:\n{}", self.screen());
    }

    /// What the terminal shows.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).success()
    }

    /// Waits until the terminal shows `text`.
    ///
    /// # Panics
    /// With the screen, if it does not within `deadline`.
    #[track_caller]
    pub fn wait_for(&self, text: &str, deadline: Duration) {
        self.wait(&format!("{text:?}"), deadline, |screen| screen.contains(text));
    }

    /// Leaves by `/exit`, as a person does, so that the client ends its session.
    ///
    /// # Panics
    /// If it does not end.
    pub fn exit(mut self) {
        self.type_line("/exit");
        let ended = poll(SHORT * 2, LOOK, || self.has_ended());
        assert!(ended, "`/exit` did not end the client; the screen:\n{}", self.screen());
        self.end();
    }

    /// Closes the terminal under the client, as a lost connection does.
    pub fn stop(mut self) {
        self.end();
    }

    /// Never panics: it also runs in `drop`. The client goes first, while tmux can still reap it.
    fn end(&mut self) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        let env = self.client.env();
        if !self.pid.is_empty() && !self.has_ended() {
            env.signal("-HUP", &self.pid);
            if !poll(SHORT, LOOK, || self.has_ended()) {
                env.signal("-KILL", &self.pid);
            }
        }
        attempt(self.command(&["kill-server"]), SHORT);
    }

    fn has_ended(&self) -> bool {
        let dead = self.command(&["display-message", "-p", "#{pane_dead}"]);
        attempt(dead, SHORT).is_none_or(|run| run.stdout.trim() != "0")
    }

    #[track_caller]
    fn wait(&self, what: &str, deadline: Duration, holds: impl Fn(&str) -> bool) {
        let mut screen = String::new();
        let held = poll(deadline, LOOK, || {
            screen = self.screen();
            holds(&screen)
        });
        assert!(held, "waited {deadline:?} in vain for {what}; the screen:\n{screen}");
    }

    fn tmux(&self, args: &[&str]) -> Run {
        Running::start(self.command(args), Vec::new()).finish(SHORT)
    }

    /// The client inherits the environment of the tmux server, which the first call starts.
    fn command(&self, args: &[&str]) -> Command {
        let mut tmux = self.client.env().command("tmux");
        tmux.envs(self.client.vars());
        tmux.env("TMUX_TMPDIR", self.client.env().root());
        tmux.args(["-L", &self.socket, "-f", "/dev/null"]).args(args);
        tmux
    }
}

impl Drop for Tui<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
