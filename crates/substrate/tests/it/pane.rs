//! A real terminal with a shell in it: tmux on a socket of its own, inside the sandbox.

use std::process::Command;
use std::time::{Duration, Instant};

use substrate_testkit::{Run, Running, TestEnv};

use crate::house::SOON;

/// A shell that a person could sit at. Its server ends when this is dropped.
pub(crate) struct Pane<'a> {
    env: &'a TestEnv,
}

impl<'a> Pane<'a> {
    pub(crate) fn start(env: &'a TestEnv) -> Self {
        let pane = Self { env };
        let shell = "PS1='$ ' exec bash --norc --noprofile -i";
        pane.tmux(&["new-session", "-d", "-x", "90", "-y", "30", shell]).success();
        pane.wait("$ ");
        pane
    }

    /// Types a line.
    pub(crate) fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", "--", line]).success();
        self.keys("Enter");
    }

    /// A key by its tmux name.
    pub(crate) fn keys(&self, key: &str) {
        self.tmux(&["send-keys", key]).success();
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J"]).success()
    }

    /// With the escape codes of its colours.
    pub(crate) fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-e"]).success()
    }

    /// Waits until the screen has a line that starts like this.
    #[track_caller]
    pub(crate) fn wait(&self, begins: &str) {
        let end = Instant::now() + SOON;
        loop {
            let screen = self.screen();
            if screen.lines().any(|line| line.starts_with(begins)) {
                return;
            }
            assert!(Instant::now() < end, "no line begins with {begins:?}; the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn resize(&self, columns: &str, rows: &str) {
        self.tmux(&["resize-window", "-x", columns, "-y", rows]).success();
    }

    /// What tmux knows about the terminal, e.g. `alternate_on`.
    pub(crate) fn state(&self, name: &str) -> String {
        let format = format!("#{{{name}}}");
        self.tmux(&["display-message", "-p", &format]).success().trim().to_owned()
    }

    fn tmux(&self, args: &[&str]) -> Run {
        Running::start(self.command(args), Vec::new()).finish(SOON)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut tmux = self.env.command("tmux");
        tmux.env("TMUX_TMPDIR", self.env.root());
        tmux.args(["-L", "pane", "-f", "/dev/null"]).args(args);
        tmux
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        let _ended = self.command(&["kill-server"]).status();
    }
}
