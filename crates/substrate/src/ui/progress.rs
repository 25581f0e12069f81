//! Progress of what takes over a second, on a terminal's stderr.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use substrate_core::time::Ago;

/// Nothing is shown before this.
const PATIENCE: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(150);
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// Back to the line's start, and nothing behind it.
const CLEAR: &str = "\r\u{1b}[K";

/// Shows progress until it is dropped.
#[must_use = "progress ends when this is dropped"]
#[derive(Debug)]
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Shows `what` and, if it is known, how far it is: any text, such as `40 %`.
pub(crate) fn progress(
    what: &'static str,
    how_far: impl Fn() -> Option<String> + Send + 'static,
) -> Progress {
    if !std::io::stderr().is_terminal()
        || crate::config::Env::of_this_process().text("TERM") == Some("dumb")
    {
        return Progress { running: None };
    }
    let (stop, stopped) = mpsc::channel::<()>();
    let begun = Instant::now();
    let thread = std::thread::spawn(move || {
        let mut pause = PATIENCE;
        let mut frames = SPINNER.iter().cycle();
        let mut is_drawn = false;
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let spinner = frames.next().unwrap_or(&SPINNER[0]);
            draw(&format!("{CLEAR}{}", frame(*spinner, what, begun.elapsed(), how_far())));
            (pause, is_drawn) = (FRAME, true);
        }
        if is_drawn {
            draw(CLEAR);
        }
    });
    Progress { running: Some((stop, thread)) }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _panicked = thread.join();
        }
    }
}

fn frame(spinner: char, what: &str, elapsed: Duration, how_far: Option<String>) -> String {
    let far = how_far.map_or_else(String::new, |far| format!(" {far}"));
    let ms = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
    format!("{spinner} {what} …{far} ({})", Ago(ms))
}

fn draw(text: &str) {
    let mut out = std::io::stderr().lock();
    let _not_heard = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_how_far_and_how_long() {
        let far = Some("40 %".to_owned());
        assert_eq!(frame('|', "Copying", Duration::from_secs(3), far), "| Copying … 40 % (3s)");
        assert_eq!(frame('/', "Reading", Duration::from_secs(75), None), "/ Reading … (1m)");
    }
}
