//! The one place that prints. Stdout is data, stderr is talk.
//!
//! A person at a terminal gets colours, a pager and progress. Anything else gets the plain text, byte for byte.

mod pager;
mod paint;
mod progress;

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::config::Env;

pub(crate) use self::progress::progress;

/// Writes data. If the reader is gone, the program ends quietly like other tools.
pub(crate) fn data(text: &str) {
    let _reader_gone = printed(text);
}

/// Writes data. Whether it was written.
pub(crate) fn printed(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Writes text for people, painted and in a pager where that helps. Whether it was written.
pub(crate) fn show(text: &str) -> bool {
    let env = Env::of_this_process();
    let text = painted(text);
    match screen() {
        Some(screen) if pager::is_long(&text, screen) && pager::show(&text, &env) => true,
        _ => printed(&text),
    }
}

/// The text with colours, if stdout takes them.
pub(crate) fn painted(text: &str) -> String {
    if takes_colour(std::io::stdout().is_terminal()) { paint::text(text) } else { text.to_owned() }
}

/// A title, in bold if stdout takes it.
pub(crate) fn heading(text: &str) -> String {
    if takes_colour(std::io::stdout().is_terminal()) { paint::bold(text) } else { text.to_owned() }
}

/// Writes to the person at the terminal.
pub(crate) fn talk(text: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    let painted = if takes_colour(is_terminal) { paint::text(text) } else { text.to_owned() };
    let _not_heard = std::io::stderr().lock().write_all(painted.as_bytes());
}

/// Whether a person can answer a question.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the person. An empty answer means no.
pub(crate) fn confirm(question: &str) -> bool {
    talk(&format!("{question} [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes" | "Yes")
}

/// The rows and columns of the terminal now. A person may resize it while something is shown.
pub(crate) fn screen() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

fn takes_colour(is_terminal: bool) -> bool {
    is_terminal && wants_colour(&Env::of_this_process())
}

/// What the variables say: `NO_COLOR` (if it is not empty), and terminals that can't.
pub(crate) fn wants_colour(env: &Env) -> bool {
    env.get("NO_COLOR").is_none() && env.text("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_are_respected() {
        for (block, expected) in [
            (&b"TERM=xterm\0"[..], true),
            (b"", true),
            (b"NO_COLOR=\0TERM=xterm\0", true),
            (b"NO_COLOR=1\0TERM=xterm\0", false),
            (b"TERM=dumb\0", false),
        ] {
            assert_eq!(wants_colour(&Env::of_block(block)), expected, "{block:?}");
        }
    }
}
