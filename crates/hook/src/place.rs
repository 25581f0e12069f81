//! Where things are: the state home and what lies in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The socket's name inside the state home.
pub const SOCKET: &str = "daemon.sock";

/// Where a hook moves the socket of a daemon that does not answer, so that the next hooks don't wait for it. The
/// daemon moves it back as soon as it runs again.
pub const STALLED_SOCKET: &str = "daemon.sock.stalled";

/// Where hooks that could not do their work leave a line.
pub const TRACE: &str = "logs/hook-trace.log";

/// A trace file is left alone once it is this long.
pub const MAX_TRACE: u64 = 1 << 20;

/// The state home: `SUBSTRATE_HOME`, else `.subtrate` in the user's home. `None` when neither is known.
pub fn state_home(substrate_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let known = |text: Option<&OsStr>| text.filter(|text| !text.is_empty()).map(PathBuf::from);
    known(substrate_home).or_else(|| known(home).map(|home| home.join(".subtrate")))
}

/// How long a hook for that event may take in all, in milliseconds.
pub fn deadline_ms(event: &[u8]) -> u32 {
    // The client itself gives SessionEnd hooks 1.5 s.
    if event == b"SessionEnd" { 1_000 } else { 2_000 }
}

/// A deadline from the environment, within reason.
pub fn given_deadline_ms(text: &[u8]) -> Option<u32> {
    let ms: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(ms.clamp(100, 600_000))
}

/// How much of a deadline is spent on waiting for the daemon; the rest is for doing without it.
pub const fn patience_ms(deadline_ms: u32) -> u32 {
    deadline_ms / 2
}

/// Appends a line about something that went wrong; nobody waits for it, and nothing fails with it.
pub fn leave_trace(state_home: &Path, line: &str) {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new().append(true).create(true).open(state_home.join(TRACE));
    let Ok(mut file) = file else { return };
    if file.metadata().is_ok_and(|found| found.len() < MAX_TRACE) {
        let _ignored = file.write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_home_is_where_one_expects_it() {
        let of =
            |a: Option<&str>, b: Option<&str>| state_home(a.map(OsStr::new), b.map(OsStr::new));
        assert_eq!(of(Some("/s"), Some("/h")), Some(PathBuf::from("/s")));
        assert_eq!(of(Some(""), Some("/h")), Some(PathBuf::from("/h/.subtrate")));
        assert_eq!(of(None, Some("")), None);
    }
}
