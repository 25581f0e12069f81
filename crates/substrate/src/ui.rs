//! The one place that prints. Stdout is data, stderr is talk.

use std::io::Write as _;

/// Data. A reader that went away ends the program quietly, as it does for other tools.
pub(crate) fn data(text: &str) {
    let _reader_gone = printed(text);
}

/// Data, and whether it went out.
pub(crate) fn printed(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Talk, to the person at the terminal.
pub(crate) fn talk(text: &str) {
    let _nobody_listens = std::io::stderr().lock().write_all(text.as_bytes());
}
