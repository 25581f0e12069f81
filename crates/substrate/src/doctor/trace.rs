//! The trace that hooks leave when they can't reach the daemon or the user.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use ipc::place;
use substrate_core::Timestamp;
use substrate_core::time::Ago;

use super::finding::{Area, Finding};
use crate::config::Home;

/// How much of its end is read, and how many lines are shown.
const END: u64 = 4_096;
const LINES: usize = 3;

/// A daemon that was replaced has a successor, so there is nothing to mend.
const REPLACED: &str = "replaced a daemon";

/// Older traces are history.
const RECENT_MS: i64 = 86_400_000;

#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(super) path: PathBuf,
    pub(super) at: Timestamp,
    /// The last lines.
    pub(super) lines: Vec<String>,
    /// Everything that went wrong was mended since.
    pub(super) is_mended: bool,
}

/// `None`: there is no trace.
pub(super) fn look(home: &Home) -> Option<Trace> {
    let path = home.root().join(place::TRACE);
    let mut file = std::fs::File::open(&path).ok()?;
    let found = file.metadata().ok()?;
    let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let at = Timestamp(i64::try_from(since.as_millis()).ok()?);
    file.seek(SeekFrom::Start(found.len().saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].to_vec();
    let is_mended = lines.iter().all(|line| line.contains(REPLACED));
    (!last.is_empty()).then_some(Trace { path, at, lines: last, is_mended })
}

pub(super) fn judge(trace: Option<&Trace>, now: Timestamp, out: &mut Vec<Finding>) {
    let Some(Trace { path, at, lines, is_mended }) = trace else {
        return out.push(Area::Hooks.ok("no-trace", "no hook left a trace of a failure"));
    };
    let age = now.since(*at);
    let path = path.display();
    let last = lines.join(" / ");
    out.push(if *is_mended {
        let message = format!("mended by itself, last {} ago: {last}", Ago(age));
        Area::Hooks.info("trace-mended", message).next(format!("`rm '{path}'`"))
    } else if age < RECENT_MS {
        let message = format!("hooks failed, last {} ago: {last}", Ago(age));
        Area::Hooks.warning("trace", message).next(format!("fix what it says, then `rm '{path}'`"))
    } else {
        let message = format!("an old trace of failed hooks, {} ago", Ago(age));
        Area::Hooks.info("trace-old", message).next(format!("`rm '{path}'`"))
    });
}
