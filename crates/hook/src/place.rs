//! Paths: the state home and what is in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The socket's name inside the state home.
pub const SOCKET: &str = "daemon.sock";

/// Where hooks that failed leave a line.
pub const TRACE: &str = "logs/hook-trace.log";

/// A trace file that is this long gets no more lines.
pub const MAX_TRACE: u64 = 1 << 20;

/// The state home: `SUBSTRATE_HOME`, else `.subtrate` (the seed's spelling) in the user's home. `None` if neither is
/// known.
pub fn state_home(substrate_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let known = |text: Option<&OsStr>| text.filter(|text| !text.is_empty()).map(PathBuf::from);
    known(substrate_home).or_else(|| known(home).map(|home| home.join(".subtrate")))
}

/// How long a hook for that event may take in all, in milliseconds. A busy machine may not run the daemon for seconds:
/// correct and late beats fast and wrong. Every `timeout` that we register with a client is longer than this.
pub fn deadline_ms(event: &[u8]) -> u32 {
    // The client itself gives SessionEnd hooks 1.5 s.
    if event == b"SessionEnd" { 1_000 } else { 10_000 }
}

/// A deadline from the environment, within limits.
pub fn given_deadline_ms(text: &[u8]) -> Option<u32> {
    let ms: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(ms.clamp(100, 600_000))
}

/// The part of a deadline that the hook waits itself. After that, `substrate __hook` waits in its place: it can tell a
/// starved daemon from a frozen one.
pub fn patience_ms(deadline_ms: u32) -> u32 {
    (deadline_ms / 2).min(1_000)
}

/// Appends a line about a failure. It never blocks or fails.
pub fn leave_trace(state_home: &Path, line: &str) {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new().append(true).create(true).open(state_home.join(TRACE));
    let Ok(mut file) = file else { return };
    // Writing past a limit on file sizes (`ulimit -f`) would kill this process.
    let max = MAX_TRACE.min(max_file_size().saturating_sub(line.len() as u64));
    if file.metadata().is_ok_and(|found| found.len() < max) {
        let _ignored = file.write_all(line.as_bytes());
    }
}

/// The longest file that this process may write.
pub fn max_file_size() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_leaves_time_to_look_at_the_daemon() {
        for (event, deadline, patience) in
            [(&b"PreToolUse"[..], 10_000, 1_000), (b"SessionEnd", 1_000, 500)]
        {
            assert_eq!(deadline_ms(event), deadline);
            assert_eq!(patience_ms(deadline), patience);
        }
    }

    #[test]
    fn the_state_home_is_where_one_expects_it() {
        let of =
            |a: Option<&str>, b: Option<&str>| state_home(a.map(OsStr::new), b.map(OsStr::new));
        assert_eq!(of(Some("/s"), Some("/h")), Some(PathBuf::from("/s")));
        assert_eq!(of(Some(""), Some("/h")), Some(PathBuf::from("/h/.subtrate")));
        assert_eq!(of(None, Some("")), None);
    }
}
